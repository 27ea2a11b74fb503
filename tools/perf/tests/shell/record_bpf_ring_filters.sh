#!/bin/bash
# perf record --bpf-ring: filters that BPF evaluates let pass what the kernel's filters do
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
# tags: parallel

# shellcheck source=lib/bpf_events.sh
. "$(dirname "$0")/lib/bpf_events.sh"

need_bpf_ring -e "$enter/overwrite/" --filter 'id == 1'

# events_of EVENT FILTER ...: set $events, and $both to options that record each with both rings
events_of() {
	events=() both=()
	while (($#)); do
		if has_tracepoint "$1"; then
			events+=("$1")
			both+=(-e "$1" --filter "$2" -e "$1/overwrite/" --filter "$2")
		fi
		shift 2
	done
}

# compare: record a workload with both rings; the same hits pass
compare() {
	"$PERF" record -v -N -B -m 16M --bpf-ring=yes "${both[@]}" -o "$work/data" -- sh -c '
		for i in 1 2 3; do
			ls -l /usr/include | sort | tail -n 1
			(exit "$i") & wait
		done' > "$work/output" 2> "$work/record.err" || error "perf record failed"
	grep "the programs cannot evaluate" "$work/record.err" && error "not covered"
	same_samples || return
	note "$(awk -F '[\t ]' '{ print $2, $3 }' "$work/same" | tr '\n' ',')"
}

pid=$$
while IFS='|' read -r event filter; do
	subtest "$event: $filter"
	events_of "$event" "${filter//PID/$pid}"
	((${#events[@]})) || inconclusive "no tracepoint"
	((!${#events[@]})) || compare
	grep -q "^none" "$work/same" && [[ $filter != *nobody* ]] &&
		inconclusive "nothing has passed"
done <<'END'
raw_syscalls:sys_enter|id == 1
raw_syscalls:sys_enter|id<0x10||id>=  257&&id!=262
raw_syscalls:sys_enter|!(id == 0 || id == 1) && comm == "ls"
raw_syscalls:sys_enter|comm != 'ls' && common_pid > PID
raw_syscalls:sys_enter|comm == "nobody"
raw_syscalls:sys_exit|ret < 0
raw_syscalls:sys_exit|ret > -3 && ret <= 3 && id & 3
raw_syscalls:sys_exit|ret & 0xf00 || ((ret == -2))
sched:sched_switch|prev_pid != 0 && next_prio < 120 || next_comm == "sort"
sched:sched_switch|prev_state & 0xff && cpu >= 0
sched:sched_process_exit|prio == 120 && comm == "ls"
exceptions:page_fault_user|error_code == 4 || address > 0x7f0000000000
syscalls:sys_enter_close|fd > 3 && __syscall_nr == 3
syscalls:sys_exit_openat|ret == 3
END

subtest "filters of all programs, and of single calls beside others"
pairs=()
for event in "${bpf_events[@]:0:27}"; do
	pairs+=("$event" "common_pid > 1")
done
events_of "${pairs[@]}" syscalls:sys_enter_read "count > 100" syscalls:sys_exit_write "ret > 10"
events+=(syscalls:sys_enter_close)
both+=(-e syscalls:sys_enter_close -e syscalls:sys_enter_close/overwrite/)
compare
subtest "the other programs"
pairs=()
for event in "${bpf_events[@]:27}"; do
	[[ $event = syscalls:* ]] || pairs+=("$event" "common_pid >= 0")
done
events_of "${pairs[@]}"
compare

subtest "a stream holds every call that passes once"
numbered_event ""
recorder_start -v -a -m 4M "${event[@]}" --bpf-ring=yes -o "$work/data"
numbered_calls 31 10007
recorder_stop
lost=$(grep -oE 'Lost [1-9][0-9]* event' "$work/record.err")
found=$(numbered_ranges "$work/data")
note "$found $lost"
samples=$(fields "$work/data" event | grep -c "$enter")
if [ -n "$lost" ]; then
	inconclusive "$lost"
else
	[[ $found = 31:0-10006 || $found = 31:1-10007 ]] || error "found the calls $found"
	((samples == 10007)) || error "$samples samples, not 10007"
fi

subtest "filters that are left to perf, and those that are refused"
# left TEXT OPTIONS...: the filter works, and BPF does not write the event
left() {
	perf_record -v -a -o "$work/data" "$@" -- true
	! grep -q "is written by BPF$" "$work/record.err" || error "$*: BPF writes it"
}
# refused OPTIONS...
refused() {
	! "$PERF" record -v -a -o "$work/data" "$@" -- true 2> "$work/record.err" ||
		error "$*: not refused"
	grep -q "Cannot set the filter" "$work/record.err" ||
		error "$*: $(tail -n 1 "$work/record.err")"
}
left -e "$enter" --filter 'comm ~ "l*"'
left -e "$enter" --filter 'common_preempt_count == 0'
left -e "$enter" --filter "id == 0 $(printf '|| id == %d ' {1..15})"
left -e sched:sched_process_exec --filter 'pid > 1'
refused -e "$enter" --filter 'id === 1'
refused -e "$enter" --filter 'id == 1 &&'
refused -e "$enter" --filter '(id == 1'
refused -e "$enter" --filter 'nothing == 1'
refused -e "$enter" --filter 'id == "1"'
refused -e sched:sched_switch --filter 'prev_comm > "ls"'

finish
