#!/bin/bash
# perf record: tasks and binaries have names, in every file
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_perf

# names FILE: the names of the tasks that samples are of
names() {
	"$PERF" script -i "$1" -F comm 2> "$work/script.err" | awk '{ print $1 }' | sort -u
}

busy='while ((SECONDS < 4)); do :; done'
spin='i=0; while [ $i -lt 900000 ]; do i=$((i+1)); done'

echo "== build-ids of what ran, though it has ended: from a stream, and from an overwritten ring"
for event in cpu-clock:u cpu-clock/overwrite/u; do
	"$PERF" record -N -o "$work/data" -e $event -- sh -c "$spin" 2> "$work/record.err" ||
		wrong "$event: perf record fails"
	"$PERF" buildid-list -i "$work/data" > "$work/ids"
	for binary in "$(readlink -f "$(command -v sh)")" libc.so; do
		grep -q "$binary" "$work/ids" || wrong "$event: no build-id of $binary"
	done
done

echo "== the command has its name in the second file, and what it started, too"
"$PERF" record --switch-output=1s -o "$work/data" -e cpu-clock:u -- sh -c "bash -c '$busy'; true" \
	2> "$work/record.err" || wrong "perf record fails"
find_snapshots "$work/data"
((${#snapshots[@]} >= 3)) || wrong "only ${#snapshots[@]} files"
# Not in the last: the command may have ended while it was begun
for file in "${snapshots[@]:0:${#snapshots[@]}-1}"; do
	[ "$(names "$file" | grep -vc '^\(bash\|sh\|perf-exec\)$')" = 0 ] ||
		wrong "${file##*/} has samples of $(names "$file" | tr '\n' ' ')"
done

echo "== what is executed has its name, whatever comes first in the file: with a ring for each thread, too"
for option in -i --per-thread; do
	"$PERF" record -N -o "$work/data" $option -e cpu-clock:u -- sh -c "$spin" 2> "$work/record.err" ||
		wrong "$option: perf record fails"
	[ "$(names "$work/data" | grep -vc '^\(sh\|perf-exec\)$')" = 0 ] || wrong "$option: $(names "$work/data")"
	"$PERF" script -i "$work/data" -F comm,ip,dso > "$work/script" 2> "$work/script.err"
	"$PERF" evlist -v -i "$work/data" | grep -v 'sample_type: [A-Z|]*TIME' &&
		wrong "$option: without the time, its records cannot be put in order"
	grep -q "^ *sh .*$(readlink -f "$(command -v sh)")" "$work/script" || wrong "$option: no sample of sh"
done

echo "== a thread that has exited does not keep the recorder busy"
# A process of two tasks, one of which ends at once
python3 -c 'import threading, time
thread = threading.Thread(target=time.sleep, args=(1.5,))
thread.start()
time.sleep(6)' &
started+=($!)
pause 0.5
"$PERF" record -o "$work/data" -e cpu-clock:u -p $! -- sleep 4 2> "$work/record.err" &
recorder=$!
started+=("$recorder")
pause 3.5
# User and system time, in ticks of 10 ms
ticks=$(awk '{ print $14 + $15 }' "/proc/$recorder/stat")
echo "the recorder has used $ticks ticks"
((ticks < 100)) || wrong "the recorder is busy: $ticks ticks in 3.5 s"
wait "$recorder" || wrong "perf record fails"

finish
