#!/bin/bash
# perf record: output files with --switch-output, size limits, pipes and --tail-synthesize
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 180
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered
[ -n "$old_perf" ] || note "there is no older perf to read the files with"

numbered=$work/$comm
numbered_event overwrite
overwritten=("${event[@]}")
numbered_event no-overwrite
streamed=("${event[@]}")

# next TITLE: begin a subtest with an empty output directory; $out is a file in it
next() {
	subtest "$*"
	rm -rf "$work/out"
	mkdir "$work/out"
	out=$work/out/data
	numbered_pid=
}

# Start the numbered workload in the background; return when it handles SIGTERM, which calls_stop
# sends.
calls_start() {
	"$numbered" --idle --rate 20000 --duration 60 > "$work/issued" &
	numbered_pid=$!
	wait_until 20 calls_begun || fatal "the numbered workload does not start"
}

calls_begun() {
	grep -qs "^$comm\$" "/proc/$numbered_pid/comm" &&
		grep -qsE '^SigCgt:.*[4-7c-f][0-9a-f]{3}$' "/proc/$numbered_pid/status"
}

calls_stop() {
	kill -TERM "$numbered_pid"
	wait "$numbered_pid"
}

# files_are NUMBER: check that there are so many FILE.<timestamp>, all readable, and no other file
files_are() {
	local all=("$work"/out/*)

	find_snapshots "$out"
	[ "${#snapshots[@]}" = "$1" ] || error "${#snapshots[@]} files, not $1: ${snapshots[*]##*/}"
	[ "${#all[@]}" = "${#snapshots[@]}" ] || error "other files are left: ${all[*]##*/}"
	readable "${snapshots[@]}" || error "a file cannot be read"
}

