#!/bin/bash
# perf record overwrite: snapshots that come too late have no hole inside, and tell exactly what was overwritten
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_numbered

# The rings are written round and round between two snapshots, and while one is copied. Each holds
# 0.7 s of these calls. If the recorder gets no CPU for half of that, it has to pause them, and says so:
# the calls lost then were not overwritten, and the run is repeated.
numbered_event overwrite
for attempt in 1 2 3 4 5; do
	rm -f "$work"/data*
	recorder_start -v -m 512 "${event[@]}" -o "$work/data" --switch-output=signal -- \
		"$work/$comm" --threads 2 --rate 60000 --duration 13
	while ! gone "$recorder"; do
		pause 3
		control snapshot || break
	done
	recorder_end 60
	[ "$status" = 0 ] || wrong "the recorder ends with status $status"
	grep 'paused for' "$work/record.err" || break
	echo "a ring had to be paused: attempt $attempt shows nothing"
done
cp "$work/record.out" "$work/issued"
find_snapshots "$work/data"
((${#snapshots[@]} > 3)) || wrong "only ${#snapshots[@]} files"

numbered_check "${snapshots[@]}" -- --expect "$work/issued" --result r > "$work/verdict"
grep -v -e '^thread' -e '^RESULT' "$work/verdict"
result() {
	sed -n "s/^RESULT r-$1 \([0-9]*\) .*/\1/p" "$work/verdict"
}

(($(result missing-inside) == 0)) || wrong "$(result missing-inside) records are missing inside a snapshot"
(($(result repeated) == 0)) || wrong "$(result repeated) records are repeated"
(($(result disordered) == 0)) || wrong "$(result disordered) records are out of order"
(($(result missing-between) > 0)) || wrong "nothing was overwritten: this shows nothing"
((${#snapshots[@]} * 100 < $(result seen))) || wrong "only $(result seen) records: this shows nothing"

# All records have the same size, and only these calls go to the rings
size=$("$PERF" script -i "${snapshots[1]}" --dump-unsorted-raw-trace 2> /dev/null |
	sed -n 's/^.* \[\(0x[0-9a-f]*\)\]: PERF_RECORD_SAMPLE.*/\1/p' | sort | uniq)
[ "$(wc -l <<< "$size")" = 1 ] || wrong "records of different sizes: $size"
issued=$(awk '$1 == "thread" { sum += $NF } END { print sum }' "$work/issued")
told=$(grep -oE '[0-9]+ bytes overwritten before' "$work/record.err" | awk '{ sum += $1 } END { print sum + 0 }')
really=$(((issued - $(result seen)) * size))
echo "$issued calls, $(result seen) recorded: $really bytes overwritten, $told told"
((told == really)) || wrong "the recorder tells of $told bytes overwritten, but $really were"

finish
