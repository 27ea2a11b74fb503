#!/bin/bash
# perf record --keep: the disk is full at the last snapshot: the newest records are saved, the others counted
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 180
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered
numbered_event
small=$work/small
mount_small "$small" 3m || skip "$result_skip"

# record CALLS [record options]: keep the calls, and end with a full disk
record() {
	calls=$1
	shift
	rm -f "$small"/*
	recorder_start -B -N -a -m 16M "${event[@]}" --keep=60s,128M --summary=json "$@"
	numbered_calls 1 $calls
	control stop || fatal "'stop' is not acknowledged: $answer"
	recorder_end 60
	note "$(grep '"type"' "$work/record.err")"
	((status == 254 || $(in_json end "['unwritten_records']") == 0)) ||
		error "exit status $status, not 254"
	file=$(find "$small" -name 'data*' -size +1k)
}

check() {
	local saved unwritten others

	readable "$file" || error "the file cannot be read"
	saved=$(samples "$file")
	unwritten=$(in_json end "['unwritten_records']")
	((saved >= calls)) && inconclusive "there was space for all calls" && return
	note "$saved samples in the file, $unwritten not"
	((saved == $(in_json end "['samples']"))) ||
		error "the summary has another number of samples"
	others=$(in_json end "['lost']")
	((others += $(in_json end "['dropped_samples']")))
	((saved + unwritten + others == calls)) || error "not $calls together"
	((others)) && inconclusive "a ring or the memory had no space for $others calls" && return
	[ "$(in_json snapshot "['kept']['limit']")" = space ] || error "the limit is not the space"
	awk -v lost="$unwritten" -v all=$calls -v said="$(in_json end "['data_loss_percent']")" \
		'BEGIN { exit !(said > 99 * lost / all && said < 101 * lost / all) }' ||
		error "the loss is said to be $(in_json end "['data_loss_percent']") percent"
	[[ $(numbered_ranges "$file") =~ ^1:[0-9]+-$calls$ ]] ||
		error "the file has the calls $(numbered_ranges "$file")"
}

subtest "one file"
record 500009 -o "$small/data"
check

subtest "the file of --switch-output, not compressed"
record 100003 -o "$small/data" --switch-output -z0
check

subtest "there is no space for any record"
rm -f "$small"/*
mount -o remount,size=1m "$small" || fatal "cannot change the size of the tmpfs"
record 50021 -o "$small/data" -z0
readable "$file" || error "the file cannot be read"
saved=$(samples "$file")
((saved == $(in_json end "['samples']"))) ||
	error "the summary says $(in_json end "['samples']"), not $saved"
((saved + $(in_json end "['unwritten_records']") == calls)) || error "not all are counted"

finish
