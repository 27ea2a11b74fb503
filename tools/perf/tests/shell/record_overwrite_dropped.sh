#!/bin/bash
# perf record /overwrite/: a snapshot that cannot be written is dropped, the next ones are saved
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered

numbered_event overwrite
out=$work/out
mkdir "$out"

# start [record options]
start() {
	rm -rf "${out:?}"/*
	recorder_start -a -m 256 "${event[@]}" -o "$out/data" "$@"
}

# end STATUS: stop the recorder, whose status tells why a snapshot is missing
end() {
	control stop || error "the recorder does not acknowledge 'stop'"
	recorder_end
	[ "$status" = "$1" ] || error "exit status $status, not $1"
	find_snapshots "$out/data"
}

# sleeps_of PID: how often the threads of a process have slept. The idle workload sleeps before each
# call but the first.
sleeps_of() {
	awk '/^voluntary_ctxt_switches/ { nr += $2 } END { print nr }' "/proc/$1/task/"*/status
}

has_slept() {
	[ "$(sleeps_of "$1")" -ge "$2" ]
}

if mount_small "$out" 16m; then
	for how in --io=sync --io=uring -z; do
		subtest "a full disk, a file for each snapshot, $how"
		start --switch-output $how
		numbered_calls 10 1009
		request 1 'Snapshot [0-9]+ \(signal\)'
		wait_until 20 printed "Wrote $out/data" 1 || error "the file is not completed"
		head -c 20m /dev/zero > "$out/filler" 2> "$work/filler.err"
		numbered_calls 20 5003
		request 1 'snapshot \(signal\) is dropped'
		numbered_calls 30 5003
		request 2 'snapshot \(signal\) is dropped'
		printed "Cannot (write|create).*No space left on device" 0 &&
			error "no reason is printed"
		rm "$out/filler"
		numbered_calls 40 1013
		request 2 'Snapshot [0-9]+ \(signal\)'
		numbered_calls 50 1019
		end 254
		[ "${#snapshots[@]}" = 3 ] || fatal "${#snapshots[@]} files, not 3"
		holds "${snapshots[0]}" 10:1-1009
		holds "${snapshots[1]}" 40:1-1013
		holds "${snapshots[2]}" 50:1-1019
		readable "${snapshots[1]}" || error "a file cannot be read"
		printed 'Dropped 2 snapshots' 1 ||
			error "the summary does not count the dropped snapshots"
		written=$(sed -n 's/.*Captured and wrote.*(\([0-9]*\) samples).*/\1/p' \
			"$work/record.err")
		[ "$written" = $((1009 + 1013 + 1019)) ] ||
			error "the summary counts $written samples"
	done
	for how in --io=sync --io=uring --aio -z; do
		subtest "a full disk, all snapshots in one file, $how"
		start $how
		numbered_calls 10 1009
		request 1 'Snapshot [0-9]+ \(signal\)'
		size=$(stat -c %s "$out/data")
		head -c 20m /dev/zero > "$out/filler" 2> "$work/filler.err"
		# This task is named by a record that is lost with the second snapshot. The file has
		# calls that the task makes later.
		"$work/$comm" --threads 1 --tag 15 --idle --rate 100 --duration 60 \
			> "$work/issued.15" &
		named=$!
		numbered_calls 20 5003
		request 1 'snapshot \(signal\) is dropped'
		[ "$(stat -c %s "$out/data")" = "$size" ] ||
			error "the file has not the size of its whole snapshots"
		numbered_calls 30 5003
		request 2 'snapshot \(signal\) is dropped'
		printed "Cannot write.*No space left on device" 2 || error "no reason is printed"
		rm "$out/filler"
		sleeps=$(sleeps_of "$named")
		wait_until 20 has_slept "$named" $((sleeps + 2)) ||
			error "the named task makes no calls"
		numbered_calls 40 1013
		request 2 'Snapshot [0-9]+ \(signal\)'
		kill "$named"
		wait "$named"
		numbered_calls 50 1019
		end 254
		[ "${#snapshots[@]}" = 0 ] || error "another file was written"
		ranges=$(numbered_ranges "$out/data")
		[[ $ranges =~ ^"10:1-1009 15:"[0-9]+-[0-9]+" 40:1-1013 50:1-1019"$ ]] ||
			error "the file holds '$ranges'"
		readable "$out/data" || error "the file cannot be read"
		names=$(fields "$out/data" comm,event |
			awk '$NF != "snapshot:" { print $1 }' | sort -u | xargs)
		[ "$names" = "$comm" ] || error "samples have the names $names"
		"$PERF" report -i "$out/data" --stdio 2>&1 > "$work/report.out" |
			grep -i 'out of order' &&
			error "records of earlier times follow later ones"
		printed 'Dropped 2 snapshots' 1 ||
			error "the summary does not count the dropped snapshots"
	done

	subtest "a disk that is still full at the end: the file has the whole snapshots"
	start
	numbered_calls 10 1009
	request 1 'Snapshot [0-9]+ \(signal\)'
	head -c 20m /dev/zero > "$out/filler" 2> "$work/filler.err"
	numbered_calls 20 5003
	request 1 'snapshot \(signal\) is dropped'
	end 254
	readable "$out/data" || error "the file cannot be read"
	"$PERF" report -i "$out/data" --header-only | grep -q 'hostname' ||
		error "the header is not complete"
	numbered_ranges "$out/data" | grep -q '^10:1-1009' || error "the whole snapshot is missing"

	umount "$out"
	mounted=()
fi

subtest "the output directory is deleted and created again"
start --switch-output
numbered_calls 10 1009
rm -r "$out"
request 1 "$out/data was deleted while perf wrote to it"
numbered_calls 20 1013
request 1 'snapshot \(signal\) is dropped'
mkdir "$out"
numbered_calls 30 1019
request 2 'Snapshot [0-9]+ \(signal\)'
wait_until 10 test -e "$out/data" || error "no next file is begun"
end 255
[ "${#snapshots[@]}" = 2 ] || fatal "${#snapshots[@]} files, not 2"
holds "${snapshots[0]}" 30:1-1019
readable "${snapshots[@]}" || error "a file cannot be read"

finish
