#!/bin/bash
# perf record, killed: its file is readable, and perf inject completes it for any perf
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 400

. "$(dirname "$0")/lib/numbered.sh"

need_numbered
command -v taskset > /dev/null || skip "no taskset"

numbered_event
out=$work/data

# The file has this many samples. Its size depends on the tasks of the machine.
enough=6000
has_enough() {
	pause 0.3
	[ "$(samples "$out")" -gt $enough ]
}

# killed [record options]: kill a recorder while it writes to $out
killed() {
	subtest "record $*"
	rm -f "$out"*
	# With one ring, the file has the calls that were recorded first. The ring holds 6 s of
	# these calls.
	recorder_start -C 0 -m 2048 "${event[@]}" -o "$out" "$@"
	taskset -c 0 "$work/$comm" --idle --rate 10000 --duration 60 > "$work/issued" &
	numbered=$!
	wait_until 100 has_enough || error "the file does not grow: $(samples "$out") samples"
	kill -KILL "$recorder"
	kill -TERM "$numbered"
	wait "$recorder" "$numbered" 2> /dev/null
	exec {ctl}>&- {ack}>&-
	rm -f "$work/ctl" "$work/ack"
}

# count_first FILE: set $count to its number of samples; check that these are the first calls,
# without a gap
count_first() {
	numbered_check "$1" -- --quiet --from-start > "$work/verdict" ||
		error "not the first calls, or calls are missing or repeated: $(cat "$work/verdict")"
	count=$(samples "$1")
}

for option in -z --io={sync,aio,uring}; do
	killed $option
	count_first "$out"
	note "$count samples in $(stat -c %s "$out") bytes"
	((count > enough)) || error "only $count samples"
	"$PERF" report "${no_symbols[@]}" -f -i "$out" --stdio > "$work/report" \
		2> "$work/report.err" ||
		error "perf report fails"
	grep -q 'recorder of this file was killed' "$work/report.err" ||
		error "perf report does not say that the recorder was killed"

	"$PERF" inject -f -i "$out" -o "$work/whole" 2> "$work/inject.err" ||
		error "perf inject fails: $(cat "$work/inject.err")"
	readable "$work/whole" || error "the repaired file cannot be read"
	[ "$(samples "$work/whole")" = "$count" ] ||
		error "the repaired file has $(samples "$work/whole") samples"
	"$PERF" report "${no_symbols[@]}" -i "$work/whole" --stdio 2>&1 | grep -q 'was killed' &&
		error "the repaired file is not complete"
done

subtest "zeros at the end"
expected=$count
truncate -s +8191 "$out"
count_first "$out"
# The last record may be complete, or end in the zeros.
((count == expected || count == expected - 1)) || error "$count samples instead of $expected"

subtest "a truncated file"
# The file may have a hole already, where a chunk was not written.
before=$count all=$count
for size in 100003 97001 93001 91009; do
	truncate -s -$size "$out"
	count_first "$out"
	note "$size bytes less: $count samples"
	((count <= before)) || error "$count samples, more than in the longer file"
	before=$count
done
((count < all)) || inconclusive "no sample was cut off"

subtest "a complete file, truncated"
count_first "$work/whole"
all=$count before=$count
# Truncated first after the records, then in a sample: those before it are left.
read -r start size < <(od -An -tu8 -j 40 -N 16 "$work/whole")
mapfile -t places < <("$PERF" script -f -i "$work/whole" --dump-unsorted-raw-trace 2> /dev/null |
	grep -aoE '0x[0-9a-f]+ \[0x[0-9a-f]+\]: PERF_RECORD_SAMPLE' | cut -d ' ' -f 1)
((${#places[@]} == all)) || error "${#places[@]} samples are dumped, $all printed"
for left in $all 5003 2503 7; do
	bytes=$((left < all ? places[left] + 8 : start + size + 1))
	head -c $bytes "$work/whole" > "$out"
	count_first "$out"
	note "$bytes bytes: $count samples"
	((count == left)) || error "$bytes bytes: $count samples, not $left"
	before=$count
	"$PERF" report "${no_symbols[@]}" -i "$out" --stdio 2>&1 > /dev/null |
		grep -q 'file is truncated' ||
		error "perf report does not report a truncated file"
	"$PERF" loss -i "$out" > "$work/loss" 2>&1
	[ $? = 255 ] || error "exit status of perf loss is not 255"
	grep -qE "^Samples +$count\$" "$work/loss" ||
		error "perf loss counts another number of samples: $(cat "$work/loss")"
done

subtest "a truncated file, whose header has a damaged size"
# Offset 48 of the header: the size of the records. With their offset it passes 2^64.
printf '\xf8\xff\xff\xff\xff\xff\xff\xff' |
	dd of="$out" bs=1 seek=48 conv=notrunc status=none
count=$(samples "$out")
[ "$count" = "$before" ] || error "$count samples instead of $before"

subtest "few events, far from the watermark: a killed recorder loses only the last seconds"
rm -f "$out"*
# A task that only issues calls makes no side-band records, which would end a round.
"$work/$comm" --idle --threads 1 --rate 20 --duration 150 > "$work/issued" &
numbered=$!
# perf opens the events of the threads that it has found, and of their children.
has_thread() {
	local threads=("/proc/$numbered/task"/*)

	((${#threads[@]} > 1))
}
wait_until 20 has_thread || fatal "the workload does not start"
recorder_start -p "$numbered" -m 2048 "${event[@]}" -o "$out"
has_calls() {
	pause 0.3
	[ "$(samples "$out")" -gt 0 ]
}
wait_until 60 has_calls || error "the file has no sample after 60 s"
kill -KILL "$recorder"
kill -TERM "$numbered"
wait "$recorder" "$numbered" 2> /dev/null

finish
