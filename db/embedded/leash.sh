#!/bin/sh
# Runs the database server as long as its standard input is open. When the service ends, even by
# kill -9, the kernel closes that pipe, and this script shuts the server down cleanly. It sends the
# signal repeatedly, because a server that is just starting does not handle signals yet. It runs this
# one program only, so the permission to run the script does not allow to run anything else.
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
