#!/bin/bash
# perf record: each file relates the clock of its events to the time of day
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs alone: see record_sideband_storm.sh.

. "$(dirname "$0")/lib/recorder.sh"

need perf root sched:sched_process_exec

event=(-e sched:sched_process_exec)

# tod FILE: print the time of day of the exec that it contains [s since 1970]
tod() {
	date +%s.%N -d "$(TZ=UTC fields "$1" tod,event --ns |
		sed -nE 's/^ *([0-9-]+ [0-9:.]+) +sched:sched_process_exec.*/\1 UTC/p')"
}

# in_order NUMBER...: return 0 if each number is larger than the one before
in_order() {
	printf '%s\n' "$@" | sort -cun
}

# The program starts between the two times, whichever clock its event has.
for how in '' '-k mono' '-k raw'; do
	subtest "time of day of an event, ${how:-perf clock}"
	before=$(date +%s.%N)
	# shellcheck disable=SC2086 # a list of words
	perf_record -q -B $how "${event[@]}" -o "$work/data" -- true
	after=$(date +%s.%N)
	in_order "$before" "$(tod "$work/data")" "$after" ||
		error "an event at $(tod "$work/data"), recorded between $before and $after"
done

subtest "in a time namespace, whose clocks differ from those of events"
# Before Linux 6.2, exec() does not enter it, and who has not entered it may not create threads.
namespace=(unshare -T --fork --monotonic 1000000 --boottime 1000000)
if "${namespace[@]}" sh -c '[ "$(readlink /proc/self/ns/time)" != "$0" ]' \
	"$(readlink /proc/self/ns/time)" 2> /dev/null; then
	for how in mono raw; do
		before=$(date +%s.%N)
		"${namespace[@]}" "$PERF" record -q -B -k $how "${event[@]}" -o "$work/data" \
			-- true 2> "$work/record.err" || error "perf record -k $how fails"
		in_order "$before" "$(tod "$work/data")" "$(date +%s.%N)" ||
			error "-k $how: an event at $(tod "$work/data"), recorded after $before"
	done

	# The event, and the copy after it, are on the same clock.
	"${namespace[@]}" "$PERF" record -a -e "${event[1]}/overwrite/" \
		--switch-output-event "${event[1]}" -o "$work/part" -- sleep 0.2 \
		2> "$work/record.err" || error "perf record fails"
	grep -qE 'Copied [0-9]{1,4}\.[0-9]+ ms after the event' "$work/record.err" ||
		error "$(grep Copied "$work/record.err")"
	rm -f "$work"/part*
else
	inconclusive "no time namespaces that a program enters"
fi

subtest "time of day of an event in a pipe"
before=$(date +%s.%N)
time=$("$PERF" record -q -B "${event[@]}" -o - -- true | tod -)
in_order "$before" "$time" "$(date +%s.%N)" || error "not between $before and now: $time"

subtest "beside a recorder with another clock"
recorder_start -a -B -e page-faults -c 1 -k raw -o "$work/other"
for i in 1 2 3; do
	perf_record -q -B "${event[@]}" -o "$work/data" -- true
done
recorder_stop
# A time of the wrong clock is out of order.
oldest_first "$work/other" || error "the other recorder has times of two clocks"

# reference FILE: print the time of day at which its clocks were read
reference() {
	"$PERF" report --header-only -i "$1" 2> /dev/null |
		sed -nE 's/^# reference time: .* = ([0-9.]+) \(TOD\).*/\1/p'
}

subtest "the clocks are read for each file"
recorder_start "${event[@]}" -B -o "$work/part" --switch-output=signal -p $$
for i in 1 2; do
	kill -USR2 "$recorder"
	wait_until 20 eval "find_snapshots '$work/part'; ((\${#snapshots[@]} == i))" ||
		fatal "file $i is not completed"
done
recorder_stop "$work/part"
times=()
for file in "${snapshots[@]}"; do
	times+=("$(reference "$file")")
done
((${#times[@]} == 3)) || error "${#times[@]} files, not 3"
in_order "${times[@]}" || error "the clocks were not read for each file: ${times[*]}"
"$PERF" report --header-only -i "${snapshots[0]}" 2> /dev/null | grep -q '^# clockid: perf clock' ||
	error "the header does not name the clock"

# span FILE: print the times of the first and the last sample in the header, and those of the
# records
span() {
	"$PERF" report --header-only -i "$1" 2> /dev/null |
		sed -nE 's/^# time of (first|last) sample : ([0-9.]+)$/\2/p'
	fields "$1" time | tr -d ' :' | sed -n '1p; $p'
}

for event in page-faults/overwrite/ page-faults; do
	subtest "times of the first and the last sample, without reading the file back: $event"
	recorder_start -e "$event" -c 1 -B -o "$work/span" --switch-output=signal -p $$
	for i in 1 2; do
		rm -f "$work/span".*
		kill -USR2 "$recorder"
		wait_until 20 eval "find_snapshots '$work/span'; ((\${#snapshots[@]} == 1))" ||
			fatal "the file is not completed"
		mapfile -t times < <(span "${snapshots[0]}")
		note "file $i: ${times[*]}"
		((${#times[@]} == 4)) || { inconclusive "no samples"; continue; }
		# A run of records that was appended during the switch may be outside.
		printf '%s\n' "${times[0]}" "${times[2]}" "${times[3]}" "${times[1]}" | sort -cn ||
			error "the header of file $i has a smaller span"
	done
	recorder_stop
	rm -f "$work/span"*
done

finish
