#!/bin/bash
# perf record AUX areas: full traces and snapshots of Intel PT, compared branch by branch
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 1800
# tags: parallel long
# needs: kernel
#
# The traced program executes the same instructions in each run, and none while a snapshot is taken:
# all snapshots together must contain the same branches as the full trace.

. "$(dirname "$(realpath "$0")")/../guest.sh"

if [ "${1-}" != --inside ]; then
	need_guest
	export VM_TIMEOUT=${VM_TIMEOUT:-1750}
	boot_guest "$test_file" --inside "$@"
fi

. "$TOP/tools/perf/tests/shell/lib/recorder.sh"

[ -d /sys/bus/event_source/devices/intel_pt ] || skip_all "no intel_pt in this kernel"
[ -x "$BUILD/tests/branches" ] || skip_all "$BUILD/tests/branches is not built (make test-programs)"
branches=$BUILD/tests/branches

trap 'print_check_output; cleanup' EXIT

# --- the traced program ----------------------------------------------------------------------

# Open the input and the output of the program.
work_start() {
	rm -f "$work/in" "$work/out"
	mkfifo "$work/in" "$work/out"
	exec {in}<> "$work/in" {out}<> "$work/out"
}

# serve REQUESTS: return when they are served and the program waits for input again
serve() {
	local line

	echo "$1" >&"$in"
	read -rt 100 -u "$out" line && [[ $line == "served $1,"* ]] || return
	echo "$line" >> "$work/answers"
	wait_until 60 waits_for_input
}

# Find the process of the program; set $program_id.
program_started() {
	program_id=$(pgrep -x branches)
}

# Does only the main thread of the program exist, and wait for input? Starts no process, because
# that takes long in the emulated guest.
waits_for_input() {
	local threads=("/proc/$program_id/task/"*) nr rest

	[ ${#threads[@]} = 1 ] && read -r nr rest < "/proc/$program_id/syscall" && [ "$nr" = 0 ]
}

work_end() {
	exec {in}>&- {out}>&-
}

# --- the trace -------------------------------------------------------------------------------

functions='^(walk|add|mix|parse|serve|serve_all|checkpoint)\+'

# flow_by_thread FILE: print the branches within the program's functions, one a line: thread, source
# and target; write the errors of the decoder to $work/errors
flow_by_thread() {
	perf_script "${decoder:-$PERF}" "$1" --itrace=be -F tid,ip,sym,symoff,dso,addr \
		> "$work/script" 2> "$work/script.err" || {
		cat "$work/script.err"
		return 1
	}
	grep -h 'instruction trace error' "$work/script" "$work/script.err" > "$work/errors"
	awk -v functions="$functions" '{
		if (split($0, half, " => ") != 2 ||
		    half[1] !~ /\/branches\)/ || half[2] !~ /\/branches\)/)
			next
		split(half[1], from); split(half[2], to)
		if (from[3] ~ functions)
			print from[1], from[3], to[2]
	}' "$work/script"
}

flow() {
	flow_by_thread "$1" > "$work/by_thread" && cut -d ' ' -f 2- "$work/by_thread"
}

# no_errors FLOW: return 0 if FLOW is not empty and the decoder reported no error
no_errors() {
	if [ -s "$work/errors" ]; then
		sort "$work/errors" | cut -c1-60 | uniq -c | head -n 5
		return 1
	fi
	[ -s "$1" ]
}

# part_flow FILE: write the flow of a snapshot to $work/part.flow
part_flow() {
	flow "$1" > "$work/part.flow" && no_errors "$work/part.flow"
}

# section FLOW N: print the branches for line N of the input, up to its checkpoint
section() {
	awk -v n="$2" 'BEGIN { at = 1 } at == n { print } $1 ~ /^checkpoint\+/ { at++ }' "$1"
}

# served FLOW: print for each thread a checksum of the branches below serve(). Its caller is left
# out, because the compiler may have inlined serve_all() into main().
served() {
	rm -f "$work"/thread.*
	grep -vE '\b(main|serve_all|checkpoint)\+' "$1" |
		awk -v file="$work/thread." 'NF < 3 { $0 = "0 " $0 } { print $2, $3 > (file $1) }'
	wc -l "$work"/thread.* >&2
	md5sum "$work"/thread.* | cut -d ' ' -f 1 | sort
}

