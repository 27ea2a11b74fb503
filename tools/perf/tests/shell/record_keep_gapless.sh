#!/bin/bash
# perf record --keep: consecutive snapshots together hold each record once
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 180
# tags: parallel long

. "$(dirname "$0")/lib/numbered.sh"

seconds=${NIGHT:+6}
seconds=${seconds:-1.5}
between=$(awk "BEGIN { print $seconds / 12 }")	# snapshots

need_numbered
numbered_event

# keep signal|control SNAPSHOTS [record options]: take snapshots of the calls
keep() {
	local how=$1 left=$2

	shift 2
	rm -f "$work"/data*
	answers=()
	recorder_start -v -a "${event[@]}" -o "$work/data" "$@"
	numbered_start --rate $((100000 / attempt ** 2)) --duration "$seconds"
	while ((left--)); do
		pause "$between"
		case $how in
		signal) kill -USR2 "$recorder" ;;
		control) control snapshot && answers+=("$answer") ;;
		esac || fatal "the snapshot is not taken"
	done
	numbered_end
	recorder_stop "$work/data"
	[ -e "$work/data" ] && snapshots+=("$work/data")
}

# check [may-lose]: check the files
check() {
	if ! grep -q 'Lost 0 events' "$work/record.err"; then
		[ $# = 0 ] ||
			{ inconclusive "the main thread got no CPU in time: events were lost" && return; }
		error "events were lost"
	fi
	all_there "${snapshots[@]}"
	[ -n "${NIGHT-}" ] || snapshots=("${snapshots[-1]}")
	readable "${snapshots[@]}" || error "a file cannot be read"
}

subtest "ten snapshots by --control in files of their own"
lossless keep control 10 --keep=60s,128M --switch-output
[ "${#snapshots[@]}" = 11 ] || error "${#snapshots[@]} files, not 11"
tenth=${snapshots[9]}
check
[[ ${answers[9]} = *"$tenth"* ]] || error "an answer does not name the file: ${answers[9]}"
[ "$(grep -c 'nothing was dropped' "$work/record.err")" = 11 ] || error "records were dropped"

subtest "ten snapshots by signals in one file"
lossless keep signal 10 --keep=60s
[ "${#snapshots[@]}" = 1 ] || error "${#snapshots[@]} files, not 1"
check

subtest "without compression, one reader"
lossless keep signal 2 --keep=128M -z0 --no-threads --switch-output
check may-lose
"$PERF" report --header-only -i "${snapshots[-1]}" | grep -q '^# compressed' &&
	error "the file is compressed"

subtest "beside an overwritten event"
lossless keep signal 3 --keep=128M -e sched:sched_switch/overwrite/ --switch-output
check
fields "${snapshots[-1]}" event > "$work/script.out"
grep -q sched_switch "$work/script.out" ||
	error "no context switch was written"

subtest "--keep-overlap: the second file has the records of the first, too"
lossless keep control 2 --keep=60s --keep-overlap --switch-output
[ "${#snapshots[@]}" = 3 ] || fatal "${#snapshots[@]} files, not 3"
for file in "${snapshots[@]}"; do
	[[ $(numbered_ranges "$file") == *:1-* ]] || error "${file##*/} lacks the first calls"
done
all_there "${snapshots[2]}"

finish
