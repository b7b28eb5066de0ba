#!/bin/sh
# Runs the database server for as long as its own standard input stays open. However the service
# ends, kill -9 included, the kernel closes that pipe, and the server then shuts down in good order.
# It is told until it is gone: a server that has only just begun does not listen to signals yet.
# What it runs is fixed, so that who may run this may run nothing else.
# usage: leash PORT NAME=VALUE...
trap '' INT TERM HUP
home=$(dirname "$0")
port=$1
shift
for setting; do
  set -- "$@" -c "$setting"
  shift
done
exec 3<&0
"$home/programs/bin/postgres" -D "$home/cluster" -p "$port" "$@" \
  </dev/null 3<&- >>"$home/server.log" 2>&1 &
server=$!
(cat <&3 >/dev/null; while kill -INT "$server"; do sleep 0.2; done) 2>/dev/null &
wait "$server"
