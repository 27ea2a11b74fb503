#!/bin/bash
# perf record --control: every command is executed and acknowledged; -D -1
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 120

. "$(dirname "$0")/lib/numbered.sh"

need_numbered

issued=$work/issued

# calls TAG [COUNT]: issue numbered calls from one thread
calls() {
	numbered_calls "$1" "${2:-1009}"
}

for how in overwrite no-overwrite; do
	subtest "-D -1, enable and disable, $how"
	numbered_event "$how"
	recorder_start -a -D -1 -m 1024 "${event[@]}" -o "$work/data"
	calls 10
	control enable || error "'enable' is not acknowledged"
	calls 20
	control disable || error "'disable' is not acknowledged"
	calls 30
	control "enable raw_syscalls:sys_enter" || error "'enable NAME' is not acknowledged"
	calls 40
	control "disable raw_syscalls:sys_enter" || error "'disable NAME' is not acknowledged"
	calls 50
	recorder_stop
	seen=$(numbered_ranges "$work/data")
	[ "$seen" = "20:1-1009 40:1-1009" ] ||
		error "recorded calls are '$seen', not those issued while enabled"
	numbered_check "$work/data" -- --quiet --from-start || error "calls are missing or repeated"
	rm -f "$work"/data*
done

subtest "ping, evlist, an unknown command"
numbered_event overwrite
recorder_start -a -m 1024 "${event[@]}" -o "$work/data"
for _ in 1 2 3 4 5 6 7; do
	control ping || error "'ping' is not acknowledged"
done
control evlist || error "'evlist' is not acknowledged"
grep -q 'raw_syscalls:sys_enter' "$work/record.out" "$work/record.err" ||
	error "evlist does not show the event"
control evlist -v || error "'evlist -v' is not acknowledged"
grep -q 'sample_type' "$work/record.out" "$work/record.err" ||
	error "evlist -v does not show the fields"
# Commands that fail are answered, too, and the next command works.
for command in no-such-command 'snapshot now' 'enable nosuch' 'disable nosuch' 'evlist -x' \
	'ping ping'; do
	control "$command" && error "'$command' is acknowledged"
	[[ $answer = "error: "* ]] || error "the answer to '$command' is '$answer'"
done
control ping || error "'ping' is not acknowledged after an unknown command"

# answered COMMAND ANSWER: check the whole answer, which is a pattern
answered() {
	control "$1"
	# shellcheck disable=SC2053 # a pattern
	[[ $answer = $2 ]] || error "the answer to '$1' is '$answer'"
}

subtest "the answer repeats the id of the command"
longest=$(printf 'x%.0s' {1..32})
answered "ping id=7" "ack id=7"
answered "ping id=$longest" "ack id=$longest"
answered "enable raw_syscalls:sys_enter id=a-Z_0.9" "ack id=a-Z_0.9"
answered "evlist -x id=7" "error: id=7 evlist takes *"
answered "snapshot id=7" "ack id=7 $work/data"
answered "snapshot now id=7" "error: id=7 unknown command 'snapshot now'. *"
answered "disable nosuch id=7" "error: id=7 no event 'nosuch' is recorded"
for id in '' "x$longest" 'a/b' 'a"'; do
	answered "ping id=$id" "error: an id has 1 to 32 letters, digits, *"
done
answered ping ack
reports 'unknown command'
reports "no event 'nosuch'"

subtest "snapshot commands in quick succession"
for ((i = 1; i <= 19; i++)); do
	calls "$i" 7
	control snapshot || error "snapshot $i is not acknowledged"
	[[ $answer =~ ^"ack $work/data "[0-9.]+" none"$ ]] ||
		error "the answer is '$answer': neither the file nor that it has all records"
done
recorder_stop
seen=$(numbered_ranges "$work/data" | tr ' ' '\n' | grep -c ':1-7$')
[ "$seen" = 19 ] || error "only $seen of 19 snapshots hold the calls issued before them"
numbered_check "$work/data" -- --quiet --from-start || error "calls are missing or repeated"
rm -f "$work"/data*

subtest "an answer is one line whatever the name of the file"
recorder_start -a "${event[@]}" -o "$work"/$'data\nack\e[2J'
answered "snapshot id=7" "ack id=7 $work/data?ack?\[2J*"
answered ping ack
recorder_stop
rm -f "$work"/data*