# nr_files NUMBER: are there so many FILE.<timestamp>, or more?
nr_files() {
	find_snapshots "$out"
	((${#snapshots[@]} >= $1))
}

# snapshot_by_signal NUMBER-OF-FILES-AFTERWARDS
snapshot_by_signal() {
	kill -USR2 "$recorder" || fatal "the recorder has exited"
	wait_until 10 nr_files "$1" || error "no file within 10 s of SIGUSR2"
}

next "--switch-output=signal"
recorder_start -a -m 1024 "${overwritten[@]}" -o "$out" --switch-output=signal
calls_start
pause 0.1
snapshot_by_signal 1
pause 0.1
snapshot_by_signal 2
calls_stop
recorder_stop
files_are 3
all_there "${snapshots[@]}"

next "--switch-output=SIZE"
recorder_start -a -m 512 --write-buffer=1M "${streamed[@]}" -o "$out" --switch-output=1M
calls_start
wait_until 20 nr_files 3 || error "no third file in 20 s"
calls_stop
recorder_stop
nr_files 4 || error "${#snapshots[@]} files when stopped after the third"
files_are "${#snapshots[@]}"
# The size is checked after the rings are drained: their content and a header come on top, and what
# was queued while the previous file was completed.
most=$((1048576 * (3 + 2 * $(nproc --all))))
for ((i = 0; i < ${#snapshots[@]} - 1; i++)); do
	size=$(stat -c %s "${snapshots[i]}")
	((size >= 1000000 && size < most)) ||
		error "${snapshots[i]##*/} has $size bytes, not about 1M"
done
all_there "${snapshots[@]}"

next "--switch-output=SIZE, smaller than the names and maps of the existing tasks"
python3 -c 'import mmap, time
file = open("/proc/self/exe", "rb")
kept = [mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
        for i in range(2003)]
print(flush=True)
time.sleep(1000)' > "$work/mapped" &
mapped=$!
wait_until 60 test -s "$work/mapped" || fatal "the process with 2003 maps does not start"
perf_record -a -m 512 --no-buffering "${streamed[@]}" -o "$out" --switch-output=64K -- \
	"$numbered" --idle --threads 1 --rate 5000 --count 10007
find_snapshots "$out"
note "${#snapshots[@]} files"
((${#snapshots[@]} > 1)) || error "only one file"
for ((i = 0; i < ${#snapshots[@]} - 1; i++)); do
	read -r start size < <(od -An -tu8 -j 40 -N 16 "${snapshots[i]}")
	place=$("$PERF" script -f -i "${snapshots[i]}" --dump-unsorted-raw-trace 2> /dev/null |
		grep -aoE '0x[0-9a-f]+ \[0x8\]: PERF_RECORD_FINISHED_INIT' | cut -d ' ' -f 1)
	((size >= 2 * (place - start) && place > 200000)) ||
		error "${snapshots[i]##*/}: $size bytes, of which $((place - start)) are names and maps"
done
all_there "${snapshots[@]}"
kill "$mapped"

for how in overwritten streamed; do
	next "--switch-output=TIME, $how"
	declare -n events=$how
	recorder_start -a -m 2048 "${events[@]}" -o "$out" --switch-output=1s
	calls_start
	wait_until 20 nr_files 2 || error "no second file in 20 s"
	calls_stop
	recorder_stop
	nr_files 3 || error "${#snapshots[@]} files when stopped after the second"
	files_are "${#snapshots[@]}"
	all_there "${snapshots[@]}"
done

next "--switch-max-files"
recorder_start -a -m 1024 "${overwritten[@]}" -o "$out" --switch-output=signal --switch-max-files=2
calls_start
snapshot_by_signal 1
first=${snapshots[0]}
snapshot_by_signal 2
second=${snapshots[1]}
for _ in 1 2 3; do
	kill -USR2 "$recorder"
	pause 0.3
done
calls_stop
recorder_stop
files_are 2
if [ -e "$first" ] || [ -e "$second" ]; then
	error "the oldest files are not removed"
fi
numbered_check "${snapshots[@]}" -- --quiet --expect "$work/issued" ||
	error "not the newest files, or calls are missing or repeated"

next "--timestamp-filename"
perf_record -o "$out" --timestamp-filename "${overwritten[@]}" -- "$numbered" --count 1009
files_are 1
all_there "${snapshots[@]}"

next "--max-size"
"$PERF" record -o "$out" -m 64 --max-size=1M "${streamed[@]}" -- "$numbered" --idle --rate 20000 \
	--duration 30 > "$work/issued" 2> "$work/record.err"
size=$(stat -c %s "$out")
note "$size bytes"
# The limit is checked after a write: what the rings hold comes on top.
((size >= 900000 && size < 3000000)) || error "the file has $size bytes, not about 1M"
reports 'limit'
pgrep -f -- "^$numbered" > "$work/left" && error "the workload is left running: $(cat "$work/left")"
readable "$out" || error "the file cannot be read"
numbered_check "$out" -- --quiet --from-start || error "calls are missing or repeated"

for how in overwritten streamed; do
	next "-o -, $how"
	declare -n events=$how
	"$PERF" record -o - -m 1024 "${events[@]}" -- "$numbered" --idle --rate 20000 --count 5003 \
		--threads 1 \
		2> "$work/record.err" | "$PERF" script "${no_symbols[@]}" -i - -F trace \
		> "$work/trace" 2> "$work/script.err"
	status=("${PIPESTATUS[@]}")
	# The standard output of the workload is the pipe, too, but must not get between the
	# records.
	[ "${status[*]}" = "0 0" ] ||
		error "exit status of record and script: ${status[*]}: $(cat "$work/script.err")"
	echo "thread 1 tid 0 cpu 0 last 5003" > "$work/issued"
	"$BUILD/tests/numbered_check" --quiet --from-start --expect "$work/issued" \
		< "$work/trace" ||
		error "calls are missing or repeated"
	if [ -e "$out" ] || [ -e - ]; then
		error "-o - creates a file"
	fi
done

next "--tail-synthesize"
calls_start
recorder_start -a -m 1024 "${overwritten[@]}" -o "$out" --tail-synthesize
pause 0.2
recorder_stop
calls_stop
fields "$out" comm | sort | uniq -c > "$work/comms"
[ "$(awk '{ print $2 }' "$work/comms")" = "$comm" ] ||
	error "a task that is older than the recorder has another name: $(cat "$work/comms")"
"$PERF" script -i "$out" --dump-unsorted-raw-trace 2> /dev/null |
	grep -aoE 'PERF_RECORD_(SAMPLE|COMM)' | uniq -c > "$work/order"
[ "$(tail -n 1 "$work/order" | grep -c COMM)" = 1 ] ||
	error "the COMM records do not follow the samples"
readable "$out" || error "the file cannot be read"

next "SIGUSR2 without --switch-output"
# A ring holds less than half a second of these calls: a single snapshot at the end would lack some.
# If the recorder gets no CPU for that long, it reports that calls were overwritten, or a ring
# paused.
for _ in 1 2 3; do
	rm -f "$out"
	recorder_start -v -a -m 128 "${overwritten[@]}" -o "$out"
	calls_start
	for _ in 1 2 3 4 5 6 7 8 9 10 11; do
		pause 0.15
		kill -USR2 "$recorder" || fatal "the recorder has exited"
		signal_taken
	done
	calls_stop
	recorder_stop
	late=$(grep -oE '[1-9][0-9]* bytes overwritten before|paused for .* ms' \
		"$work/record.err") || break
	note "the recorder was late: $(xargs <<< "$late")"
done
[ "$(echo "$work"/out/*)" = "$out" ] || error "not one file: $(ls "$work/out")"
if [ -n "$late" ]; then
	inconclusive "the recorder got no CPU for longer than a ring lasts, in three runs"
else
	all_there "$out"
fi
nr=$(awk '/Snapshot [0-9]+/ { n++ } /Merged [0-9]+ snapshot requests/ { n += $5 - 1 }
	END { print n }' "$work/record.err")
((nr >= 12)) || error "messages about $nr snapshots, not 12: 11 signals and the end"
oldest_first "$out" || error "records are not written oldest first"
readable "$out" || error "the file cannot be read"

finish