calls() {
	grep -c " $1+0x0\$" "$2"
}

# --- checks ----------------------------------------------------------------------------------

sizes=(20 35 50)

program=("$branches")
cpus=1

# record_work NAME [options]: start a recorder with a control fifo that traces $program on $cpus
record_work() {
	local name=$1

	shift
	work_start
	: > "$work/answers"
	wrapper=(taskset -c "$cpus" sh -c "exec \"\$@\" < $work/in" sh)
	recorder_out=$work/out
	[[ $* = *intel_pt* ]] || set -- -e intel_pt//u "$@"
	recorder_launch -o "$work/$name" "$@" -- "${program[@]}"
	wrapper=()
	recorder_out=$work/record.out
	control ping || fatal "no answer on the control fifo: record $*"
	wait_until 60 program_started && wait_until 60 waits_for_input ||
		fatal "the program does not start"
}

record_end() {
	work_end
	kill -TERM "$program_id"
	recorder_end 300
}

full_trace() {
	local n

	record_work full -m ,4M
	for n in "${sizes[@]}"; do
		serve "$n" || return
	done
	record_end
	cp "$work/answers" "$work/full.answers"
	flow "$work/full" > "$work/full.flow"
	wc -l "$work/full.flow"
	no_errors "$work/full.flow" && [ "$(calls parse "$work/full.flow")" = 105 ] &&
		[ "$(grep -c '^checkpoint+' "$work/full.flow")" = 3 ]
}

same_output() {
	printf '%s\n' "${sizes[@]}" | "$branches" > "$work/untraced" &&
		diff "$work/untraced" "$work/full.answers"
}

same_flow_by_debian() {
	[ -x /usr/bin/perf ] || return 0
	/usr/bin/perf --version
	decoder=/usr/bin/perf flow "$work/$1" > "$work/debian.flow" &&
		no_errors "$work/debian.flow" && cmp "$work/debian.flow" "$work/$1.flow"
}

# Three snapshots: each contains its section of the full trace, and together they are complete.
consecutive() {
	local n

	record_work consecutive -S --switch-output "$@"
	for n in "${sizes[@]}"; do
		serve "$n" && control snapshot || return
	done
	record_end
	find_snapshots "$work/consecutive"
	echo "${#snapshots[@]} files"
	for n in 1 2 3; do
		part_flow "${snapshots[n - 1]}" || return
		section "$work/full.flow" $n > "$work/section"
		wc -l < "$work/part.flow"
		cmp "$work/section" "$work/part.flow" || return
	done
	rm "${snapshots[@]}"
	! grep 'were overwritten' "$work/record.err"
}

# find_snapshots NAME: set $snapshots. Remove the files before NAME is recorded again.
find_snapshots() {
	snapshots=("$1".2*)
}

snapshots_by_signal() {
	[ "$(grep -c 'Snapshot.*signal' "$work/record.err")" = "$1" ]
}

# Snapshots by signal into one file
by_signal() {
	local n count=0

	record_work signal -S -m ,1M
	for n in "${sizes[@]}"; do
		serve "$n" || return
		kill -USR2 "$recorder"
		count=$((count + 1))
		wait_until 100 snapshots_by_signal "$count" || return
	done
	record_end
	flow "$work/signal" > "$work/signal.flow"
	no_errors "$work/signal.flow" && cmp "$work/signal.flow" "$work/full.flow"
}

snapshot_is_dropped() {
	grep -q 'snapshot (signal) is dropped' "$work/record.err"
}

