#!/bin/bash
# Intel PT by single-stepping: nobody's output changes, whatever happens to him, in the guest
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
#
# stress.c prints the same line, round by round, and would see a trap flag. A task with one that nobody
# takes from it is ended by SIGTRAP: a round begun and done with no event says that there was none.
# KERNEL is another build of the kernel than build/kernel; VM_TIMEOUT more time, for a slow one.

# shellcheck source=../../vm/guest.sh
. "$(dirname "$(realpath "$0")")/../../vm/guest.sh"
stress=$BUILD/tests/soft_pt/stress

if [ "${1-}" != --inside ]; then
	need_guest
	[ -x "$stress" ] || no_tests "there is no stress (make test-programs)"
	export VM_TIMEOUT=${VM_TIMEOUT:-860}
	exec "$TOP/tools/testing/vm/run" "$(printf '%q ' "$(realpath "$0")" --inside)"
fi

# shellcheck source=../../../perf/tests/shell/lib/recording.sh
. "$BUILD/linux/tools/perf/tests/shell/lib/recording.sh"

[ -d /sys/bus/event_source/devices/intel_pt ] || no_tests "this kernel has no intel_pt"
# shellcheck source=../rounds.sh
. "$TOP/tools/testing/soft_pt/rounds.sh"
trap 'tell; cleanup' EXIT
event=(-e intel_pt//u -m ",64K")

traces() {
	"$PERF" script -f -i "$1" -D 2> "$work/script.err" | grep -c 'PERF_RECORD_AUXTRACE size'
}

full() {
	"$PERF" record "${event[@]}" -o "$work/full" -- "$stress" < /dev/null > "$work/out" 2> "$work/record.err" &&
		unchanged && traces "$work/full"
}

# record_rounds [options]: returns when one was traced
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

# Recorders that come and go, some without a word; and then the program is on its own.
attached_and_detached() {
	local how

	open_input
	"$stress" < "$work/in" > "$work/out" &
	program=$!
	started+=("$program")
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
check "untraced: the same twice" untraced
check "traced in full" full
check "snapshots meanwhile" snapshots
check "enabled and disabled all the time" enabled_and_disabled
check "recorders that attach and detach, or are killed" attached_and_detached
check "nobody is stepped any more" on_its_own
echo "1..$nr"