subtest "snapshot commands in quick succession with --switch-output: each file has its own name"
recorder_start -a -m 1024 "${event[@]}" -o "$work/data" --switch-output=signal
calls 1 53
for ((i = 1; i <= 19; i++)); do
	control snapshot || error "snapshot $i is not acknowledged"
	file=${answer#ack }
	[[ $answer = "ack $work/data."[0-9]* && -e ${file%% *} ]] ||
		error "the answer is '$answer': it does not name the file"
done
recorder_stop "$work/data"
[ "${#snapshots[@]}" = 20 ] || error "${#snapshots[@]} files, not 20: 19 snapshots and the end"
numbered_check "${snapshots[@]}" -- --quiet --from-start --expect "$issued" ||
	error "calls are missing or repeated"
readable "${snapshots[0]}" "${snapshots[-1]}" || error "a file cannot be read"
rm -f "$work"/data*

for how in "" --switch-output; do
	subtest "snapshot commands that do not wait for answers, ${how:-in one file}: each gets one"
	# shellcheck disable=SC2086 # no word, or one
	recorder_start -a -m 1024 "${event[@]}" -o "$work/data" $how
	for ((i = 1; i <= 23; i++)); do
		echo "snapshot id=$i" >&"$ctl"
	done
	for ((i = 1; i <= 23; i++)); do
		read -rt 20 -u "$ack" answer || fatal "$((i - 1)) answers to 23 commands"
		[[ $answer = "ack id=$i $work/data"* ]] ||
			error "answer $i to a command is '$answer'"
	done
	# The last command may be seen together with the end.
	printf 'snapshot\nstop\n' >&"$ctl"
	answers=
	for i in 1 2; do
		read -rt 20 -u "$ack" answer || error "no answer to 'snapshot' and 'stop'"
		answers+=" ${answer%% *}"
	done
	recorder_end
	[ "$answers" = " ack ack" ] || error "the last answers are '$answers'"
	rm -f "$work"/data*
done

# Has the workload used 0.1 s of CPU time? Then it handles SIGTERM, and issues calls.
workload_is_busy() {
	local pid ticks

	pid=$(pgrep -P "$recorder" -x "$comm") &&
		ticks=$(awk '{ print $14 + $15 }' "/proc/$pid/stat") && ((ticks >= 10))
}

subtest "fd:, a workload, stop"
exec {ctl}<> "$work/ctl" {ack}<> "$work/ack"
"$PERF" record --control "fd:$ctl,$ack" "${event[@]}" -o "$work/data" -- \
	"$work/$comm" --duration 60 > "$issued" 2> "$work/record.err" &
recorder=$!
control ping || error "'ping' is not acknowledged"
wait_until 20 workload_is_busy || error "the workload is idle"
control stop || error "'stop' is not acknowledged"
recorder_end 30
[ "$status" = 0 ] || error "exit status $status after 'stop', not 0"
# The workload got SIGTERM, and printed its report. Calls issued after the events were disabled are
# not recorded.
grep -q '^thread' "$issued" || error "the workload did not end by SIGTERM"
readable "$work/data" || error "the file cannot be read"
numbered_check "$work/data" -- --quiet || error "calls are missing or repeated"

subtest "EOF on the control descriptor: the recorder does not spin"
echo ping > "$work/commands"
for from in /dev/null "$work/commands"; do
	"$PERF" record --control fd:0 -e dummy -o "$work/data" -- sleep 60 < "$from" \
		2> "$work/record.err" &
	recorder=$!
	wait_until 20 recorder_idle || error "the recorder uses CPU time: --control fd:0 < $from"
	kill "$recorder"
	recorder_end
done

subtest "a fifo that does not exist"
rm -f "$work"/data*
"$PERF" record --control "fifo:$work/none" "${event[@]}" -o "$work/data" -- true > /dev/null \
	2> "$work/record.err"
status=$?
[ $status != 0 ] || error "exit status 0"
reports -F "$work/none"
[ ! -e "$work/data" ] || error "an output file is left"
echo > "$work/regular"
"$PERF" record --control "fifo:$work/regular" "${event[@]}" -o "$work/data" -- true > /dev/null \
	2> "$work/record.err"
status=$?
[ $status = 129 ] || error "exit status $status for a regular file, not 129"
reports 'not a FIFO'

finish
