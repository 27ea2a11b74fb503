#!/bin/bash
# perf record: what a killed recorder leaves can be read, and made whole for any perf
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 400

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_numbered
command -v taskset > /dev/null || skip "no taskset"

numbered_event
out=$work/data

# Not its size: how much is in front of the samples depends on what else runs here
enough=15000
has_enough() {
	[ "$(samples "$out")" -gt $enough ]
}

# killed [record options]: $out is what a recorder has left that was killed while it wrote
killed() {
	echo "--- $*"
	rm -f "$out"*
	# One ring, so that what is in the file is what was recorded first; it holds 6 s of these calls
	recorder_start -C 0 -m 2048 "${event[@]}" -o "$out" "$@"
	taskset -c 0 "$work/$comm" --rate 10000 --duration 60 > "$work/issued" &
	numbered=$!
	started+=("$numbered")
	wait_until 40 has_enough || wrong "the file does not grow: $(samples "$out") samples"
	kill -KILL "$recorder"
	kill -TERM "$numbered"
	wait "$recorder" "$numbered" 2> /dev/null
	exec {ctl}>&- {ack}>&-
	rm -f "$work/ctl" "$work/ack"
}

# counted FILE: its samples, which must be the first calls, all of them
counted() {
	numbered_check "$1" -- --quiet --from-start > "$work/verdict" ||
		wrong "not the first calls, or not all of them: $(cat "$work/verdict")" >&2
	samples "$1"
}

for io in sync aio uring; do
	killed --io=$io
	count=$(counted "$out")
	echo "$count samples in $(stat -c %s "$out") bytes"
	((count > enough)) || wrong "only $count samples"
	"$PERF" report -f -i "$out" --stdio > "$work/report" 2> "$work/report.err" || wrong "perf report fails"
	grep -q 'recorder of this file was killed' "$work/report.err" || wrong "perf report does not say that it was killed"

	"$PERF" inject -f -i "$out" -o "$work/whole" 2> "$work/inject.err" || wrong "perf inject fails: $(cat "$work/inject.err")"
	readable "$work/whole" || wrong "the repaired file cannot be read"
	[ "$(samples "$work/whole")" = "$count" ] || wrong "the repaired file has $(samples "$work/whole") samples"
	"$PERF" report -i "$work/whole" --stdio 2>&1 | grep -q 'was killed' && wrong "the repaired file is not whole"
done

echo "--- a block that was not written"
truncate -s +8191 "$out"
seen=$(counted "$out")
# The last record may be whole, or have its end there
((seen == count || seen == count - 1)) || wrong "$seen samples instead of $count"

echo "--- cut off anywhere"
# Where a chunk was not written there may be a hole already
before=$count all=$count
for size in 300011 290003 280001 270007; do
	truncate -s -$size "$out"
	count=$(counted "$out")
	echo "$size bytes less: $count samples"
	((count <= before)) || wrong "more than in the longer file"
	before=$count
done
((count < all)) || wrong "as many as before: this shows nothing"

echo "--- a file that was completed, and cut off when it was copied"
size=$(stat -c %s "$work/whole") all=$(counted "$work/whole") before=$all
# First behind the records, then in them
for cut in 1 1000 $((size / 4)) $((size / 2)) $((size * 3 / 4)); do
	head -c -$cut "$work/whole" > "$out"
	count=$(counted "$out")
	echo "$cut bytes less: $count samples"
	((cut > 1000 ? count > 0 && count < before : count == all)) || wrong "of $before samples"
	before=$count
	"$PERF" report -i "$out" --stdio 2>&1 > /dev/null | grep -q 'file is cut off' || wrong "perf report does not say so"
	"$PERF" loss -i "$out" > "$work/loss" 2>&1
	[ $? = 255 ] || wrong "perf loss ends with another status than 255"
	grep -qE "^Samples +$count\$" "$work/loss" || wrong "perf loss counts otherwise: $(cat "$work/loss")"
done

killed -z
count=$(counted "$out")
echo "$count samples in $(stat -c %s "$out") bytes"
((count > enough)) || wrong "only $count samples"
"$PERF" inject -f -i "$out" -o "$work/whole" 2> "$work/inject.err" || wrong "perf inject fails: $(cat "$work/inject.err")"
readable "$work/whole" || wrong "the repaired file cannot be read"
[ "$(samples "$work/whole")" = "$count" ] || wrong "the repaired file has $(samples "$work/whole") samples"
finish