# index_points_to_traces FILE [NUMBER]: does each entry of the index of AUX traces point to another
# trace, and are there NUMBER? perf script ignores those that point to other records.
index_points_to_traces() {
	python3 - "$1" "${2:-1}" <<- 'READ'
		import perf_data, struct, sys
		HEADER_AUXTRACE, PERF_RECORD_AUXTRACE = 18, 71
		data = perf_data.load(sys.argv[1])
		index, _ = perf_data.feature(data, HEADER_AUXTRACE)
		nr, = struct.unpack_from('<Q', data, index)
		traces = [struct.unpack_from('<Q', data, index + 8 + 16 * i)[0] for i in range(nr)]
		types = [struct.unpack_from('<I', data, pos)[0] for pos in traces]
		print(f'traces at {traces} have the types {types}')
		sys.exit(nr < int(sys.argv[2]) or len(set(traces)) < nr or
		         set(types) != {PERF_RECORD_AUXTRACE})
	READ
}

# A snapshot that does not fit on the disk is cut off the file, and the file's index forgets it. The
# trace of 500 calls has more than a page: the file's last page has room for less even on a full
# disk.
dropped() {
	local small=$work/small

	mkdir "$small" && mount -t tmpfs -o size=4m tmpfs "$small" || return
	mounted+=("$small")
	record_work small/dropped -S -m ,1M
	serve "${sizes[0]}" && control snapshot || return
	head -c 8M /dev/zero > "$small/filler"
	serve 500 && kill -USR2 "$recorder" && wait_until 60 snapshot_is_dropped || return
	rm "$small/filler"
	serve "${sizes[2]}" && control snapshot || return
	record_end
	[ "$status" = 254 ] && index_points_to_traces "$small/dropped" 2 || return
	flow "$small/dropped" > "$work/dropped.flow" && no_errors "$work/dropped.flow" || return
	{
		section "$work/full.flow" 1
		section "$work/full.flow" 3
	} | cmp - "$work/dropped.flow"
}

# wrapped PAGES: each snapshot contains the end of its section, and reports the rest as overwritten.
# A call takes 15 bytes of trace, and more if it is interrupted.
wrapped() {
	local n found expected sizes=($((400 * $1)) $((500 * $1)))

	record_work twice -m ,4M
	serve "${sizes[0]}" && serve "${sizes[1]}" || return
	record_end
	flow "$work/twice" > "$work/twice.flow" && no_errors "$work/twice.flow" || return

	record_work wrapped -S -m ",$1" --switch-output
	for n in "${sizes[@]}"; do
		serve "$n" && control snapshot || return
	done
	record_end
	grep 'Snapshot' "$work/record.err"
	[ "$(grep -c 'AUX area.* MB before them were overwritten' "$work/record.err")" = 2 ] ||
		return
	find_snapshots "$work/wrapped"
	for n in 1 2; do
		[ "$(piece_bytes "${snapshots[n - 1]}")" = $(($1 * 4096)) ] || return
		part_flow "${snapshots[n - 1]}" || return
		section "$work/twice.flow" $n > "$work/section"
		found=$(wc -l < "$work/part.flow") expected=$(wc -l < "$work/section")
		echo "$found of $expected"
		((found > 1000 && found < expected)) || return
		tail -n "$found" "$work/section" | cmp - "$work/part.flow" || return
	done
	rm "${snapshots[@]}"
}

# A size that the driver does not support is rounded up.
rounded_up() {
	echo 0 > /sys/module/soft_pt/parameters/any_size
	record_work rounded -S -m ,3
	serve 1200 && control snapshot || return
	record_end
	echo 1 > /sys/module/soft_pt/parameters/any_size
	grep 'Rounded AUX areas up to 16 kB' "$work/record.err" &&
		[ "$(piece_bytes "$work/rounded")" = 16384 ]
}

# drained PAGES: drain an area that wraps many times. Lost data must be reported.
drained() {
	local i

	record_work twenty -m ,4M
	for i in {1..20}; do
		serve 110 || return
	done
	record_end
	flow "$work/twenty" > "$work/twenty.flow" && no_errors "$work/twenty.flow" || return

	record_work drained -m ",$1"
	for i in {1..20}; do
		serve 110 || return
	done
	record_end
	grep -E 'AUX|Lost' "$work/record.err"
	echo "$(piece_bytes "$work/drained") bytes through $(($1 * 4096))"
	(($(piece_bytes "$work/drained") > 3 * 4096 * $1)) || return
	flow "$work/drained" > "$work/drained.flow" || return
	grep -q 'AUX data was lost' "$work/record.err" ||
		{ no_errors "$work/drained.flow" && cmp "$work/twenty.flow" "$work/drained.flow"; }
}

