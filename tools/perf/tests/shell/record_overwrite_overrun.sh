#!/bin/bash
# perf record /overwrite/: late snapshots have no gap inside, and report exactly how much was overwritten
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered

# The rings wrap twice between two snapshots, and are written while they are copied. Each
# holds 0.7 s of these calls. If the recorder gets no CPU for half of that, it pauses the rings and
# reports it. Calls lost then were not overwritten: the run is repeated.
numbered_event overwrite
for attempt in 1 2 3 4 5; do
	rm -f "$work"/data*
	recorder_start -v -m 512 "${event[@]}" -o "$work/data" --switch-output=signal -- \
		"$work/$comm" --idle --threads 2 --rate 60000 --duration 7
	while ! gone "$recorder"; do
		pause 1.5
		control snapshot || break
	done
	recorder_end 60
	[ "$status" = 0 ] || error "exit status $status"
	paused=$(grep -c 'paused for' "$work/record.err") || break
	note "attempt $attempt is inconclusive: a ring was paused"
done
[ "$paused" = 0 ] || inconclusive "a ring was paused in each of $attempt runs"
cp "$work/record.out" "$work/issued"
find_snapshots "$work/data"
((${#snapshots[@]} > 3)) || inconclusive "only ${#snapshots[@]} files in 7 s"

numbered_check "${snapshots[@]}" -- --expect "$work/issued" --result r > "$work/verdict"
grep -v -e '^thread' -e '^RESULT' "$work/verdict"
result() {
	sed -n "s/^RESULT r-$1 \([0-9]*\) .*/\1/p" "$work/verdict"
}

(($(result missing-inside) == 0)) ||
	error "$(result missing-inside) calls are missing inside a snapshot"
(($(result repeated) == 0)) || error "$(result repeated) calls are repeated"
(($(result disordered) == 0)) || error "$(result disordered) calls are out of order"
(($(result missing-between) > 0)) || inconclusive "nothing was overwritten"
((${#snapshots[@]} * 100 < $(result seen))) || inconclusive "only $(result seen) records"

# All records have the same size, and the rings hold nothing else. One sample describes the
# snapshot.
size=$("$PERF" script -i "${snapshots[1]}" --dump-unsorted-raw-trace 2> /dev/null |
	sed -n 's/^.* \[\(0x[0-9a-f]*\)\]: PERF_RECORD_SAMPLE.*/\1/p' | sort | uniq -c |
	awk '$1 > 1 { print $2 }')
[ "$(wc -l <<< "$size")" = 1 ] || error "records of different sizes: $size"
issued=$(awk '$1 == "thread" { sum += $NF } END { print sum }' "$work/issued")
reported=$(grep -oE '[0-9]+ bytes overwritten before' "$work/record.err" |
	awk '{ sum += $1 } END { print sum + 0 }')
overwritten=$(((issued - $(result seen)) * size))
note "$issued calls, $(result seen) recorded: $overwritten bytes overwritten, $reported reported"
((reported == overwritten)) || [ "$paused" != 0 ] ||
	error "perf record reports $reported bytes overwritten, not $overwritten"

finish
