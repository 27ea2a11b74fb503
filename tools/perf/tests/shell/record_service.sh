#!/bin/bash
# perf record as a service: messages to the service manager
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 60

# shellcheck source=lib/recorder.sh
. "$(dirname "$0")/lib/recorder.sh"

[ "$(id -u)" = 0 ] || skip "needs root"
command -v python3 > /dev/null || skip "no python3 to listen on a socket"

# listen NAME: receive datagrams on a socket as a service manager does, into $work/messages
listen() {
	: > "$work/messages"
	python3 -u - "$1" > "$work/messages" 2> "$work/listen.err" <<- 'LISTEN' &
		import socket, sys
		name = sys.argv[1]
		listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		listener.bind('\0' + name[1:] if name.startswith('@') else name)
		print('listening')
		while True:
		    print(listener.recv(8192).decode())
	LISTEN
	listener=$!
	started+=("$listener")
	wait_until 10 grep -q listening "$work/messages" || fatal "cannot listen: $(cat "$work/listen.err")"
}

unlisten() {
	kill "$listener"
	wait "$listener" 2> /dev/null
}

has() {
	wait_until 10 grep -qx "$1" "$work/messages" || error "no message $1: $(cat "$work/messages")"
}

for name in "$work/socket" "@perf-record-$$"; do
	subtest "messages to ${name/$$/PID}"
	listen "$name"
	export NOTIFY_SOCKET=$name
	recorder_start -a -e sched:sched_switch/overwrite/ -o "$work/data" --switch-output
	has READY=1
	control snapshot || error "no snapshot"
	file=${answer#ack }
	has "STATUS=Recording; 1 snapshots, the last in $file"
	! grep -q STOPPING "$work/messages" || error "it stops too early"
	recorder_stop
	has STOPPING=1
	unlisten
done

subtest "no messages about a recorded command, which may send its own"
listen "$work/socket2"
NOTIFY_SOCKET=$work/socket2 "$PERF" record -e sched:sched_switch/overwrite/ -o "$work/data" \
	-- true 2> "$work/record.err" || error "exit status $?"
[ "$(cat "$work/messages")" = listening ] || error "messages: $(cat "$work/messages")"
unlisten

subtest "a socket that nobody listens to, or that is none, is a warning"
for name in "$work/none" none; do
	NOTIFY_SOCKET=$name recorder_start -a -e sched:sched_switch/overwrite/ -o "$work/data"
	recorder_stop
	grep -q 'Cannot notify the service manager' "$work/record.err" || error "no warning for $name"
done
unset NOTIFY_SOCKET

finish
