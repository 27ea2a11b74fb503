#!/bin/bash
# Benchmark: CPU time that an event takes when it is recorded
# SPDX-License-Identifier: GPL-2.0-only
#
# A thread makes CALLS (2,000,000) system calls, whose entry and exit are events. In each of ROUNDS
# (5) rounds it does so without a recorder, and once under each recorder of RECORDERS:
#
#	count		this perf stat, which counts the events: what they cost without records
#	bpf		this perf, -e event/overwrite/ -m 4M --bpf-ring=yes
#	perf		this perf, -e event/overwrite/ -m 4M --bpf-ring=no
#	calls-bpf, calls-perf	the same with syscalls:sys_enter_getppid and sys_exit_getppid
#	perf-overwrite	OTHER_PERF (/usr/bin/perf) --overwrite -m 4M
#
# Prints the median of what an event adds to the CPU time of the thread, and the median of its
# ratios to that of "perf" in the same round. Does not judge them.

. "$(dirname "$0")/lib.sh"

need load raw_syscalls:sys_enter
rounds=${ROUNDS:-5}
calls=${CALLS:-2000000}
other=${OTHER_PERF:-/usr/bin/perf}
read -r -a recorders <<< "${RECORDERS:-count perf bpf calls-perf calls-bpf perf-overwrite}"
[ -x "$other" ] || recorders=("${recorders[@]/perf-overwrite/}")

started_or_gone() {
	grep -q 'perf record has started' "$work/record.err" || gone "$recorder"
}

recorder_on() {
	local perf=$PERF command=(record -v -a -o "$work/data" -m 4M) overwritten=/overwrite/
	local events=(raw_syscalls:sys_enter raw_syscalls:sys_exit) event

	case $1 in
	calls-*) events=(syscalls:sys_enter_getppid syscalls:sys_exit_getppid) ;;
	esac
	case $1 in
	count)
		command=(stat -a)
		overwritten=''
		;;
	*bpf) command+=(--bpf-ring=yes) ;;
	perf-overwrite)
		perf=$other command=(record -a -o "$work/data" -m 4M --overwrite)
		overwritten=''
		;;
	*perf) command+=(--bpf-ring=no) ;;
	esac
	for event in "${events[@]}"; do
		command+=(-e "$event$overwritten")
	done
	"$perf" "${command[@]}" > "$work/record.out" 2> "$work/record.err" &
	recorder=$!
	if [[ ${command[*]} == "record -v"* ]]; then
		wait_until 20 started_or_gone
	else
		pause 2
	fi
	kill -0 "$recorder" 2> /dev/null || fatal "$(cat "$work/record.err")"
}

# A recorder in the background ignores SIGINT until it has set up its signals.
recorder_off() {
	kill -TERM "$recorder"
	wait "$recorder"
}

# Set $seconds to the CPU time of the calls.
measure() {
	local TIMEFORMAT='%U %S'

	{ time "$BUILD/tests/load" calls 1 "$calls" < /dev/null > "$work/elapsed"; } 2> "$work/time"
	seconds=$(awk '{ print $1 + $2 }' "$work/time")
}

echo "$rounds rounds, $calls calls, $(nproc) CPUs, $("$other" --version), Linux $(uname -r)"
for ((i = 0; i < rounds; i++)); do
	measure
	without=$seconds
	for name in "${recorders[@]}"; do
		[ -n "$name" ] || continue
		recorder_on "$name"
		measure
		recorder_off
		awk -v with="$seconds" -v without="$without" -v calls="$calls" \
			'BEGIN { printf "%.1f\n", (with - without) * 1e9 / calls / 2 }' \
			>> "$work/figure-$name"
	done
done
for name in "${recorders[@]}"; do
	[ -s "$work/figure-$name" ] || continue
	ratio=$([ ! -s "$work/figure-perf" ] ||
		paste "$work/figure-$name" "$work/figure-perf" | awk '{ print $1 / $2 }' |
		statistic median)
	echo "RESULT emit-$name $(statistic median < "$work/figure-$name") ns" \
		"($(statistic min < "$work/figure-$name")" \
		"to $(statistic max < "$work/figure-$name"))" \
		"${ratio:+ratio $ratio}"
done
