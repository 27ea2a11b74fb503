#!/bin/bash
# perf record: a recorder of all tasks leaves itself out
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_perf
need_root
need_tracepoint raw_syscalls:sys_enter

# own_samples [record options]: how many samples of each event are the recorder's own
own_samples() {
	local pid

	# Streamed, with an output that is written all the time
	"$PERF" record -a -e raw_syscalls:sys_enter -e cpu-clock/period=100000/ --no-bpf-event --no-buffering "$@" \
		-o "$work/data" -- sleep 1 2> "$work/record.err" &
	pid=$!
	wait "$pid" || fail "exit status $?"
	"$PERF" script -i "$work/data" -F pid,event 2> /dev/null |
		awk -v pid="$pid" '
			{ seen[$2]++ }
			$1 == pid { own[$2]++ }
			END { for (event in seen) print event, own[event] + 0 }' | sort
}

for io in sync aio uring; do
	echo "--- --io=$io"
	seen=$(own_samples --io=$io)
	echo "$seen"
	[ "$(awk '/raw_syscalls/ { print $2 }' <<< "$seen")" = 0 ] || wrong "it recorded its own system calls"
	if "$PERF" version --build-options | grep -q 'bpf: \[ on'; then
		[ "$(awk '/cpu-clock/ { print $2 }' <<< "$seen")" = 0 ] || wrong "it sampled itself"
	else
		echo "note: this perf is built without libbpf, and samples itself"
	fi
done

echo "--- --no-exclude-perf"
seen=$(own_samples --no-exclude-perf)
echo "$seen"
[ "$(awk '/raw_syscalls/ { print $2 }' <<< "$seen")" -gt 0 ] || wrong "it does not record its own system calls"

finish
