#!/bin/bash
# soft_pt: traced, attached and detached programs compute the same as untraced ones
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
# tags: parallel night
# needs: kernel
#
# stress.c prints the same line in each round, and fails if a trap flag is visible. A trap flag
# that nothing clears would kill the task by SIGTRAP: a round that begins and ends without an event
# shows that none is left. KERNEL is another build of the kernel than build/kernel; VM_TIMEOUT a
# longer time limit for a slow one.

. "$(dirname "$(realpath "$0")")/../../vm/guest.sh"
stress=$BUILD/tests/soft_pt/stress

if [ "${1-}" != --inside ]; then
	need_guest
	[ -x "$stress" ] || skip_all "no stress (make test-programs)"
	export VM_TIMEOUT=${VM_TIMEOUT:-860}
	boot_guest "$test_file" --inside
fi

. "$TOP/tools/perf/tests/shell/lib/recorder.sh"

[ -d /sys/bus/event_source/devices/intel_pt ] || skip_all "no intel_pt in this kernel"
. "$TOP/tools/testing/soft_pt/rounds.sh"
trap 'print_check_output; cleanup' EXIT
event=(-e intel_pt//u -m ",64K")

traces() {
	"$PERF" script -f -i "$1" -D 2> "$work/script.err" | grep -c 'PERF_RECORD_AUXTRACE size'
}

full() {
	"$PERF" record "${event[@]}" -o "$work/full" -- "$stress" \
		< /dev/null > "$work/out" 2> "$work/record.err" &&
		unchanged && traces "$work/full"
}

# record_rounds [options]: start recording, and return after the first traced round
record_rounds() {
	open_input
	recorder_out=$work/out
	recorder_launch "${event[@]}" -o "$work/data" "$@" -- sh -c "exec $stress < $work/in"
	recorder_out=$work/record.out
	program=$recorder
	rounds_done 1
}

rounds_end() {
	close_input
	recorder_end 300
	[ "$status" = 0 ] && unchanged && traces "$work/data"
}

snapshots() {
	local i

	record_rounds -S || return
	for i in {1..12}; do
		control snapshot && pause 0.1 || return
	done
	rounds_end
}

enabled_and_disabled() {
	local i

	record_rounds || return
	for i in {1..40}; do
		control disable && control enable || return
	done
	rounds_end
}

# Stop or kill several recorders, one after the other. The program runs on.
attached_and_detached() {
	local how

	open_input
	"$stress" < "$work/in" > "$work/out" &
	program=$!
	for how in stop kill stop kill; do
		rounds_done 1 || return
		recorder_launch "${event[@]}" -o "$work/data" -p "$program"
		control ping && rounds_done 2 || return
		if [ $how = kill ]; then
			kill -KILL "$recorder"
			recorder_end 300
			continue
		fi
		control stop || return
		recorder_end 300
		[ "$status" = 0 ] && traces "$work/data" || return
	done
}

echo "TAP version 13"
check "untraced: two runs print the same" untraced
check "full trace" full
check "snapshots" snapshots
check "event disabled and enabled 40 times" enabled_and_disabled
check "recorders attach and are stopped or killed" attached_and_detached
check "no task is single-stepped afterwards" after_detach
echo "1..$nr"
