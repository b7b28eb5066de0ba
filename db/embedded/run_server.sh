#!/bin/sh
# Runs the database server for as long as the standard input of this script stays open. When the
# service ends, even by kill -9, the kernel closes that pipe, and the server then shuts down cleanly.
# The signal is repeated until the server has ended, because a server that has just started ignores it.
# The program is fixed, so that the permission to run this script permits nothing else.
# usage: run_server PORT NAME=VALUE...

# On macOS, the server refuses to start without a locale.
LC_ALL=C
export LC_ALL
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
