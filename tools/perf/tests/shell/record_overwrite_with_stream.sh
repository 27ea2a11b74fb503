#!/bin/bash
# perf record overwrite: streamed and overwritten events in one session
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 60

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_numbered
need_tracepoint syscalls:sys_enter_getppid

count=50021
nr=$("$work/$comm" --print-nr)

# Every call is recorded three times: streamed (all of them), and on entry and exit in rings that
# hold some thousands.
"$PERF" record -o "$work/data" -m 256 \
	-e raw_syscalls:sys_enter/no-overwrite/ --filter "id == $nr" \
	-e syscalls:sys_enter_getppid/overwrite/ \
	-e raw_syscalls:sys_exit/overwrite/ --filter "id == $nr" \
	-- "$work/$comm" --rate 30000 --count $count > "$work/issued" 2> "$work/record.err" ||
	fail "record ends with status $?"
cat "$work/record.err"

numbered_check "$work/data" -- --from-start --expect "$work/issued" || wrong "the streamed event is not complete"
threads=$(grep -c ^thread "$work/issued")
all=$((threads * count))

"$PERF" script -i "$work/data" -F tid,time,event --ns > "$work/events" 2> "$work/script.err" ||
	fail "perf script fails: $(cat "$work/script.err")"

# The last window: where the overwritten event begins for a thread, it follows every streamed one of
# the thread, up to the end. And perf script's own order is that of time.
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
		printf "streamed %d; overwritten: %d on entry, %d on exit; %d without their other half; %d back in time\n",
			entered, kept, exited, alone, back
		exit !(entered == all && kept > 1000 && exited > 1000 && kept < all && exited < all &&
		       !alone && !back)
	}' "$work/events" || wrong "not every streamed event and the last window of the others"

"$PERF" report -i "$work/data" --stdio > "$work/report.out" 2> "$work/report.err" || wrong "perf report fails"
if grep -iE 'out of order|unordered|timestamp|lost' "$work/report.err" "$work/script.err"; then
	wrong "perf report or script complains"
fi
readable "$work/data" || wrong "the file cannot be read"

finish
