#!/bin/bash
# perf record: every event is saved, whichever threads read the rings
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_numbered load

out=$work/data
numbered_event

# The rings hold all of these calls, however late a reader comes
saves() {
	echo "--- $*"
	rm -f "$out"* "$work/said"
	"$PERF" record -v -B -a -m 2048 "${event[@]}" -o "$out" "$@" -- "$work/$comm" --count 10007 \
		> "$work/issued" 2> "$work/record.err" || wrong "it ends with status $?"
	numbered_check "$out" -- --quiet --from-start --expect "$work/issued" || wrong "faults"
	"$PERF" script -f -i "$out" -F time > "$work/times" 2> "$work/script.err" || wrong "the file cannot be read"
	sort -nc "$work/times" 2> "$work/sort.err" || wrong "times go back: $(cat "$work/sort.err")"
	grep -qiE 'out of order|unordered' "$work/script.err" && wrong "$(cat "$work/script.err")"
	"$PERF" report -f -i "$out" --stats 2> /dev/null | grep -qE 'FINISHED_ROUND events: +[1-9]' || wrong "no rounds"
}

# The recorder's threads, but for those that io_uring may have for a moment
own_threads() {
	grep -LE '^iou-' "/proc/$recorder/task"/*/comm | cut -d / -f 5
}

target=(-a)

# scheduled PRIORITY N [options]: while it records, N threads are of SCHED_FIFO, at this priority
scheduled() {
	local priority=$1 expected=$2 found

	shift 2
	rm -f "$out"*
	recorder_start "${target[@]}" -m 16 "${event[@]}" -o "$out" "$@"
	found=$(own_threads | xargs -n 1 chrt -p | grep -A1 SCHED_FIFO | grep -c "priority: $priority\$")
	recorder_stop
	echo "--- $*: $found threads of SCHED_FIFO $priority"
	[ "$found" = "$expected" ] || wrong "not $expected"
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

# A reader for each CPU, and one for the tracking rings; one below them the one that writes. Where they may not
# be more than normal tasks, none.
if ! chrt -f 2 true 2> "$work/chrt.err"; then
	echo "no SCHED_FIFO here: $(cat "$work/chrt.err")"
	finish
fi
cpus=$(getconf _NPROCESSORS_ONLN)
scheduled 2 $((cpus + 1))
scheduled 1 1
scheduled 7 $((cpus + 1)) -r 7
scheduled 6 1 -r 7
scheduled 1 $((cpus + 2)) -r 1
# Those of the CPUs that are not named share one
scheduled 2 $((cpus > 1 ? 3 : 2)) --threads=0/0
for option in --no-realtime --no-threads --no-exclude-perf; do
	scheduled 2 0 "$option"
	scheduled 1 0 "$option"
done

# The rings of threads are shared out
"$BUILD/tests/load" calls 3 1 < "$work/never" > "$work/load.out" &
load=$!
started+=("$load")
has_threads() {
	local threads=("/proc/$load/task"/*)

	((${#threads[@]} == 3))
}
wait_until 30 has_threads || fail "the load's threads do not start"
target=(--per-thread -p "$load")
scheduled 2 $((cpus < 3 ? cpus + 1 : 4))
scheduled 2 2 --threads=0/0

echo "--- what is none"
for option in --threads=cores --threads=0/0:0/0 --threads=0/99999 --threads=0-99999999/0 -C0-99999999 \
	--affinity=x --mmap-flush=x -r200 -r-1 -rx --switch-output=x --switch-max-files=-1; do
	rm -f "$out"
	"$PERF" record "$option" -a -e dummy -o "$out" -- true 2> "$work/record.err"
	[ $? = 129 ] || wrong "$option is taken"
	[ ! -e "$out" ] || wrong "$option: there is a file"
	[ -s "$work/record.err" ] || wrong "$option: no message"
done

finish
