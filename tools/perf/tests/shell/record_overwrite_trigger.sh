#!/bin/bash
# perf record overwrite: snapshots triggered by events (--switch-output-event)
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_numbered bpf_output
need_tracepoint sched:sched_process_exec

numbered_event overwrite
trigger=$work/trigger$$
ln -s /bin/true "$trigger"
on_trigger=(--switch-output-event sched:sched_process_exec --filter "filename == \"$trigger\"")

# calls PHASE COUNT: numbered calls, tagged with the phase, all issued on return
calls() {
	"$work/$comm" --threads 1 --tag "$1" --count "$2" > "$work/issued" || fail "numbered fails"
}

# phases FILE: the phases seen, and the numbers of each
phases() {
	numbered_check "$1" | awk '$1 == "thread" { print $2 $4 "-" $6 }' | tr -d , | xargs
}

nr_files() {
	find_snapshots "$work/data"
	((${#snapshots[@]} == $1))
}

echo "--- what came before each event is in its file, and what came after in the next"
recorder_start -a -m 1024 "${event[@]}" "${on_trigger[@]}" -o "$work/data"
for i in 1 2 3; do
	calls "${i}0" 1009
	"$trigger"
	wait_until 10 nr_files $i || wrong "no file within 10 s of event $i"
done
calls 40 503
recorder_stop
nr_files 4 || wrong "${#snapshots[@]} files for 3 events and the end"
for i in 0 1 2; do
	[ "$(phases "${snapshots[i]}")" = "$((i + 1))0:1-1009" ] ||
		wrong "file $((i + 1)) holds '$(phases "${snapshots[i]}")'"
done
[ "$(phases "${snapshots[3]}")" = "40:1-503" ] || wrong "the last file holds '$(phases "${snapshots[3]}")'"
readable "${snapshots[@]}" || wrong "a file cannot be read"

[ "$(grep -c 'Snapshot .*(sched:sched_process_exec)' "$work/record.err")" = 3 ] ||
	wrong "the summary does not name the event three times"
[ "$(grep -c 'copied [0-9.]* ms after the event' "$work/record.err")" = 3 ] ||
	wrong "the time from event to copy is not told"
"$PERF" evlist -i "${snapshots[0]}" 2> /dev/null | grep -q process_exec &&
	wrong "the trigger itself is recorded"
rm -f "$work"/data*

echo "--- the filter belongs to the trigger: other programs that start do not switch"
recorder_start -a -m 1024 "${event[@]}" "${on_trigger[@]}" -o "$work/data"
for _ in 1 2 3 4 5; do
	/bin/true
done
calls 10 101
recorder_stop
nr_files 1 || wrong "${#snapshots[@]} files: other programs switched the output"
rm -f "$work"/data*

echo "--- two triggers, one of them a clock; streamed events switch files, too"
numbered_event no-overwrite
recorder_start -a -m 1024 "${event[@]}" --switch-output-event cpu-clock/period=200000000/ "${on_trigger[@]}" \
	-o "$work/data"
calls 10 1009
"$trigger"
numbered_start --rate 20000 --duration 2
numbered_end
recorder_stop
find_snapshots "$work/data"
((${#snapshots[@]} >= 3)) || wrong "${#snapshots[@]} files: the clock does not trigger"
numbered_check "${snapshots[@]}" -- --quiet || wrong "calls are missing where files were switched"
rm -f "$work"/data*

echo "--- the events of a command"
"$PERF" record -m 1024 -e raw_syscalls:sys_enter/overwrite/ --switch-output-event sched:sched_process_exec \
	-o "$work/data" -- sh -c '/bin/true; sleep 0.5; /bin/true; sleep 0.5' 2> "$work/record.err" ||
	wrong "exit status $?"
# Five programs are started, the first four in pairs that may become one snapshot; and there is the end
find_snapshots "$work/data"
((${#snapshots[@]} >= 3 && ${#snapshots[@]} <= 6)) ||
	wrong "${#snapshots[@]} files for a command that starts five programs"
rm -f "$work"/data*

echo "--- a BPF program"
numbered_event overwrite
recorder_start -a -m 1024 "${event[@]}" --switch-output-event bpf-output/no-inherit/ -o "$work/data"
calls 10 1009
"$BUILD/tests/bpf_output" "$recorder"
case $? in
0)
	wait_until 10 nr_files 1 || wrong "no file within 10 s of the program's output"
	calls 20 503
	recorder_stop
	[ "$(phases "${snapshots[0]}")" = "10:1-1009" ] || wrong "the file holds '$(phases "${snapshots[0]}")'"
	;;
4)
	echo "note: without BPF this is left out"
	recorder_stop
	;;
*)
	wrong "no event takes the program's output"
	recorder_stop
	;;
esac
rm -f "$work"/data*

echo "--- an event that does not say how often it happens"
"$PERF" record -a -e raw_syscalls:sys_enter/overwrite/ --switch-output-event cpu-clock -o "$work/data" \
	-- true 2> "$work/err" && wrong "cpu-clock without a period is accepted"
grep -q 'cpu-clock/period=' "$work/err" || wrong "the message has no example: $(cat "$work/err")"
[ ! -e "$work/data" ] || wrong "a file is left"

finish
