#!/bin/bash
# perf record --bpf-ring: gapless snapshots on the kernel of Debian; what it is too old for is said
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 600
# tags: parallel night
# needs: stock-kernel

. "$(dirname "$(realpath "$0")")/../guest.sh"

if [ "${1-}" != --inside ]; then
	export KERNEL=${KERNEL:-$BUILD/kernel-stock} VM_TIMEOUT=${VM_TIMEOUT:-560}
	need_guest
	boot_guest "$test_file" --inside
fi

. "$TOP/tools/perf/tests/shell/lib/numbered.sh"

need_numbered
trap 'print_check_output; cleanup' EXIT
enter=raw_syscalls:sys_enter
export RATE=${RATE:-4000}			# the guest is emulated

numbered_event() {
	event=(--bpf-ring=yes -m 8M -e "$enter/overwrite/")
	trace_options=(--comms "$comm")		# the rings have the calls of all tasks
}

# record_tasks MODE: record the calls of a process
record_tasks() {
	numbered_start --rate 100 --duration 600
	timeout 60 "$PERF" record -v -m 8M --bpf-ring="$1" -e "$enter/overwrite/" -p "$numbered" -o "$work/tasks" \
		-- sleep 1 > "$work/record.err" 2>&1
	status=$?
	kill "$numbered"
	wait "$numbered" 2> /dev/null
}

# Programs find the tasks that are recorded by a helper of Linux 6.2.
tasks_are_refused() {
	record_tasks yes
	cat "$work/record.err"
	((status)) && grep -q 'Linux 6\.2' "$work/record.err"
}

tasks_by_perf() {
	record_tasks auto
	cat "$work/record.err"
	((!status)) && grep -q 'Linux 6\.2' "$work/record.err" &&
		(($(perf_script "$PERF" "$work/tasks" -F event | wc -l) > 10))
}

echo "TAP version 13"
interval=0.01
check "100 Hz: no record is missing or repeated" gapless_snapshots signal 4 --switch-output=signal
check "tasks: --bpf-ring=yes is refused" tasks_are_refused
check "tasks: --bpf-ring=auto uses perf's ring, and says why" tasks_by_perf
echo "1..$nr"