# piece_bytes FILE: print the sum of the sizes of all AUXTRACE records
piece_bytes() {
	perf_script "$PERF" "$1" -D 2> "$work/script.err" |
		sed -n 's/.*PERF_RECORD_AUXTRACE size: \(0x[0-9a-f]*\) .*/\1/p' |
		{ sum=0; while read -r size; do sum=$((sum + size)); done; echo $sum; }
}

# Without aux_written, util/intel-pt.c finds out whether the area wrapped by comparing the data
# before the old head with what was there before, in two ways: for areas of up to 64 kB and for
# larger ones. When the area has wrapped, all of it must be copied; the small amount that follows
# must not cause another full copy.
uncounted() {
	local kb n bytes found

	echo 0 > /sys/module/soft_pt/parameters/counts
	for kb in 64 100 128; do
		record_work counted -m ,4M
		for n in $((kb * 80)) 30 20; do
			serve "$n" || return
		done
		record_end
		flow "$work/counted" > "$work/counted.flow" || return
		no_errors "$work/counted.flow" || return

		record_work "uncounted$kb" -S -m ",${kb}K" --switch-output
		for n in $((kb * 80)) 30 20; do
			serve "$n" && control snapshot || return
		done
		record_end
		grep Snapshot "$work/record.err"
		! grep 'were overwritten' "$work/record.err" || return
		find_snapshots "$work/uncounted$kb"
		for n in 1 2 3; do
			bytes=$(piece_bytes "${snapshots[n - 1]}")
			part_flow "${snapshots[n - 1]}" || return
			section "$work/counted.flow" $n > "$work/section"
			found=$(wc -l < "$work/part.flow")
			echo "$kb kB, snapshot $n: $bytes bytes, $found branches"
			if [ $n = 1 ]; then
				((bytes == kb * 1024)) || return
				tail -n "$found" "$work/section" > "$work/newest"
				cmp "$work/newest" "$work/part.flow" || return
			else
				((bytes < kb * 512)) || return
				cmp "$work/section" "$work/part.flow" || return
			fi
		done
	done
	echo 1 > /sys/module/soft_pt/parameters/counts
}

limited() {
	record_work limited -S8192 -m ,64K
	serve 500 && control snapshot || return
	record_end
	grep 'Snapshot' "$work/record.err"
	perf_script "$PERF" "$work/limited" -D 2> "$work/script.err" |
		grep 'PERF_RECORD_AUXTRACE size' > "$work/pieces"
	cat "$work/pieces"
	! grep -v 'size: 0x2000 ' "$work/pieces" && grep -q 'were overwritten' "$work/record.err" &&
		flow "$work/limited" > "$work/limited.flow" && no_errors "$work/limited.flow"
}

on_exit() {
	record_work exit -Se -m ,1M
	serve 35 || return
	record_end
	grep -q 'Snapshot 1 (exit)' "$work/record.err" && flow "$work/exit" > "$work/exit.flow" &&
		no_errors "$work/exit.flow" && [ "$(calls parse "$work/exit.flow")" = 35 ]
}

per_thread() {
	record_work thread -Se -m ,1M --per-thread
	serve 35 || return
	record_end
	flow "$work/thread" > "$work/thread.flow" && no_errors "$work/thread.flow" &&
		[ "$(calls parse "$work/thread.flow")" = 35 ]
}

# attach [options]: record a running process
attach() {
	work_start
	: > "$work/answers"
	"$branches" < "$work/in" > "$work/out" &
	program_id=$!
	serve 20 || return
	recorder_launch -e intel_pt//u -o "$work/attach" -p $! "$@"
	control ping || return
	serve 35 && control snapshot && control stop || return
	recorder_end
	kill -TERM "$program_id"
	work_end
	flow "$work/attach" > "$work/attach.flow" && no_errors "$work/attach.flow" &&
		[ "$(calls parse "$work/attach.flow")" = 35 ]
}

