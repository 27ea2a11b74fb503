#!/bin/bash
# perf record --keep: a slow disk delays the file, not what is kept; a full one costs no records
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered spoil_writes
numbered_event
out=$work/out
mkdir "$out"

# start [record options]
start() {
	rm -rf "${out:?}"/*
	recorder_start -a "${event[@]}" -o "$out/data" --keep=60s,64M --switch-output "$@"
}

# calls TAG COUNT: a ring holds 40 ms of these calls, and more in a later attempt of lossless
calls() {
	numbered_calls "$@" --rate $((100000 / attempt ** 2))
}

slow_disk() {
	rm -f "$work/answers"
	wrapper=(env "LD_PRELOAD=$(realpath "$BUILD/tests/spoil_writes")"
		"SPOIL_WRITES=stall 1" "SPOIL_UNTIL=$work/answers")
	start
	wrapper=()
	calls 10 5003
	kill -USR2 "$recorder"
	wait_until 10 waits_for_disk ||
		fatal "the main thread does not wait: $(cat "/proc/$recorder/task/$recorder/wchan")"
	# More than all rings hold
	calls 20 50021
	kill -USR2 "$recorder"
	calls 30 1009
	touch "$work/answers"
	wait_until 20 printed 'Snapshot 2 \(signal\)' 1 ||
		error "the second snapshot is not written"
	recorder_stop "$out/data"
}

subtest "the disk does not answer while more is kept"
lossless slow_disk
reports 'Lost 0 events'
holds "${snapshots[0]}" 10:1-5003
holds "${snapshots[1]}" "20:1-50021 30:1-1009"
readable "${snapshots[@]}" || error "a file cannot be read"

full_disk() {
	start -z0
	calls 10 1009
	request 1 'Snapshot [0-9]+ \(signal\)'
	head -c 20m /dev/zero > "$out/filler" 2> "$work/filler.err"
	calls 20 20011
	request 1 'snapshot \(signal\) is dropped'
	rm "$out/filler"
	calls 40 1013
	request 2 'Snapshot [0-9]+ \(signal\)'
	control stop || error "the recorder does not acknowledge 'stop'"
	recorder_end
}

subtest "a full disk"
if mount_small "$out" 6m; then
	lossless full_disk
	[ "$status" = 254 ] || error "exit status $status, not 254"
	find_snapshots "$out/data"
	holds "${snapshots[0]}" 10:1-1009
	holds "${snapshots[1]}" "20:1-20011 40:1-1013"
	readable "${snapshots[1]}" || error "a file cannot be read"
	written=$(sed -n 's/.*Captured and wrote.*(\([0-9]*\) samples).*/\1/p' "$work/record.err")
	[ "$written" = $((1009 + 20011 + 1013)) ] || error "the summary counts $written samples"
fi

failed_write() {
	rm -rf "${out:?}"/*
	wrapper=(env "LD_PRELOAD=$(realpath "$BUILD/tests/spoil_writes")"
		"SPOIL_WRITES=once 3 EIO")
	recorder_start -a "${event[@]}" -o "$out/data" --keep=64M -z0
	wrapper=()
	calls 10 20011
	control snapshot && error "the snapshot is acknowledged"
	calls 20 1009
	control snapshot || error "the next snapshot is not acknowledged"
	calls 30 1013
	control stop
	recorder_end
}

subtest "the records of a failed write are in the next snapshot in the same file"
umount "$out" 2> "$work/umount.err" && mounted=()
lossless failed_write
[ "$status" = 255 ] || error "exit status $status, not 255"
reports 'Input/output error'
holds "$out/data" "10:1-20011 20:1-1009 30:1-1013"
readable "$out/data" || error "the file cannot be read"

finish
