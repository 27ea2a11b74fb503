#!/bin/bash
# perf record: the verifier of Debian's kernel accepts all BPF programs
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 400
# tags: parallel
# needs: stock-kernel

. "$(dirname "$(realpath "$0")")/../guest.sh"

if [ "${1-}" != --inside ]; then
	export KERNEL=${KERNEL:-$BUILD/${kernel:-kernel-stock}}
	need_guest
	boot_guest "$test_file" --inside
fi

. "$TOP/tools/perf/tests/shell/lib/bpf_events.sh"

trap 'print_check_output; cleanup' EXIT

# record OPTION...: record this machine; all programs are loaded
record() {
	"$PERF" record -v -a -N -B "$@" -o "$work/data" -- true > "$work/record.err" 2>&1 || {
		cat "$work/record.err"
		false
	}
}

# written EVENT...: BPF writes all events that this kernel has as this build knows them
written() {
	local options=() event

	for event; do
		! has_tracepoint "${event%/overwrite/}" || options+=(-e "$event")
	done
	record --bpf-ring=yes "${options[@]}" &&
		! grep 'is written by perf: ' "$work/record.err" | grep -v 'this kernel has' &&
		grep -c 'is written by BPF' "$work/record.err"
}

# Each comparison, and each way to select what is recorded, is code of its own.
filtered() {
	record --bpf-ring=yes -C 0 -e "$enter" --filter 'id == 39 || id > 400' \
		-e sched:sched_switch --filter 'prev_comm == "true" && next_pid != 0' \
		-e irq:irq_handler_entry --filter 'irq & 3' &&
		[ "$(grep -c 'is written by BPF' "$work/record.err")" = 3 ]
}

conditions=()
for condition in 'sched-delay>1s' 'off-cpu(D)>1s if comm==true' 'on-cpu>1s' 'syscall>1s' \
	'syscall(getppid)>1s if pid==1' 'irq>1s' 'softirq>1s' \
	'sched:sched_process_exec..sched:sched_process_exit>1s' \
	'irq:softirq_entry..irq:softirq_exit>1s by vec'; do
	conditions+=(--switch-output-when="$condition")
done

echo "TAP version 13"
check "all events, in streams" written "${bpf_events[@]}"
check "all events, in rings that overwrite themselves" written "${bpf_events[@]/%//overwrite/}"
check "filters" filtered
check "all kinds of conditions" record -e dummy "${conditions[@]}"
check "conditions beside the events that they judge" record --bpf-ring=yes -e 'raw_syscalls:*' \
	-e sched:sched_switch -e sched:sched_wakeup "${conditions[@]}"
check "--advise" record --advise -e dummy "${conditions[@]}"
check "--off-cpu" record --off-cpu -e dummy
echo "1..$nr"
