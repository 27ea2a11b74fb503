#!/bin/bash
# perf data convert --to-html: a browser draws the page
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: night

. "$(dirname "$0")/lib/harness.sh"

need perf root sched:sched_switch
browser=$(command -v chromium) || skip "chromium is not installed"

subtest "The page draws the trace"
"$PERF" record -a -o "$work/data" -e sched:sched_switch -e sched:sched_wakeup \
	-e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -- sleep 0.5 2> "$work/record.err" ||
	fatal "perf record fails"
"$PERF" data convert -i "$work/data" --to-html="$work/page.html" 2> "$work/convert.err" ||
	fatal "perf data convert fails: $(< "$work/convert.err")"
events=$(grep -c '^{"ph"' "$work/page.html")
# The script of the page ends by telling what it has read and drawn.
HOME=$work "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" \
	--virtual-time-budget=20000 --dump-dom "file://$work/page.html" \
	> "$work/dom" 2> "$work/browser.err" || error "the browser fails: $(tail -n 3 "$work/browser.err")"
shown=$(sed -n 's/.*<div id="details">[^:]*: \([0-9]*\) events in .*/\1/p' "$work/dom")
range=$(sed -n 's/.*<span id="range">\([^<]*\)<.*/\1/p' "$work/dom")
note "$shown events, from $range"
[ "${shown:-0}" = "$events" ] ||
	error "the page shows ${shown:-no} of $events events"
[ -n "$range" ] || error "nothing was drawn"
finish
