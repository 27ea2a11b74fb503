#!/bin/bash
# Benchmark: time from an event to the complete copy (--switch-output-event)
# SPDX-License-Identifier: GPL-2.0-only
#
# Start a program TRIGGERS (31) times while the numbered workload fills the rings. perf record
# reports how long after the event each copy was complete; upstream's perf does not. WHO (ours) is
# its name in the results. Prints RESULT lines, does not judge them.

. "$(dirname "$0")/../shell/lib/numbered.sh"

need_numbered sched:sched_process_exec

who=${WHO:-ours}
triggers=${TRIGGERS:-31}
trigger=$work/trigger$$
ln -s /bin/true "$trigger"

numbered_event overwrite
recorder_start -a -m 1024 "${event[@]}" --switch-output-event sched:sched_process_exec \
	--filter "filename == \"$trigger\"" -o "$work/data" --switch-max-files=1
numbered_start --rate "${RATE:-100000}" --duration $((triggers / 4 + 1))
for ((i = 0; i < triggers; i++)); do
	"$trigger"
	pause 0.25
done
numbered_end
recorder_stop

grep -oE 'Copied [0-9.]+ ms after' "$work/record.err" | awk '{ print $2 }' |
	sort -n > "$work/latencies"
awk -v who="$who" '
	{ value[NR] = $1 }
	END {
		if (!NR)
			exit 1
		print "# " NR " snapshots"
		print "RESULT snapshot-latency-median-" who, value[int(NR / 2) + 1], "ms"
		print "RESULT snapshot-latency-p90-" who,
			value[int(NR * 0.9) + (NR * 0.9 > int(NR * 0.9))], "ms"
		print "RESULT snapshot-latency-max-" who, value[NR], "ms"
	}' "$work/latencies" || fatal "no trigger was followed by a copy"
