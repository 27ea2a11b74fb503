#!/bin/bash
# perf record --bpf-ring: gapless snapshots on the kernel of Debian, and CPUs that come and go
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 1800
# tags: parallel night
# needs: stock-kernel

. "$(dirname "$(realpath "$0")")/../guest.sh"

if [ "${1-}" != --inside ]; then
	export KERNEL=${KERNEL:-$BUILD/${kernel:-kernel-stock}} VM_TIMEOUT=${VM_TIMEOUT:-1750}
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
	timeout 200 "$PERF" record -v -m 8M --bpf-ring="$1" -e "$enter/overwrite/" -p "$numbered" \
		-o "$work/tasks" -- sleep 1 > "$work/record.err" 2>&1
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

# recorded_tasks: the file has calls of the process
recorded_tasks() {
	cat "$work/record.err"
	((!status)) && (($(perf_script "$PERF" "$work/tasks" -F event | wc -l) > 10))
}

tasks_by_perf() {
	record_tasks auto
	recorded_tasks && grep -q 'Linux 6\.2' "$work/record.err"
}

tasks_by_bpf() {
	record_tasks yes
	recorded_tasks && grep -q "$enter is written by BPF" "$work/record.err"
}

# online 0|1: take the last CPU away, or bring it back
last_cpu=$(($(getconf _NPROCESSORS_CONF) - 1))
online() {
	echo "$1" > "/sys/devices/system/cpu/cpu$last_cpu/online"
}

# calls_on CPU TAG: issue calls there
calls_on() {
	taskset -c "$1" "$work/$comm" --threads 1 --tag "$2" --count 53 > "$work/issued"
}

# has_tags TAG...: the file has the calls with these tags, and no others
has_tags() {
	local ranges

	ranges=$(perf_script "$PERF" "$work/data" -F trace | "$BUILD/tests/numbered_check" |
		awk '$1 == "thread" { print $2 $4 "-" $6 }' | tr -d , | xargs)
	cat "$work/record.err"
	echo "found $ranges"
	[ "$ranges" = "$(printf '%s:1-53\n' "$@" | xargs)" ]
}

# CPUs that had no ring when the recording began are named at its end.
onlined_cpu_is_named() {
	online 0 || return
	recorder_start -a -m 1M --bpf-ring=yes -e "$enter$1" -o "$work/data" "${@:2}"
	online 1 || return
	calls_on 0 31
	calls_on "$last_cpu" 32
	recorder_stop
	has_tags 31 && grep -q "CPUs came online.*: $last_cpu\$" "$work/record.err"
}

# A CPU that goes and comes back keeps its ring.
cpu_comes_back() {
	recorder_start -a -m 1M --bpf-ring=yes -e "$enter$1" -o "$work/data" "${@:2}"
	calls_on "$last_cpu" 41
	online 0 || return
	calls_on 0 42
	online 1 || return
	calls_on "$last_cpu" 43
	recorder_stop
	has_tags 41 42 43 && ! grep 'CPUs' "$work/record.err"
}

# Tasks of one CPU preempt each other at any time, also in the programs.
calls_of_preempted_tasks() {
	"$PERF" record -a -m 8M --bpf-ring=yes -e "$enter/overwrite/" -o "$work/data" -- \
		taskset -c 0 "$work/$comm" --unpinned --threads 4 --rate 0 --count 4001 \
		> "$work/issued" 2> "$work/record.err"
	cat "$work/record.err"
	numbered_check "$work/data" -- --quiet --from-start --expect "$work/issued"
}

# The conditions of --switch-output-when have programs of their own. They run after those that write
# the events, if these are recorded.
durations_of_preempted_tasks() {
	"$PERF" record --advise -v -a "$@" \
		--switch-output-when="syscall(getppid)>1ns if comm==$comm" -o "$work/data" -- \
		taskset -c 0 "$work/$comm" --unpinned --threads 4 --rate 0 --count 4001 \
		> "$work/issued" 2> "$work/record.err"
	cat "$work/record.err"
	grep -q ": $((4 * 4001)) of " "$work/record.err"
}

durations_at_recorded_calls() {
	durations_of_preempted_tasks --bpf-ring=yes -e "$enter" -e raw_syscalls:sys_exit &&
		[ "$(grep -c 'runs after the program that writes' "$work/record.err")" = 2 ]
}

# A program that interrupts another one, and with it itself: Linux 6.8
misses_are_lost() {
	"$TOP/tools/perf/tests/shell/record_bpf_ring_misses.sh" > "$work/misses"
	status=$?
	cat "$work/misses"
	reason=$(grep -m 1 -o 'SKIP .*' "$work/misses")
	[ -z "$reason" ] || inconclusive "${reason#SKIP }"
	((!status || status == 2))
}

is_at_least() {
	[ "$(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" = "$1" ]
}

echo "TAP version 13"
interval=0.01
check "100 Hz: no record is missing or repeated" gapless_snapshots signal 4 --switch-output=signal
check "tasks that preempt each other: each call is recorded" calls_of_preempted_tasks
check "tasks that preempt each other: each call is measured" durations_of_preempted_tasks -e dummy
check "likewise, where BPF also writes the calls" durations_at_recorded_calls
if is_at_least 6.2; then
	check "tasks are recorded by BPF" tasks_by_bpf
else
	check "tasks: --bpf-ring=yes is refused" tasks_are_refused
	check "tasks: --bpf-ring=auto uses perf's ring, and says why" tasks_by_perf
fi
! is_at_least 6.8 ||
	check "a program that interrupts itself: the misses are lost events" misses_are_lost
for terms in /overwrite/ '' --keep=60s,64M; do
	options=()
	[[ $terms != -* ]] || options=("$terms") terms=''
	kind=${options[*]:-${terms:-stream}}
	check "a CPU that comes online is named ($kind)" \
		onlined_cpu_is_named "$terms" "${options[@]}"
	check "a CPU that goes offline and comes back is recorded ($kind)" \
		cpu_comes_back "$terms" "${options[@]}"
done
echo "1..$nr"
