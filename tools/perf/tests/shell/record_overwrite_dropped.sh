#!/bin/bash
# perf record --switch-output /overwrite/: a snapshot that cannot be written is dropped, the next ones are saved
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120

# shellcheck source=lib/numbered.sh
. "$(dirname "$0")/lib/numbered.sh"

need_numbered

numbered_event overwrite
out=$work/out
mkdir "$out"

printed() {
	[ "$(grep -cE -- "$1" "$work/record.err")" = "$2" ]
}

# request N PATTERN: request a snapshot, and wait until a message about it is printed for the Nth time
request() {
	kill -USR2 "$recorder" || fatal "the recorder has exited"
	wait_until 20 printed "$2" "$1" || error "not $1 messages '$2'"
}

# start [record options]
start() {
	rm -rf "${out:?}"/*
	recorder_start -a -m 256 "${event[@]}" -o "$out/data" --switch-output "$@"
}

# end: stop the recorder, whose status tells that a snapshot is missing
end() {
	control stop || error "the recorder does not acknowledge 'stop'"
	recorder_end
	[ "$status" = 255 ] || error "exit status $status, not 255"
	find_snapshots "$out/data"
}

# holds FILE RANGES: check which calls a file holds
holds() {
	local ranges

	ranges=$(numbered_ranges "$1")
	[ "$ranges" = "$2" ] || error "${1##*/} holds '$ranges', not '$2'"
}

if mount -t tmpfs -o size=5m tmpfs "$out" 2> "$work/mount.err"; then
	mounted+=("$out")
	for how in --io=sync --io=uring -z; do
		subtest "a full disk, $how"
		start $how
		numbered_calls 10 1009
		request 1 'Snapshot [0-9]+ \(signal\)'
		head -c 20m /dev/zero > "$out/filler" 2> "$work/filler.err"
		numbered_calls 20 5003
		request 1 'snapshot \(signal\) is dropped'
		numbered_calls 30 5003
		request 2 'snapshot \(signal\) is dropped'
		printed "Cannot (write|create).*No space left on device" 0 && error "no reason is printed"
		rm "$out/filler"
		numbered_calls 40 1013
		request 2 'Snapshot [0-9]+ \(signal\)'
		numbered_calls 50 1019
		end
		[ "${#snapshots[@]}" = 3 ] || fatal "${#snapshots[@]} files, not 3"
		holds "${snapshots[0]}" 10:1-1009
		holds "${snapshots[1]}" 40:1-1013
		holds "${snapshots[2]}" 50:1-1019
		readable "${snapshots[1]}" || error "a file cannot be read"
		printed 'Dropped 2 snapshots' 1 || error "the summary does not count the dropped snapshots"
		written=$(sed -n 's/.*Captured and wrote.*(\([0-9]*\) samples).*/\1/p' "$work/record.err")
		[ "$written" = $((1009 + 1013 + 1019)) ] || error "the summary counts $written samples"
	done
	umount "$out"
	mounted=()
else
	subtest "a full disk"
	inconclusive "cannot mount a small tmpfs: $(cat "$work/mount.err")"
fi

subtest "the output directory is deleted and created again"
start
numbered_calls 10 1009
rm -r "$out"
request 1 "$out/data was deleted while perf wrote to it"
numbered_calls 20 1013
request 1 'snapshot \(signal\) is dropped'
mkdir "$out"
numbered_calls 30 1019
request 2 'Snapshot [0-9]+ \(signal\)'
wait_until 10 test -e "$out/data" || error "no next file is begun"
end
[ "${#snapshots[@]}" = 2 ] || fatal "${#snapshots[@]} files, not 2"
holds "${snapshots[0]}" 30:1-1019
readable "${snapshots[@]}" || error "a file cannot be read"

finish
