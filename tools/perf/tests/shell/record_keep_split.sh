#!/bin/bash
# perf record --keep-split: a snapshot in several files, each of which stands alone
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered
numbered_event

# record [record options]: record calls for four seconds, take a snapshot of them, and end; lossless
# calls it
record() {
	rm -f "$work"/data*
	recorder_start -v -a "${event[@]}" -o "$work/data" --keep=60s,128M --switch-output "$@"
	numbered_start --rate $((20000 / attempt)) --duration 4
	numbered_end
	control snapshot || error "no snapshot"
	snapshot_answer=$answer
	recorder_stop "$work/data"
}

subtest "files of a second"
lossless record --keep-split=1s --summary=json
# A second each, or more where no round ended in time; and one at the end
((${#snapshots[@]} >= 3 && ${#snapshots[@]} <= 6)) || error "${#snapshots[@]} files of 4 s"
all_there "${snapshots[@]}"
[[ $snapshot_answer = *"${snapshots[-2]}"* ]] ||
	error "the answer does not name the last file of the snapshot: $snapshot_answer"
readable "${snapshots[@]}" || error "a file cannot be read"

subtest "each file names its tasks and the files that they have mapped"
for file in "${snapshots[@]:0:${#snapshots[@]}-1}"; do
	fields "$file" comm --ns | sort -u > "$work/names"
	grep -q '^ *numb[0-9]' "$work/names" || error "${file##*/}: $(tr '\n' ' ' < "$work/names")"
	"$PERF" script -f -i "$file" --show-mmap-events 2> "$work/script.err" |
		grep -q 'PERF_RECORD_MMAP2.*numbered' ||
		error "${file##*/} has no maps of the workload"
done

subtest "a snapshot shorter than that is one file"
lossless record --keep-split=1m
[ "${#snapshots[@]}" = 2 ] || error "${#snapshots[@]} files"
all_there "${snapshots[@]}"

subtest "it needs --keep and --switch-output"
for options in "--switch-output --keep-split=30s" "--keep --keep-split=30s"; do
	# shellcheck disable=SC2086
	"$PERF" record -e dummy $options -o "$work/none" -- true 2> "$work/record.err" &&
		error "$options is accepted"
	grep -qE -- '--keep-split needs (--keep|a file for each snapshot)' "$work/record.err" ||
		error "$options: $(cat "$work/record.err")"
done

finish