threads() {
	echo 30 | "$PERF" record -e intel_pt//u -m ,4M -o "$work/threads" -- "$branches" 3 \
		2> "$work/record.err" > "$work/answer" || return
	cat "$work/answer"
	flow "$work/threads" > "$work/threads.flow" && no_errors "$work/threads.flow" &&
		[ "$(calls parse "$work/threads.flow")" = 90 ]
}

# files_of_threads [options]: each file contains what all threads executed since the previous one,
# on any CPU
files_of_threads() {
	local n program=("$branches" 3) cpus=0,1

	record_work parallel --switch-output "$@"
	for n in "${sizes[@]}"; do
		serve "$n" && control snapshot || return
	done
	record_end
	find_snapshots "$work/parallel"
	for n in 1 2 3; do
		flow_by_thread "${snapshots[n - 1]}" > "$work/part.flow" || return
		no_errors "$work/part.flow" || return
		section "$work/full.flow" $n > "$work/section"
		served "$work/section" > "$work/one"
		cat "$work/one" "$work/one" "$work/one" > "$work/three"
		served "$work/part.flow" | cmp - "$work/three" || return
		index_points_to_traces "${snapshots[n - 1]}" || return
	done
	rm "${snapshots[@]}"
}

has_trace() {
	(($(stat -c %s "$1") > $2))
}

# A full trace that does not fit on the disk ends with a whole piece, and so does the index.
full_disk() {
	local small=$work/tiny

	mkdir -p "$small" && mount -t tmpfs -o size=4m tmpfs "$small" || return
	mounted+=("$small")
	record_work tiny/full -m ,8K "$@"
	serve 1500 && wait_until 60 has_trace "$small/full" 16384 || return
	head -c 8M /dev/zero > "$small/filler"
	echo 5000 >&"$in"
	wait_until 60 gone "$recorder" || return
	work_end
	recorder_end 300
	cat "$work/record.err"
	rm "$small/filler"
	[ "$status" = 254 ] && index_points_to_traces "$small/full" || return
	flow "$small/full" > "$work/tiny.flow" && no_errors "$work/tiny.flow" &&
		wc -l < "$work/tiny.flow"
}

is_trace() {
	ls -l "$1"
	perf_script "$PERF" "$1" -D 2> "$work/script.err" | grep -m 1 'PERF_RECORD_AUXTRACE size'
}

# sum PATTERN: print the sum of the sizes in matching lines of $work/dump
sum() {
	sed -n "s/.*$1 .*size: \(0x[0-9a-f]*\) .*/\1/p" "$work/dump" |
		{ sum=0; while read -r size; do sum=$((sum + size)); done; echo $sum; }
}

# is_whole FILE: the file contains all bytes that the kernel reported, and can be decoded. AUXTRACE
# records are padded to 8 bytes. Decode it in the guest, whose vdso the recorder calls.
is_whole() {
	local written pieces

	perf_script "$PERF" "$1" -D > "$work/dump" 2> "$work/script.err" || return
	written=$(sum 'PERF_RECORD_AUX offset:') pieces=$(sum PERF_RECORD_AUXTRACE)
	echo "the kernel wrote $written bytes, AUXTRACE records have $pieces"
	((written > 0 && pieces >= written)) &&
		((pieces < written + 8 * $(grep -c PERF_RECORD_AUXTRACE "$work/dump"))) &&
		"$PERF" script -f -i "$1" --itrace=i1000ie -F ip \
			> "$work/script" 2> "$work/script.err" &&
		! grep -h 'instruction trace error' "$work/script" "$work/script.err"
}

# A recorder that traces itself also traces how it writes the trace. The amount must decrease until
# the recorder is idle.
recorder_itself() {
	wrapper=(sh -c 'exec "$@" -p $$' sh)
	recorder_launch -B -e intel_pt//u -m ,1M -o "$work/itself" "$@"
	wrapper=()
	wait_until 150 control ping && control ping && wait_until 60 recorder_idle || return
	control stop || return
	recorder_end 150
	[ "$status" = 0 ] && is_trace "$work/itself" && is_whole "$work/itself"
}

