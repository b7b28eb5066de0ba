#!/bin/sh
# Runs the database server for as long as its own standard input stays open. However the service
# ends, kill -9 included, the kernel closes that pipe, and the server then shuts down in good order.
# It is told until it is gone: a server that has only just begun does not listen to signals yet.
# usage: leash.sh LOG_FILE SERVER ARGUMENT...
log=$1
shift
exec 3<&0
"$@" </dev/null 3<&- >>"$log" 2>&1 &
server=$!
(cat <&3 >/dev/null; while kill -INT "$server"; do sleep 0.2; done) 2>/dev/null &
wait "$server"
