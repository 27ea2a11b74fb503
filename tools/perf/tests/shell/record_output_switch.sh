#!/bin/bash
# perf record --switch-output: no event is lost while a file is completed
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 240
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered spoil_writes

numbered_event
spoiled=(env LD_PRELOAD="$(realpath "$BUILD/tests/spoil_writes")" SPOIL_WRITES='stall 1'
	"SPOIL_UNTIL=$work/over")

# Calls are issued in bursts of half a megabyte. A ring holds three bursts, the write buffer holds
# all. Between two bursts is some time, in which the recorder empties the ring.
bursts=16
burst=5003
ring=512

nr_files() {
	find_snapshots "$work/out/data"
	((${#snapshots[@]} >= $1))
}

# stalled [record options]: switch files while a write stalls, and issue calls meanwhile
attempt=1
stalled() {
	local i

	rm -rf "$work/over" "$work/out"
	mkdir "$work/out"
	wrapper=("${spoiled[@]}")
	recorder_start --io=sync -a -m "$ring" "${event[@]}" -o "$work/out/data" \
		--switch-output=signal "$@"
	wrapper=()
	kill -USR2 "$recorder" || fatal "the recorder has exited"
	wait_until 20 waits_for_disk || fatal "the recorder does not wait for the write"
	for ((i = 1; i <= bursts; i++)); do
		"$work/$comm" --threads 1 --rate 0 --tag "$i" --count "$burst" ||
			fatal "the numbered workload failed"
		pause "0.$attempt"
	done > "$work/issued"
	nr_files 1 && fatal "a file has its name before it is complete"
}

# complete [record options]: likewise, until both files are complete
complete() {
	stalled "$@"
	touch "$work/over"
	wait_until 20 nr_files 1 || fatal "the file is not completed"
	recorder_stop
}

for how in '' -z; do
	subtest "the next file gets what was recorded meanwhile, ${how:-without compression}"
	lossless complete $how
	nr_files 2 || fatal "there is no second file"
	all_there "${snapshots[@]}"
	readable "${snapshots[@]}" || error "a file cannot be read"
done

for how in '' -z; do
	subtest "the next file cannot be created, ${how:-without compression}"
	stalled $how
	rm -r "$work/out"
	touch "$work/over"
	recorder_end
	[ "$status" = 255 ] || error "exit status $status, not 255"
	reports 'Cannot create the next output file'
	[ "$(grep -c 'was deleted while perf wrote to it' "$work/record.err")" = 1 ] ||
		error "not one message about the file that was deleted"
	unsaved=$(sed -n 's/.* \([0-9]*\) records could not be written.*/\1/p' "$work/record.err")
	((${unsaved:-0} > bursts * burst / 2)) ||
		error "${unsaved:-no} records are reported as not written"
done

finish
