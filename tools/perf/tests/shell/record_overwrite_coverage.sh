#!/bin/bash
# perf record /overwrite/: the summary says for what time a snapshot is complete on all CPUs
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 60
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered
[ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
mapfile -t cpus < <(sed 's/,/\n/g' /sys/devices/system/cpu/online |
	while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done)
quiet=${cpus[0]} busy=${cpus[1]}

ring=65536
numbered_event overwrite

# calls CPU TAG COUNT: issue numbered calls on one CPU
calls() {
	taskset -c "$1" "$work/$comm" --unpinned --threads 1 --rate 20000 --tag "$2" --count "$3" \
		> "$work/issued" || fatal "the numbered workload failed"
}

# Print the CPU and the time [us] of each sample.
times() {
	fields "$work/data" cpu,time,event --ns | grep -v ' snapshot:' |
		sed -E 's/^ *\[0*([0-9]+)\] +([0-9]+)\.([0-9]{6})([0-9]{3}):.*/\1 \2\3/'
}

# span_of CPU: print how far the samples of this CPU go back from the newest of all [us]
span_of() {
	times | awk -v cpu="$1" '
		!first && $1 == cpu { first = $2 }
		$2 > last { last = $2 }
		END { print last - first }'
}

# Print the decimal number of seconds that follows this text in the summary [us].
reported() {
	sed -nE "s/.*$1 ([0-9]+)\.([0-9]{6}) s.*/\1\2/p" "$work/record.err" | sed 's/^0*//'
}

near() {
	[ -n "$1" ] && (($1 - $2 <= 1 && $2 - $1 <= 1))
}

subtest "a busy CPU limits the snapshot, a quiet one does not"
recorder_start -a -m 64K "${event[@]}" -o "$work/data"
calls "$quiet" 1 7
calls "$busy" 2 10007
calls "$quiet" 3 7
control snapshot || error "no answer to 'snapshot'"
answered=$answer
recorder_stop
complete=$(span_of "$busy") longest=$(span_of "$quiet")
note "complete for $complete us, goes back $longest us"
((longest > complete)) || fatal "the busy CPU has not overwritten its first calls"
grep -q "Snapshot 1 (control): .* complete for the last .* s (CPU $busy), up to .* were overwritten" \
	"$work/record.err" || error "the summary does not name the busy CPU"
near "$(reported 'complete for the last')" "$complete" ||
	error "the summary does not say for what time both CPUs are complete"
[[ $answered =~ ^"ack $work/data "([0-9]+)\.([0-9]{6})" memory"$ ]] &&
	near "$((10#${BASH_REMATCH[1]}${BASH_REMATCH[2]}))" "$complete" ||
	error "the answer is '$answered'"
near "$(reported "CPU $quiet goes back")" "$longest" ||
	error "the summary does not say how far the quiet CPU goes back"
size=$ring
while ((size < ring * longest / complete)); do
	size=$((size * 2))
done
size=$((size < 1 << 20 ? size >> 10 : size >> 20))$( ((size < 1 << 20)) && echo K || echo M)
grep -qE "for that CPU $busy, at [0-9.]+ MB/s, needs -m $size " "$work/record.err" ||
	error "the summary does not say that the busy CPU needs -m $size"

subtest "rings that have overwritten nothing: complete since the start, or the previous snapshot"
recorder_start -a -m 64K "${event[@]}" -o "$work/data"
calls "$busy" 1 13
control snapshot || error "no answer to 'snapshot'"
calls "$busy" 2 13
recorder_stop
reports 'Snapshot 1 (control): 13 records, .*, complete since the start'
grep -q 'Snapshot 2 (exit): 13 records, .*, complete since the previous snapshot' \
	"$work/record.err" || error "the second snapshot is not said to be complete"
! grep -q 'goes back' "$work/record.err" || error "a larger -m is proposed"

finish
