#!/bin/bash
# perf record -a: no samples of perf record itself, unless --no-exclude-perf is given
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 180

# shellcheck source=lib/files.sh
. "$(dirname "$0")/lib/files.sh"

need_perf
need_root
need_tracepoint raw_syscalls:sys_enter

# own_samples [record options]: print for each event how many samples are of the recorder itself
own_samples() {
	local pid

	# Streamed with --no-buffering: the recorder writes all the time.
	"$PERF" record -a -e raw_syscalls:sys_enter -e cpu-clock/period=100000/ --no-bpf-event --no-buffering "$@" \
		-o "$work/data" -- sleep 1 2> "$work/record.err" &
	pid=$!
	wait "$pid" || fatal "perf record exits with status $?"
	"$PERF" script -i "$work/data" -F pid,event 2> /dev/null |
		awk -v pid="$pid" '
			{ seen[$2]++ }
			$1 == pid { own[$2]++ }
			END { for (event in seen) print event, own[event] + 0 }' | sort
}

for io in sync aio uring; do
	subtest "--io=$io"
	seen=$(own_samples --io=$io)
	note "$seen"
	[ "$(awk '/raw_syscalls/ { print $2 }' <<< "$seen")" = 0 ] ||
		error "own system calls are recorded"
	if "$PERF" version --build-options | grep -q 'bpf: \[ on'; then
		[ "$(awk '/cpu-clock/ { print $2 }' <<< "$seen")" = 0 ] ||
			error "own samples are recorded"
	else
		note "perf is built without libbpf: only tracepoints are filtered"
	fi
done

subtest "--no-exclude-perf"
seen=$(own_samples --no-exclude-perf)
note "$seen"
[ "$(awk '/raw_syscalls/ { print $2 }' <<< "$seen")" -gt 0 ] ||
	error "own system calls are not recorded"

finish
