#!/bin/bash
# perf record: streamed and overwritten events in one recording
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 60

# shellcheck source=lib/numbered.sh
. "$(dirname "$0")/lib/numbered.sh"

need_numbered
need_tracepoint syscalls:sys_enter_getppid

count=50021
nr=$("$work/$comm" --print-nr)

# Record each call three times: streamed, where none may be lost, and on entry and on exit in
# overwritten rings, which hold some thousands.
"$PERF" record -o "$work/data" -m 256 \
	-e raw_syscalls:sys_enter/no-overwrite/ --filter "id == $nr" \
	-e syscalls:sys_enter_getppid/overwrite/ \
	-e raw_syscalls:sys_exit/overwrite/ --filter "id == $nr" \
	-- "$work/$comm" --rate 30000 --count $count > "$work/issued" 2> "$work/record.err" ||
	fatal "perf record exits with status $?"

numbered_check "$work/data" -- --from-start --expect "$work/issued" ||
	error "calls are missing or repeated in the streamed event"
threads=$(grep -c ^thread "$work/issued")
all=$((threads * count))

"$PERF" script -i "$work/data" -F tid,time,event --ns > "$work/events" 2> "$work/script.err" ||
	fatal "perf script fails: $(cat "$work/script.err")"

# From the first overwritten entry of a thread to the end, each streamed call of the thread is
# followed by an overwritten entry. perf script prints events in order of time.
awk -v all="$all" '
	{ time = $2; sub(":", "", time) }
	time + 0 < last { back++ }
	{ last = time + 0 }
	/raw_syscalls:sys_enter:/ { entered++; if (seen[$1]) { if (open[$1]) alone++; open[$1] = 1 } }
	/syscalls:sys_enter_getppid:/ { kept++; if (seen[$1] && !open[$1]) alone++; seen[$1] = 1; open[$1] = 0 }
	/raw_syscalls:sys_exit:/ { exited++ }
	END {
		for (t in open)
			alone += open[t]
		printf "# streamed %d; overwritten: %d on entry, %d on exit; %d without their other half; %d back in time\n",
			entered, kept, exited, alone, back
		exit !(entered == all && kept > 1000 && exited > 1000 && kept < all && exited < all &&
		       !alone && !back)
	}' "$work/events" ||
		error "not every streamed call, or a gap in the last calls of the other events"

"$PERF" report -i "$work/data" --stdio > "$work/report.out" 2> "$work/report.err" ||
	error "perf report fails"
if grep -iE 'out of order|unordered|timestamp|lost' "$work/report.err" "$work/script.err"; then
	error "perf report or perf script prints a warning"
fi
readable "$work/data" || error "the file cannot be read"

finish
