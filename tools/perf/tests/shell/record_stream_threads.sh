#!/bin/bash
# perf record --threads, --realtime: every event is written, whichever threads drain the rings
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 300

. "$(dirname "$0")/lib/numbered.sh"

need_numbered load

out=$work/data
numbered_event

# saves [options]: check that all calls are written. The rings hold all of them: none is lost,
# however late they are drained.
saves() {
	subtest "record ${*:-without options}"
	rm -f "$out"*
	perf_record -v -B -a -m 2048 "${event[@]}" -o "$out" "$@" -- "$work/$comm" --count 10007
	all_there "$out"
	fields "$out" time > "$work/times" || error "the file cannot be read"
	sort -nc "$work/times" 2> "$work/sort.err" ||
		error "perf script prints events out of order: $(cat "$work/sort.err")"
	grep -qiE 'out of order|unordered' "$work/script.err" && error "$(cat "$work/script.err")"
}

# marks [options]: check that marks are written during the recording, so that readers need not hold
# all of it in memory. A recording shorter than a round has none, on a busy machine a longer one.
marks() {
	local seconds

	subtest "FINISHED_ROUND records: record ${*:-without options}"
	for seconds in 1 4 16 64; do
		rm -f "$out"*
		perf_record -B -a -m 16 "${event[@]}" -o "$out" "$@" -- "$work/$comm" --idle \
			--threads 1 --rate 5000 --duration $seconds
		"$PERF" report -f -i "$out" --stats 2> /dev/null |
			grep -qE 'FINISHED_ROUND events: +[1-9]' && return
	done
	error "a recording of $seconds s has none"
}

# own_threads: print the threads of the recorder, without those that io_uring may start
own_threads() {
	grep -LE '^iou-' "/proc/$recorder/task"/*/comm | cut -d / -f 5
}

target=(-a)

# scheduled PRIORITY N [options]: check that N threads of the recorder are SCHED_FIFO with this
# priority
scheduled() {
	local priority=$1 expected=$2 found

	shift 2
	subtest "record ${*:-without options}: $expected threads are SCHED_FIFO $priority"
	rm -f "$out"*
	recorder_start "${target[@]}" -m 16 "${event[@]}" -o "$out" "$@"
	found=$(own_threads | xargs -n 1 chrt -p | grep -A1 SCHED_FIFO |
		grep -c "priority: $priority\$")
	recorder_stop
	[ "$found" = "$expected" ] || error "$found threads are, not $expected"
}

saves
saves --no-threads
saves --threads=cpu
saves --threads=core
saves --threads=package
saves --threads=numa
saves --threads=0/0 --no-realtime
saves --affinity=cpu --threads=package
saves --affinity=node
saves -r 3 --mmap-flush=64K
saves --no-buffering --no-threads -m 64M

marks
marks --no-threads
marks --threads=0/0
marks -r 3 --mmap-flush=16K
marks --no-buffering

# There is a reader thread for each CPU and one for the side-band rings. The thread that writes and
# the one that waits for triggers have a priority one below theirs. Without the permission for
# SCHED_FIFO all have the default policy.
if ! chrt -f 2 true 2> "$work/chrt.err"; then
	subtest "SCHED_FIFO"
	inconclusive "no SCHED_FIFO: $(cat "$work/chrt.err")"
	finish
fi
cpus=$(getconf _NPROCESSORS_ONLN)
scheduled 2 $((cpus + 1))
scheduled 1 2
scheduled 7 $((cpus + 1)) -r 7
scheduled 6 2 -r 7
scheduled 1 $((cpus + 3)) -r 1
# Compression at a high level takes a CPU; with a low one it is as fast as writing.
scheduled 1 3 -z
scheduled 1 2 -z19
# Without the capability root may set no real-time priority either.
wrapper=(prlimit --rtprio=0 setpriv --bounding-set=-sys_nice)
scheduled 1 0
subtest "losses are explained by a refused real-time priority"
"${wrapper[@]}" "$PERF" record -a -m 1 -e raw_syscalls:sys_enter -o "$out" \
	-- "$work/$comm" --count 100003 > "$work/issued" 2> "$work/record.err" ||
	error "perf record exits with status $?"
if grep -q 'Lost 0 events' "$work/record.err"; then
	inconclusive "nothing was lost"
else
	reports "had no real-time priority: they need CAP_SYS_NICE"
fi
wrapper=()
# CPUs that --threads does not name share one reader.
scheduled 2 $((cpus > 1 ? 3 : 2)) --threads=0/0
for option in --no-realtime --no-threads --no-exclude-perf; do
	scheduled 2 0 "$option"
	scheduled 1 0 "$option"
done

# The rings of threads are divided among the readers.
"$BUILD/tests/load" calls 3 1 < "$work/never" > "$work/load.out" &
load=$!
has_threads() {
	local threads=("/proc/$load/task"/*)

	((${#threads[@]} == 3))
}
wait_until 30 has_threads || fatal "the threads of the workload do not start"
target=(--per-thread -p "$load")
scheduled 2 $((cpus < 3 ? cpus + 1 : 4))
scheduled 2 2 --threads=0/0

subtest "threads with a stack of 128 kB"
(ulimit -s 128; exec "$PERF" record -a -m 16 "${event[@]}" -o "$out" -- "$work/$comm" --count 503) \
	> "$work/issued" 2> "$work/record.err" || error "perf record exits with status $?"

subtest "--no-buffering for an event that each sleep of a reader causes"
cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
for event in sched:sched_switch 'cpu-clock --switch-events'; do
	# shellcheck disable=SC2086 # several words
	timeout -s KILL 300 "$PERF" record -C "$cpu" --no-buffering -e $event -o "$out" \
		-- sleep 0.1 2> "$work/record.err"
	status=$?
	[ $status = 0 ] || error "$event: exit status $status"
	# shellcheck disable=SC2086 # several words
	timeout -s KILL 300 "$PERF" record -r 2 -C "$cpu" --no-buffering -e $event -o "$out" \
		-- sleep 0.1 2> "$work/record.err"
	grep -q 'Cannot combine -r with --no-buffering' "$work/record.err" ||
		error "$event: -r 2 is accepted"
done

subtest "invalid values of options"
for option in --threads=cores --threads=0/0:0/0 --threads=0/99999 --threads=0-99999999/0 \
	-C0-99999999 \
	--affinity=x --mmap-flush=x -r200 -r-1 -rx --switch-output=x --switch-max-files=-1; do
	rm -f "$out"
	"$PERF" record "$option" -a -e dummy -o "$out" -- true 2> "$work/record.err"
	[ $? = 129 ] || error "$option is accepted"
	[ ! -e "$out" ] || error "$option: a file is created"
	[ -s "$work/record.err" ] || error "$option: no message"
done

finish
