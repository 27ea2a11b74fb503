#!/bin/bash
# perf record as a service: messages to the service manager, settings from a configuration
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 60
# tags: parallel

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
	wait_until 10 grep -q listening "$work/messages" ||
		fatal "cannot listen: $(cat "$work/listen.err")"
}

unlisten() {
	kill "$listener"
	wait "$listener" 2> /dev/null
}

has() {
	wait_until 10 grep -qx "$1" "$work/messages" ||
		error "no message $1: $(cat "$work/messages")"
}

for name in "$work/socket" "@perf-record-$$"; do
	subtest "messages to ${name/$$/PID}"
	listen "$name"
	export NOTIFY_SOCKET=$name
	recorder_start -a -e sched:sched_switch/overwrite/ -o "$work/data" --switch-output
	has READY=1
	control snapshot || error "no snapshot"
	file=${answer#ack }
	file=${file%% *}
	has "STATUS=Recording; snapshot 1 is in $file"
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
	grep -q 'Cannot notify the service manager' "$work/record.err" ||
		error "no warning for $name"
done
unset NOTIFY_SOCKET

# configured LINE...: begin a configuration
configured() {
	printf '[record]\n'
	printf '\t%s\n' "$@"
} > "$work/config"
export PERF_CONFIG=$work/config

subtest "a configuration selects events, trigger and output"
mkdir "$work/out"
marker=$work/marker$$		# other tests execute programs, too
ln -s /bin/true "$marker"
configured 'event = sched:sched_switch/overwrite/,sched:sched_process_exec/overwrite/' \
	'mmap-pages = 64K' 'switch-output = signal' \
	'switch-output-event = sched:sched_process_exec' \
	'switch-output-filter = filename ~ \"*/marker'$$'\"' 'cooldown = 1h' \
	'switch-max-files = 2' 'exec-snapshot = echo hook'
recorder_start -a -o "$work/out/data"
"$(type -P date)" > /dev/null
"$marker"
wait_until 10 grep -q "Wrote $work/out/data.2" "$work/record.err" || error "no file after the event"
"$marker"
recorder_stop
files=("$work"/out/data.2*)
[ ${#files[@]} = 2 ] || error "${#files[@]} files, not 2"
reports '1 events took no snapshot'
[ "$(grep -c "^hook $work/out/data\.2" "$work/record.out")" = 2 ] || error "the command was not run"
"$PERF" evlist -i "${files[0]}" > "$work/events"
[ "$(grep '^sched:' "$work/events" | tr '\n' ' ')" = \
	"sched:sched_switch sched:sched_process_exec " ] ||
	error "recorded: $(cat "$work/events")"

subtest "options replace what is configured"
perf_record --no-switch-output -e page-faults/overwrite/u \
	--switch-output-event sched:sched_process_exit \
	--filter 'comm == "none"' -o "$work/out/other" -- true
file=$(echo "$work"/out/other.2*)
"$PERF" evlist -i "$file" | grep -q sched && error "the events of the configuration were recorded"

subtest "streams are kept if that is configured, unless --no-keep is given"
configured 'event = sched:sched_process_exec' 'keep-events = true' 'keep = 64M'
perf_record -a -o "$work/out/kept" -- true
reports 'kept record'
perf_record -a --no-keep -o "$work/out/kept" -- true
! grep -q 'kept record' "$work/record.err" || error "records were kept"

subtest "files are compressed if that is configured"
configured 'event = page-faults/overwrite/u' 'compression-level = 1'
perf_record -o "$work/out/compressed" -- true
"$PERF" report --header-only -i "$work/out/compressed" |
	grep -q '^# compressed : Zstd, level = 1,' ||
	error "the file is not compressed"

subtest "limits of triggers have no effect without a trigger"
configured 'cooldown = 10s' 'keep-first = 3' 'after = 2s'
perf_record -e page-faults/no-overwrite/u -o "$work/out/plain" -- true

subtest "the configuration of the package works, with all that its comments suggest"
sed 's/^\t#\([a-z-]* = \)/\t\1/; s,/overwrite/,,g; /exec-snapshot =/d' \
	"${TOP:-$tests_dir/../../..}/packaging/systemd/default.conf" > "$work/config"
(cd "$work" && "$PERF" record -o "$work/out/default" -- true) > "$work/record.err" 2>&1
status=$?
if grep -q 'Cannot judge durations' "$work/record.err"; then
	inconclusive "$(grep -m 1 'Cannot judge' "$work/record.err")"
else
	[ $status = 0 ] || error "exit status $status"
	reports 'syscall(fsync,fdatasync)>500ms: [0-9]* duration'
fi

for line in 'compression-level = x' 'cooldown = x' 'keep-first = -1' 'mmap-pages = 1.5' \
	'switch-max-size = 5' 'switch-output = x' \
	'switch-max-files = x' 'write-buffer = 1K' 'event = no:event' \
	'keep-events = maybe' 'fsync = 2x' \
	'switch-output-event = no:event'; do
	subtest "record.$line is refused"
	configured "$line"
	"$PERF" record -o "$work/out/none" -- true 2> "$work/record.err"
	status=$?
	[ $status = 129 ] || error "exit status $status, not 129"
	reports "${line%% =*}"
	[ ! -e "$work/out/none" ] || error "a file is left"
done

finish
