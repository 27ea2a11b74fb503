#!/bin/bash
# perf record -e EVENT/aux-action=.../: events pause and resume a trace
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 200
# tags: parallel
# needs: kernel
#
# The PMU is soft_pt. Tools of Linux 6.12 do not know the term.

. "$(dirname "$(realpath "$0")")/../guest.sh"

if [ "${1-}" != --inside ]; then
	need_guest
	answer=$("${PERF:-$BUILD/perf/perf}" record --dry-run -e cpu-clock/aux-action=pause/ \
		-o "$(mktemp -u)" -- true 2>&1)
	[[ $answer != *"event syntax error"* ]] || skip_all "this perf does not know aux-action="
	boot_guest setarch -R "$test_file" --inside
fi

. "$TOP/tools/perf/tests/shell/lib/recorder.sh"

trap 'print_check_output; cleanup' EXIT

[ -d /sys/bus/event_source/devices/intel_pt ] || skip_all "no PMU intel_pt"

# traced EVENTS: record a command; set $bytes to the size of its trace
traced() {
	"$PERF" record -B -e "$1" -o "$work/data" -- true 2> "$work/record.err" || return
	bytes=$(perf_script "$PERF" "$work/data" -D 2> "$work/script.err" |
		awk '/PERF_RECORD_AUXTRACE size: / {
			sub(/.*PERF_RECORD_AUXTRACE size: /, ""); print "echo $((" $1 "))" }' | sh |
		awk '{ sum += $1 } END { print sum + 0 }')
	echo "$1: $bytes bytes"
}

whole() {
	traced intel_pt//u && all=$bytes && ((bytes > 1000))
}

start_paused() {
	traced intel_pt/aux-action=start-paused/u && ((bytes * 10 < all))
}

# How long the program runs changes the size of its trace.
resumed() {
	traced '{intel_pt/aux-action=start-paused/u,raw_syscalls:sys_exit/aux-action=resume/}' &&
		((bytes * 10 > all))
}

# The first call that returns is the exec: the program runs after that.
paused() {
	traced '{intel_pt//u,raw_syscalls:sys_exit/aux-action=pause/}' && ((bytes * 10 < all))
}

echo "TAP version 13"
check "a trace without the term" whole
check "nothing is traced before an event resumes the trace" start_paused
check "an event resumes the trace" resumed
check "an event pauses the trace" paused
echo "1..$nr"
