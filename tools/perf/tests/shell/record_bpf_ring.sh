#!/bin/bash
# perf record --bpf-ring: BPF writes every event once, as perf does
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 400
# tags: parallel night

# shellcheck source=lib/numbered.sh
. "$(dirname "$0")/lib/numbered.sh"

need_numbered

enter=raw_syscalls:sys_enter
events=("$enter" raw_syscalls:sys_exit sched:sched_switch sched:sched_waking sched:sched_wakeup
	sched:sched_wakeup_new)

# record OPTIONS...: record this machine until /bin/true has run
record() {
	"$PERF" record -v -a -o "$work/data" "$@" -- true 2> "$work/record.err"
}

record --bpf-ring=yes -e "$enter/overwrite/" ||
	skip "$(grep -m 1 -o 'no event can be written by BPF: .*' "$work/record.err" || tail -n 1 "$work/record.err")"

subtest "snapshots at 10 Hz together hold every call once"
# The programs have no filter: what else the machine does is in the rings as well.
numbered_event() {
	event=(--bpf-ring=yes -m 8M -e "$enter/$1/")
}
trace_options=(--comms "$comm")		# other tests may run the workload, too
seconds=${NIGHT:+30}
expect_gapless signal "${seconds:-2}" --switch-output=signal

subtest "samples are equal to those that perf writes"
context=()
grep -qwE '__preempt_count|pcpu_hot' /proc/kallsyms || context=(--without-context)
both=()
for event in "${events[@]}"; do
	both+=(-e "$event" -e "$event/overwrite/")
done
for attempt in 1 2 3; do
	"$PERF" record -v -a -N -B -m 16M --no-exclude-perf --bpf-ring=yes "${both[@]}" -o "$work/data" \
		-- sh -c 'for i in 1 2 3 4 5 6 7; do ls -l /usr/include; done' \
		> /dev/null 2> "$work/record.err" || fatal "perf record failed"
	"${tests_dir}/shell/lib/same_samples.py" "$work/data" "${context[@]}" > "$work/same"
	status=$?
	sed 's/^/# /' "$work/same"
	[ $status = 2 ] || break
done
case $status in
0) ;;
2) inconclusive "events were lost, or one did not happen" ;;
*) error "samples differ" ;;
esac

subtest "an event in the same recording that BPF cannot write"
record --bpf-ring=yes -e "$enter/overwrite/" -e sched:sched_process_exec/overwrite/ ||
	error "perf record failed"
"$PERF" script "${no_symbols[@]}" -F event -i "$work/data" 2> /dev/null | sort | uniq -c > "$work/counts"
grep -q "$enter" "$work/counts" || error "no $enter"
grep -q sched_process_exec "$work/counts" || error "no sched_process_exec"
"$PERF" script "${no_symbols[@]}" -F time -i "$work/data" 2> /dev/null | sort -c -n ||
	error "the times of both are not of one clock"

subtest "reasons"
# reason TEXT OPTIONS...
reason() {
	local text=$1

	shift
	record --bpf-ring=yes "$@" && error "not refused: $*"
	grep -qF -- "$text" "$work/record.err" || error "the message for '$*' does not say '$text'"
}
reason "it has a filter" -e "$enter/overwrite/" --filter 'id == 1'
reason "it is not in overwrite mode" -e "$enter"
reason "another period" -g -e "$enter/overwrite/"
reason "it is in a group" -e "{$enter/overwrite/,sched:sched_switch/overwrite/}"
reason "an event is recorded twice" -e "$enter/overwrite/" -e "$enter/overwrite/"
reason "CLOCK_MONOTONIC" -k CLOCK_BOOTTIME -e "$enter/overwrite/"
reason "only recordings of all CPUs" -C 0 -e "$enter/overwrite/"
reason "none that the programs know" -e page-faults/overwrite/
for mode in auto no; do
	record --bpf-ring=$mode -e "$enter/overwrite/" --filter 'id == 1' || error "$mode failed"
done
record --bpf-ring=no -e "$enter/overwrite/" || error "no failed"
! grep -qF "rings written by BPF" "$work/record.err" || error "'no' lets BPF write"

subtest "events are enabled and disabled by --control"
recorder_start -a -D -1 --bpf-ring=yes -e "$enter/overwrite/" -o "$work/data"
numbered_calls 11 101
control enable "$enter" || error "enable: $answer"
numbered_calls 12 103
control disable "$enter" || error "disable: $answer"
numbered_calls 13 107
recorder_stop
found=$(numbered_ranges "$work/data")
[ "$found" = "12:0-102" ] || [ "$found" = "12:1-103" ] || error "found the calls $found"

subtest "the recorder's own system calls are excluded unless requested"
# own_calls OPTIONS...: set $own to the number of system calls of the recorder in its file
own_calls() {
	recorder_start -a --bpf-ring=yes -e "$enter/overwrite/" -o "$work/data" "$@"
	control ping
	numbered_calls 14 109
	recorder_stop
	[ "$(numbered_ranges "$work/data")" ] || error "no calls of the workload"
	own=$("$PERF" script "${no_symbols[@]}" -F pid -i "$work/data" 2> /dev/null | grep -cw "$recorder")
}
own_calls
((own == 0)) || error "$own calls of the recorder"
own_calls --no-exclude-perf
((own > 0)) || error "no calls of the recorder with --no-exclude-perf"

finish
