#!/bin/bash
# perf record overwrite: gapless snapshots of PERF_SAMPLE_SIZE_AT_END rings at 10 Hz and 100 Hz
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 1200
# tags: parallel long
# needs: kernel
#
# Environment: GAPLESS_SECONDS, the length of each run, default 2, at night 10; RATE, of the
# numbered calls, default 4000 a second, because the guest is emulated. At night the CPUs are busy
# meanwhile.

. "$(dirname "$(realpath "$0")")/../guest.sh"

if [ "${1-}" != --inside ]; then
	need_guest
	export VM_TIMEOUT=${VM_TIMEOUT:-1150}
	seconds=${GAPLESS_SECONDS:-${NIGHT:+10}}
	boot_guest env "GAPLESS_SECONDS=${seconds:-2}" "RATE=${RATE:-4000}" \
		"$test_file" --inside
fi

. "$TOP/tools/perf/tests/shell/lib/numbered.sh"

# checked_on_host FUNCTION FILE: run a function of files.sh on the host, which is much faster
checked_on_host() {
	local copy=$VM_OUT/checked status

	cp "$2" "$copy" || return
	on_host env "BUILD=$BUILD" "PERF=$PERF" bash -c \
		'. "$BUILD/linux/tools/perf/tests/shell/lib/files.sh"; "$@"' sh "$1" "$copy"
	status=$?
	rm "$copy"
	return $status
}

need_numbered
[ -n "${NIGHT-}" ] || numbered_options=(--idle)

trap 'print_check_output; cleanup' EXIT

logged() {
	grep -q "$1" "$work/record.err"
}

no_waiting() {
	logged 'rings by PERF_SAMPLE_SIZE_AT_END' && logged 'grace period 0.000 ms' &&
		! grep 'grace period' "$work/record.err" | grep -v 'grace period 0.000 ms' &&
		! logged 'paused'
}

# u64_at FILE OFFSET: print the number
u64_at() {
	od -An -t u8 -j "$2" -N 8 "$1" | tr -d ' '
}

# is_plain FILE: sample_type, 24 bytes into the first attribute, has no bit 40.
is_plain() {
	local type

	type=$(u64_at "$1" $(($(u64_at "$1" 24) + 24)))
	echo "sample_type $type"
	((type > 0 && type < 1 << 40)) && "$PERF" evlist -v -i "$1" | grep -q 'write_backward: 1'
}

several_events() {
	"$PERF" record -v -a -g -e 'sched:*/overwrite/' -e page-faults/overwrite/ \
		-e sched:sched_process_exec -o "$work/several" -- \
		sh -c 'true; sleep 0.1; sleep 0.1' 2> "$work/record.err" && logged SIZE_AT_END &&
		perf_script "$PERF" "$work/several" -F event > "$work/events" || return
	sort "$work/events" | uniq -c
	grep -q sched:sched_switch "$work/events" && grep -q page-faults "$work/events" &&
		(($(grep -c sched:sched_process_exec "$work/events") >= 3))
}

# This kernel gives build-ids only to events that ask for them: perf record asks by default.
has_build_ids() {
	perf_script "$PERF" "$work/several" --show-mmap-events -F event > "$work/maps" &&
		grep -qE 'MMAP2.*<[0-9a-f]{40}>.*libc' "$work/maps"
}

to_pipe() {
	"$PERF" record -a -e sched:sched_switch/overwrite/ -o - -- sleep 0.5 2> "$work/record.err" |
		"$PERF" script "${no_symbols[@]}" -i - -F event > "$work/events" &&
		grep -qc sched:sched_switch "$work/events"
}

# The kernel refuses the bit for one of two events.
refused_for_one() {
	cat > "$VM_OUT/refuse.c" << 'END'
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
	on_host cc -shared -fPIC -o "$VM_OUT/refuse.so" "$VM_OUT/refuse.c" || return
	LD_PRELOAD=$VM_OUT/refuse.so "$PERF" record -v -a -e sched:sched_switch/overwrite/ \
		-e page-faults/overwrite/ -o "$work/refused" -- sleep 0.1 2> "$work/record.err" &&
		logged 'refused for an event' && logged 'rings by write_backward' || return
	"$PERF" evlist -v -i "$work/refused" | grep -v '^#'
	perf_script "$PERF" "$work/refused" -F event > "$work/events" || return
	sort "$work/events" | uniq -c
	(($(wc -l < "$work/events") > 10))
}

echo "TAP version 13"
for hz in 10 100; do
	interval=$(awk -v hz=$hz 'BEGIN { print 1 / hz }')
	check "$hz Hz: no record is missing or repeated" gapless_snapshots signal "$GAPLESS_SECONDS"
	check "$hz Hz: no pause and no grace period" no_waiting
	check "$hz Hz: oldest first" checked_on_host oldest_first "$work/data"
	echo "# $(grep -c 'Snapshot .* (signal)' "$work/record.err") snapshots written"
done
check "sample_type in the file has no bit of ours" is_plain "$work/data"
check "perf script reads the file" checked_on_host readable "$work/data"
check "several events, overwritten and streamed" several_events
check "maps have build-ids by default" has_build_ids
check "output to a pipe" to_pipe
check "bit refused for one event" refused_for_one
echo "1..$nr"
