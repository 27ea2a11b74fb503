#!/bin/bash
# perf record: streamed and overwritten events in one recording
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered spoil_writes syscalls:sys_enter_getppid

count=50021
nr=$("$work/$comm" --print-nr)

subtest "streamed calls are complete, and overwritten ones follow them"

# Record each call three times: streamed, where none may be lost, and on entry and on exit in
# overwritten rings, which hold some thousands.
record_thrice() {
	perf_record -o "$work/data" -m 256 \
		-e raw_syscalls:sys_enter/no-overwrite/ --filter "id == $nr" \
		-e syscalls:sys_enter_getppid/overwrite/ \
		-e raw_syscalls:sys_exit/overwrite/ --filter "id == $nr" \
		-- "$work/$comm" --rate $((30000 / attempt)) --count $count
}
lossless record_thrice

all_there "$work/data"
threads=$(grep -c ^thread "$work/issued")
all=$((threads * count))

fields "$work/data" tid,time,event --ns > "$work/events" ||
	fatal "perf script fails: $(cat "$work/script.err")"

# From the first overwritten entry of a thread to the end, each streamed call of the thread is
# followed by an overwritten entry. perf script prints events in order of time.
awk -v all="$all" '
	{ time = $2; sub(":", "", time) }
	time + 0 < last { back++ }
	{ last = time + 0 }
	/raw_syscalls:sys_enter:/ {
		entered++
		if (seen[$1]) { if (open[$1]) alone++; open[$1] = 1 }
	}
	/syscalls:sys_enter_getppid:/ {
		kept++
		if (seen[$1] && !open[$1]) alone++
		seen[$1] = 1; open[$1] = 0
	}
	/raw_syscalls:sys_exit:/ { exited++ }
	END {
		for (t in open)
			alone += open[t]
		printf "# streamed %d; overwritten: %d on entry, %d on exit; " \
			"%d without their other half; %d back in time\n",
			entered, kept, exited, alone, back
		exit !(entered == all && kept > 1000 && exited > 1000 && kept < all &&
		       exited < all && !alone && !back)
	}' "$work/events" ||
		error "not every streamed call, or a gap in the last calls of the other events"

"$PERF" report -i "$work/data" --stdio > "$work/report.out" 2> "$work/report.err" ||
	error "perf report fails"
if grep -iE 'out of order|unordered|timestamp|lost' "$work/report.err" "$work/script.err"; then
	error "perf report or perf script prints a warning"
fi
readable "$work/data" || error "the file cannot be read"

# stalled [record options]: the first write stalls while a snapshot is written
# (helpers/spoil_writes.c). Meanwhile the workload makes more calls than a stream ring holds.
stalled() {
	rm -f "$work"/stalled* "$work/answers"
	wrapper=(env "LD_PRELOAD=$(realpath "$BUILD/tests/spoil_writes")"
		"SPOIL_WRITES=stall 1" "SPOIL_UNTIL=$work/answers")
	recorder_start -a -o "$work/stalled" -m 64 "$@" \
		-e raw_syscalls:sys_enter/no-overwrite/ --filter "id == $nr && comm == \"$comm\"" \
		-e syscalls:sys_enter_getppid/overwrite/ --filter "comm == \"$comm\""
	numbered_calls 5 503
	kill -USR2 "$recorder" || fatal "the recorder has exited"
	wait_until 10 waits_for_disk ||
		fatal "the main thread does not wait: $(cat "/proc/$recorder/task/$recorder/wchan")"
	"$work/$comm" --threads 1 --tag 6 --rate $((100000 / attempt ** 2)) --count 20011 \
		> "$work/issued" ||
		fatal "the numbered workload failed"
	touch "$work/answers"
	recorder_stop
}

# check: check the files of stalled()
check() {
	find_snapshots "$work/stalled"
	[ -e "$work/stalled" ] && snapshots=("$work/stalled")
	for file in "${snapshots[@]}"; do
		fields "$file" event,trace | grep raw_syscalls
	done > "$work/stalled.calls"
	"$BUILD/tests/numbered_check" --from-start --expect "$work/issued" \
		< "$work/stalled.calls" ||
		error "streamed calls are missing"
	readable "${snapshots[@]}" || error "a file cannot be read"
}

subtest "streams are drained while a snapshot waits for the disk"
lossless stalled
check

subtest "streams are drained while a file with a snapshot is completed"
lossless stalled --switch-output
check

finish
