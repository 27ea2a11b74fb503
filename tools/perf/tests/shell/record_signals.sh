#!/bin/bash
# perf record: inherited and early signals neither kill nor hang the recorder
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 60

. "$(dirname "$0")/lib/recorder.sh"

need perf root sched:sched_switch

# signals: an awk program that prints the signals which its own process ignores and blocks; perf
# blocks SIGWINCH (0x8000000) in all its commands
signals='/^SigIgn/; /^SigBlk/ { sub(/8000000$/, "0000000"); print }'

subtest "SIGCHLD inherited as ignored: the recording ends with its command"
# shellcheck disable=SC2016 # perl's variables
ignoring=(perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV')
timeout 200 "${ignoring[@]}" "$PERF" record -e dummy -o "$work/data" -- sh -c 'exit 7' \
	2> "$work/record.err"
status=$?
[ "$status" = 7 ] || error "exit status $status, not 7, that of the command"

subtest "the command has the signals that perf was started with"
for start in env "${ignoring[*]@Q}" nohup; do
	# timeout changes what becomes of SIGHUP.
	eval "timeout 200 $start awk '$signals' /proc/self/status" > "$work/signals" 2> /dev/null
	eval "timeout 200 $start $PERF record -e dummy -o $work/data -- \
		awk '$signals' /proc/self/status" \
		> "$work/recorded" 2> "$work/record.err"
	cmp -s "$work/signals" "$work/recorded" ||
		error "${start%% *}: $(xargs < "$work/recorded"), not $(xargs < "$work/signals")"
done

subtest "SIGUSR2 before the recording begins: the snapshot is taken when it has begun"
"$PERF" record -a -e 'sched:*/overwrite/' -o "$work/data" -- sleep 60 \
	2> "$work/record.err" &
recorder=$!
# The command is forked before the events are opened. Do not pause: opening takes tens of ms.
deadline=$((SECONDS + 20 * patience))
child=
until [ -n "$child" ]; do
	# The status is 1: no newline.
	read -r child < "/proc/$recorder/task/$recorder/children"
	((SECONDS < deadline)) || fatal "no command is forked"
done
kill -USR2 "$recorder"
wait_until 20 grep -q 'Snapshot 1 (signal)' "$work/record.err" ||
	error "no snapshot is taken"
kill -INT "$recorder"
wait "$recorder"
status=$?
[ "$status" = 130 ] || error "exit status $status, not 130"
readable "$work/data" || error "the file cannot be read"

finish
