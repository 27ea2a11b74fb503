#!/bin/bash
# perf record --switch-output-event: events trigger snapshots and switch files
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 180

. "$(dirname "$0")/lib/numbered.sh"

need_numbered bpf_output sched:sched_process_exec

numbered_event overwrite
trigger=$work/trigger$$
ln -s /bin/true "$trigger"
on_trigger=(--switch-output-event sched:sched_process_exec --filter "filename == \"$trigger\"")

# nr_files NUMBER: are there so many files, or more?
nr_files() {
	find_snapshots "$work/data"
	((${#snapshots[@]} >= $1))
}

subtest "each file has the calls before its event, the next one those after it"
recorder_start -a -m 1024 "${event[@]}" "${on_trigger[@]}" -o "$work/data"
for i in 1 2 3; do
	numbered_calls "${i}0" 1009
	"$trigger"
	wait_until 10 nr_files $i || error "no file within 10 s of event $i"
done
numbered_calls 40 503
recorder_stop "$work/data"
[ "${#snapshots[@]}" = 4 ] || error "${#snapshots[@]} files, not 4: 3 events and the end"
for i in 0 1 2; do
	[ "$(numbered_ranges "${snapshots[i]}")" = "$((i + 1))0:1-1009" ] ||
		error "file $((i + 1)) holds '$(numbered_ranges "${snapshots[i]}")'"
done
[ "$(numbered_ranges "${snapshots[3]}")" = "40:1-503" ] ||
	error "the last file holds '$(numbered_ranges "${snapshots[3]}")'"
readable "${snapshots[@]}" || error "a file cannot be read"

[ "$(grep -c 'Snapshot .*(sched:sched_process_exec)' "$work/record.err")" = 3 ] ||
	error "the summary does not name the event three times"
[ "$(grep -c 'Copied [0-9.]* ms after the event' "$work/record.err")" = 3 ] ||
	error "the summary does not report the time from event to copy"
"$PERF" evlist -i "${snapshots[0]}" 2> /dev/null | grep -q process_exec &&
	error "the trigger itself is recorded"
rm -f "$work"/data*

subtest "--filter applies to the trigger"
recorder_start -a -m 1024 "${event[@]}" "${on_trigger[@]}" -o "$work/data"
for _ in 1 2 3 4 5; do
	/bin/true
done
numbered_calls 10 101
recorder_stop "$work/data"
[ "${#snapshots[@]}" = 1 ] || error "${#snapshots[@]} files, not 1: other programs triggered"
rm -f "$work"/data*

subtest "-D -1 and a command: triggers count from the start"
perf_record -D -1 "${event[@]}" "${on_trigger[@]}" -o "$work/data" -- sh -c "$trigger; sleep 0.5"
grep -q 'Snapshot 1 (sched:sched_process_exec)' "$work/record.err" ||
	error "no snapshot: $(tail -n 1 "$work/record.err")"
rm -f "$work"/data*

subtest "two triggers, one of them a clock, with streamed events"
numbered_event no-overwrite
recorder_start -a -m 1024 "${event[@]}" --switch-output-event cpu-clock/period=200000000/ \
	"${on_trigger[@]}" -o "$work/data"
numbered_calls 10 1009
"$trigger"
numbered_start --rate 20000 --duration 2
numbered_end
recorder_stop "$work/data"
((${#snapshots[@]} >= 3)) || error "${#snapshots[@]} files: the clock does not trigger"
numbered_check "${snapshots[@]}" -- --quiet || error "calls are missing where files were switched"
rm -f "$work"/data*

subtest "a trigger for one command"
# shellcheck disable=SC2016 # expanded by that shell
perf_record -m 1024 -e raw_syscalls:sys_enter/overwrite/ \
	--switch-output-event sched:sched_process_exec -o "$work/data" -- bash -c '
		/bin/true
		until files=("$0".2*) && [ -e "${files[0]}" ]; do :; done
		/bin/true' "$work/data"
# Three programs are started. The requests of the first two may be merged, the last one with the
# end, which is a snapshot, too.
find_snapshots "$work/data"
((${#snapshots[@]} >= 2 && ${#snapshots[@]} <= 4)) ||
	error "${#snapshots[@]} files, not 2 to 4"
rm -f "$work"/data*

subtest "a trigger by a BPF program"
numbered_event overwrite
recorder_start -a -m 1024 "${event[@]}" --switch-output-event bpf-output/no-inherit/ -o "$work/data"
numbered_calls 10 1009
"$BUILD/tests/bpf_output" "$recorder"
case $? in
0)
	wait_until 10 nr_files 1 || error "no file within 10 s of the program's output"
	numbered_calls 20 503
	recorder_stop
	[ "$(numbered_ranges "${snapshots[0]}")" = "10:1-1009" ] ||
		error "the file holds '$(numbered_ranges "${snapshots[0]}")'"
	;;
2)
	inconclusive "no BPF"
	recorder_stop
	;;
*)
	error "no event accepts the output of the program"
	recorder_stop
	;;
esac
rm -f "$work"/data*

subtest "a trigger without a period is refused"
"$PERF" record -a -e raw_syscalls:sys_enter/overwrite/ --switch-output-event cpu-clock \
	-o "$work/data" -- true 2> "$work/err" && error "cpu-clock without a period is accepted"
grep -q 'cpu-clock/period=' "$work/err" || error "the message has no example: $(cat "$work/err")"
[ ! -e "$work/data" ] || error "a file is left"

finish