recorder_traced() {
	recorder_start -B -a -e cpu-clock -o "$work/other" "$@"
	"$PERF" record -e intel_pt//u -m ,1M -o "$work/outer" -p "$recorder" -- sleep 1 \
		2> "$work/outer.err" || return
	control ping && control stop || return
	recorder_end 150
	[ "$status" = 0 ] && is_trace "$work/outer" && is_whole "$work/outer" &&
		perf_script "$PERF" "$work/other" -F event 2> "$work/script.err" |
			grep -m 1 cpu-clock
}

# The program calls read() after it has served a request, and the AUX data of a sample ends there.
# All samples together are the full trace.
samples() {
	local n

	record_work samples -e '{intel_pt//u,syscalls:sys_enter_read}' --aux-sample=32768 "$@"
	for n in "${sizes[@]}"; do
		serve "$n" || return
	done
	record_end
	flow "$work/samples" > "$work/samples.flow"
	wc -l "$work/samples.flow"
	no_errors "$work/samples.flow" && cmp "$work/samples.flow" "$work/full.flow"
}

# A disabled event stays disabled, and a snapshot of it contains what was traced before.
disabled() {
	record_work disabled -S -m ,1M
	serve 20 && control disable && serve 35 && control snapshot && serve 35 &&
		control snapshot && control enable && serve 50 && control snapshot || return
	record_end
	grep Snapshot "$work/record.err"
	flow "$work/disabled" > "$work/disabled.flow" && no_errors "$work/disabled.flow" &&
		[ "$(calls parse "$work/disabled.flow")" = 70 ]
}

# An area that is too small for the data that arrives between two reads
truncated() {
	echo 3000 | "$PERF" record -e intel_pt//u -m ,8K -o "$work/truncated" -- "$branches" \
		2> "$work/record.err" > "$work/answer" || return
	grep -E 'AUX|Lost' "$work/record.err"
	flow "$work/truncated" > "$work/truncated.flow" || return
	calls parse "$work/truncated.flow"
	[ "$(calls parse "$work/truncated.flow")" = 3000 ] ||
		grep -q 'AUX data was lost' "$work/record.err"
}

echo "TAP version 13"
check "full trace" full_trace
check "full trace: the output equals that of the untraced program" same_output
check_long "full trace: Debian's perf decodes the same" same_flow_by_debian full
check "consecutive snapshots, each in a self-contained file" consecutive -m ,1M
check_long "consecutive snapshots, areas of 300 pages" consecutive -m ,300
check "snapshots by signal in one file: together they are the full trace" by_signal
check_long "snapshots by signal: Debian's perf decodes the same" same_flow_by_debian signal
check "a snapshot that is dropped on a full disk leaves no trace" dropped
check "wrapped area of 1 page: newest data is kept, the rest is reported" wrapped 1
check_long "wrapped area of 3 pages" wrapped 3
check_long "3 pages with a driver that requires a power of two" rounded_up
check_long "full trace through 3 pages" drained 3
check "-S8192 limits the size of a snapshot" limited
check "-Se takes a snapshot at exit" on_exit
check "--per-thread" per_thread
check "-p" attach -S -m ,1M
check_long "-p, --per-thread" attach -S -m ,1M --per-thread
check "full trace of threads" threads
check "snapshots of threads" files_of_threads -S -m ,1M
check "full trace of threads in several files" files_of_threads -m ,64K
check_long "full trace of threads in several files, compressed" files_of_threads -m ,64K -z
check_long "full trace of threads in several files, without reader threads" \
	files_of_threads -m ,64K --no-threads
check "full trace on a full disk" full_disk
check_long "full trace on a full disk, compressed" full_disk -z
check "snapshots of a disabled event" disabled
check_long "full area: lost data is reported" truncated
check "--aux-sample" samples -m ,64K
check_long "--aux-sample, areas of 9 pages" samples -m ,9
check_long "without aux_written: new data is found by comparison" uncounted
check "a recorder traces itself" recorder_itself
check_long "a recorder is traced" recorder_traced
for how in --aio --io=uring; do
	check_long "a recorder traces itself, $how" recorder_itself $how
	check_long "a recorder is traced, $how" recorder_traced $how
done
echo "1..$nr"
