#!/bin/bash
# perf record on our kernel: sized rings, snapshots at 10 Hz and 100 Hz that miss and repeat nothing
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 600
#
# Environment: GAPLESS_SECONDS, the length of each run (10); RATE, of the numbered calls (4000 a
# second: the guest is emulated).

# shellcheck source=../guest.sh
. "$(dirname "$(realpath "$0")")/../guest.sh"

if [ "${1-}" != --inside ]; then
	need_guest
	export VM_TIMEOUT=${VM_TIMEOUT:-560}
	exec "$TOP/tools/testing/vm/run" \
		"GAPLESS_SECONDS=${GAPLESS_SECONDS:-10} RATE=${RATE:-4000} $(printf '%q ' "$(realpath "$0")" --inside)"
fi

# shellcheck source=../../../perf/tests/shell/lib/recording.sh
. "$BUILD/linux/tools/perf/tests/shell/lib/recording.sh"

need_numbered

trap 'tell; cleanup' EXIT

said() {
	grep -q "$1" "$work/record.err"
}

no_waiting() {
	said 'rings by PERF_SAMPLE_SIZE_AT_END' && said 'grace period 0.000 ms' &&
		! grep 'grace period' "$work/record.err" | grep -v 'grace period 0.000 ms' &&
		! said 'paused'
}

# u64_at FILE OFFSET
u64_at() {
	od -An -t u8 -j "$2" -N 8 "$1" | tr -d ' '
}

# No bit of the first attribute's sample_type is ours: that begins 24 bytes into the attribute.
is_plain() {
	local type

	type=$(u64_at "$1" $(($(u64_at "$1" 24) + 24)))
	echo "sample_type $type"
	((type > 0 && type < 1 << 40)) && "$PERF" evlist -v -i "$1" | grep -q 'write_backward: 1'
}

several_events() {
	"$PERF" record -v -a -g -e 'sched:*/overwrite/' -e page-faults/overwrite/ -e sched:sched_process_exec \
		-o "$work/several" -- sh -c 'true; sleep 0.1; sleep 0.1' 2> "$work/record.err" && said SIZE_AT_END &&
		"$PERF" script -i "$work/several" -F event > "$work/events" || return
	sort "$work/events" | uniq -c
	grep -q sched:sched_switch "$work/events" && grep -q page-faults "$work/events" &&
		(($(grep -c sched:sched_process_exec "$work/events") >= 3))
}

to_pipe() {
	"$PERF" record -a -e sched:sched_switch/overwrite/ -o - -- sleep 0.5 2> "$work/record.err" |
		"$PERF" script -i - -F event > "$work/events" && grep -qc sched:sched_switch "$work/events"
}

# A kernel that refuses the bit for the one event, not for the other
refused() {
	cat > "$work/refuse.c" << 'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

long syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	const struct perf_event_attr *attr = (const struct perf_event_attr *)a;

	if (nr == SYS_perf_event_open && attr->sample_type >> 40 & 1 &&
	    attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_PAGE_FAULTS) {
		errno = EINVAL;
		return -1;
	}
	return real(nr, a, b, c, d, e, f);
}
END
	cc -shared -fPIC -o "$work/refuse.so" "$work/refuse.c" || return
	LD_PRELOAD=$work/refuse.so "$PERF" record -v -a -e sched:sched_switch/overwrite/ -e page-faults/overwrite/ \
		-o "$work/refused" -- sleep 0.1 2> "$work/record.err" &&
		said 'refused for an event' && said 'rings by write_backward' || return
	"$PERF" evlist -v -i "$work/refused" | grep -v '^#'
	"$PERF" script -i "$work/refused" -F event | sort | uniq -c
	(($(samples "$work/refused") > 10))
}

echo "TAP version 13"
for hz in 10 100; do
	interval=$(awk -v hz=$hz 'BEGIN { print 1 / hz }')
	check "$hz Hz: nothing is missing, nothing repeated" gapless_snapshots signal "$GAPLESS_SECONDS"
	check "$hz Hz: without a pause or a grace period" no_waiting
	check "$hz Hz: oldest first" oldest_first "$work/data"
	echo "# $(grep -c 'Snapshot .* (signal)' "$work/record.err") snapshots written"
done
check "the file is plain" is_plain "$work/data"
check "and can be read" readable "$work/data"
check "several events, overwritten and not" several_events
check "into a pipe" to_pipe
check "an event for which the bit is refused" refused
echo "1..$nr"
