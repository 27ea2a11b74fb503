#!/bin/bash
# perf record of samples that are in an AUX area (aux-output), in full traces and snapshots
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 1200
#
# Of each thread there are as many instructions in the trace from a sample to the next one of the same event as its
# period has, and the sample is of the last of them. There are two events in a group: which sample is whose,
# a decoder knows from PERF_RECORD_AUX_OUTPUT_HW_ID alone, which the kernel writes once. Each file must have it. The
# program does the same each time, and executes nothing while a snapshot is taken.

# shellcheck source=../guest.sh
. "$(dirname "$(realpath "$0")")/../guest.sh"

if [ "${1-}" != --inside ]; then
	need_guest
	export VM_TIMEOUT=${VM_TIMEOUT:-1150}
	exec "$TOP/tools/testing/vm/run" "$(printf '%q ' setarch -R "$(realpath "$0")" --inside)"
fi

# shellcheck source=../../../perf/tests/shell/lib/recording.sh
. "$BUILD/linux/tools/perf/tests/shell/lib/recording.sh"

[ -d /sys/bus/event_source/devices/soft_pebs ] || no_tests "this kernel has no soft_pebs"
[ -x "$BUILD/tests/branches" ] || no_tests "$BUILD/tests/branches is not built (make test-programs)"

trap 'tell; cleanup' EXIT

# --- the program that is traced --------------------------------------------------------------

program=("$BUILD/tests/branches")
cpus=1

# record_work NAME [options]: $program on $cpus traced by a recorder that is told what to do by control
record_work() {
	local name=$1

	shift
	rm -f "$work/in" "$work/out" "$work/$name"*
	mkfifo "$work/in" "$work/out"
	exec {in}<> "$work/in" {out}<> "$work/out"
	wrapper=(taskset -c "$cpus" sh -c "exec \"\$@\" < $work/in" sh)
	recorder_out=$work/out
	recorder_launch -o "$work/$name" "${events[@]}" "$@" -- "${program[@]}"
	wrapper=()
	recorder_out=$work/record.out
	control ping || fail "the recorder does not answer: $*"
	wait_until 60 reads || fail "the program does not start"
}

# serve REQUESTS: returns when that is done, and the program waits again
serve() {
	local line

	echo "$1" >&"$in"
	read -rt 100 -u "$out" line && [[ $line == "served $1,"* ]] && wait_until 60 reads
}

# All threads but the first are gone, and that one waits for input.
reads() {
	local pid

	pid=$(pgrep -x branches) && [ "$(cut -d ' ' -f 1 "/proc/$pid/syscall")" = 0 ]
}

record_end() {
	exec {in}>&- {out}>&-
	pkill -TERM -x branches
	recorder_end 300
}

# What was recorded: the files of one recording, another of that name comes with none of them.
find_files() {
	files=("$1".2*)
	echo "${#files[@]} files"
}

# --- samples ---------------------------------------------------------------------------------

period_one=97
period_two=1009
pebs=soft_pebs/inst_retired,aux-output
events=(-e "{intel_pt//u,$pebs,period=$period_one,name=one/u,$pebs,period=$period_two,name=two/u}")

decoder=$PERF

# The decoder says so in other words if it does not know whose a sample is.
script() {
	"$decoder" script -f -i "$1" "${@:2}" 2> "$work/errors" || {
		cat "$work/errors"
		return 1
	}
	! grep -E 'instruction trace error|PEBS-via-PT|Bad AUX' "$work/errors"
}

samples() {
	script "$1" --itrace=o -F event,ip > "$work/script" && sed -nE '/^ *(one|two):/p' "$work/script"
}

# spaced FILE [FIELD]: with cpu, of each thread on each CPU
spaced() {
	script "$1" --itrace=i0nsoe -F "tid,${2-}${2:+,}event,ip" > "$work/all" || return
	awk -v one="$period_one" -v two="$period_two" -v key="${2:+2}" '
		BEGIN { period["one:"] = one; period["two:"] = two }
		{ who = key == "" ? $1 : $1 " " $2; event = $(NF - 1) }
		event in period {
			found[event]++
			if (of[who event]++ && n[who] - at[who event] != period[event] || last[who] != $NF) {
				print event " " of[who event] " of " who " at " $NF " is " n[who] - at[who event] \
					" behind, last " last[who]
				bad = 1; exit
			}
			at[who event] = n[who]
			next
		}
		event ~ /^instructions/ { n[who]++; last[who] = $NF }
		END {
			print found["one:"] + 0 " and " found["two:"] + 0 " samples"
			exit bad || !found["one:"]
		}' "$work/all"
}

# first FILE PERIOD: sample 1 of event one is of that instruction of all
first() {
	script "$1" --itrace=i0nsoe -F event,ip | awk -v period="$2" '
		$1 == "one:" { found = 1; exit }
		{ n++ }
		END { print "the first is of instruction " n; exit !found || n != period }'
}

# --- checks ----------------------------------------------------------------------------------

sizes=(20 35 50)

full_trace() {
	local n

	record_work full -m ,4M
	for n in "${sizes[@]}"; do
		serve "$n" || return
	done
	record_end
	samples "$work/full" > "$work/full.samples"
	wc -l "$work/full.samples"
	first "$work/full" $period_one && spaced "$work/full"
}

# The terms alone make the group.
grouped() {
	local events=(-e intel_pt//u -e "$pebs,period=$period_one,name=one/u" -e "$pebs,period=$period_two,name=two/u")

	full_trace
}

# All files together have what the full trace has.
all_together() {
	local file

	for file in "${files[@]}"; do
		samples "$file" || return
	done > "$work/together"
	wc -l < "$work/together"
	[ -s "$work/full.samples" ] && cmp "$work/together" "$work/full.samples"
}

# Of the files before
decoded_by_debian() {
	local decoder=/usr/bin/perf

	[ -x $decoder ] || return 0
	$decoder --version && all_together
}

# files_of NAME: in each there is what it takes to decode it
files_of() {
	local file

	find_files "$work/$1"
	[ ${#files[@]} = 4 ] || return		# in the last one there is just how it went to sleep
	for file in "${files[@]:0:3}"; do
		spaced "$file" || return
		[ "$(script "$file" -D | grep -c 'PERF_RECORD_AUX_OUTPUT_HW_ID')" -ge 2 ] || return
	done
}

# consecutive [options]: each snapshot in a file of its own
consecutive() {
	local n

	record_work consecutive "$@" --switch-output
	for n in "${sizes[@]}"; do
		serve "$n" && control snapshot || return
	done
	record_end
	files_of consecutive && all_together
}

# attach [options]: to a process that runs
attach() {
	rm -f "$work/in" "$work/out"
	mkfifo "$work/in" "$work/out"
	exec {in}<> "$work/in" {out}<> "$work/out"
	taskset -c 1 "${program[@]}" < "$work/in" > "$work/out" &
	started+=($!)
	serve 20 || return
	recorder_launch "${events[@]}" -o "$work/attach" -p $! "$@"
	control ping || return
	serve 35 && control snapshot && serve 20 && control snapshot && control stop || return
	recorder_end
	pkill -TERM -x branches
	exec {in}>&- {out}>&-
	spaced "$work/attach"
}

# in_one_file [options]
in_one_file() {
	local n

	record_work one -S -m ,1M "$@"
	for n in "${sizes[@]}"; do
		serve "$n" && control snapshot || return
	done
	record_end
	files=("$work/one")
	spaced "$work/one" && all_together
}

# Late, when the area came round many times; the file has the end of what was done.
late() {
	local i

	record_work late -S -m ,"$1" --switch-output
	for i in 1 2 3; do
		serve $((400 * $1)) && control snapshot || return
	done
	record_end
	grep Snapshot "$work/record.err"
	[ "$(grep -c 'MB before them are gone' "$work/record.err")" = 3 ] && find_files "$work/late" || return
	for i in 0 1 2; do
		spaced "${files[i]}" || return
	done
}

# moved FIELD [options]: the program moves to another CPU for good. Later files have nothing of the first one, and
# must not speak of it.
moved() {
	local cpus=0,1 pid n field=$1

	shift

	record_work moved -m ,1M --switch-output "$@"
	pid=$(pgrep -x branches)
	taskset -p -c 0 "$pid" && serve 20 && control snapshot && taskset -p -c 1 "$pid" && serve 30 || return
	for n in 40 50; do
		control snapshot && serve "$n" || return
	done
	control snapshot || return
	record_end
	find_files "$work/moved"
	[ ${#files[@]} = 5 ] || return
	for n in 1 2 3; do
		spaced "${files[n]}" $field || return
	done
}

# Wherever they run, there is an event on each CPU.
threads() {
	local program=("${program[@]}" 3) cpus=0,1 n

	record_work threads -S -m ,1M --switch-output
	for n in "${sizes[@]}"; do
		serve "$n" && control snapshot || return
	done
	record_end
	find_files "$work/threads"
	for n in 0 1 2; do
		spaced "${files[n]}" cpu || return
		awk '$3 == "one:" { print $1 }' "$work/all" | sort -u | wc -l > "$work/threads.nr"
		cat "$work/threads.nr"
		[ "$(< "$work/threads.nr")" -ge 3 ] || return
	done
}

per_thread() {
	record_work thread -Se -m ,1M --per-thread
	serve 35 || return
	record_end
	spaced "$work/thread"
}

# What is not traced does not count.
disabled() {
	local n

	record_work disabled -S -m ,1M
	serve 20 && control disable && serve 35 && control snapshot && serve 35 && control enable && serve 50 &&
		control snapshot || return
	record_end
	spaced "$work/disabled" && n=$(samples "$work/disabled" | wc -l) && echo "$n of $(wc -l < "$work/full.samples")" &&
		((n < $(wc -l < "$work/full.samples")))
}

refused() {
	! "$PERF" record -e "$pebs,period=100/u" -o "$work/refused" -- true 2> "$work/said.err" || return
	cat "$work/said.err"
	! "$PERF" record -e "{cpu-clock:u,$pebs,period=100/u}" -o "$work/refused" -- true 2> "$work/said.err" || return
	cat "$work/said.err"
	! "$PERF" record -e "{intel_pt//u,$pebs/u}" -o "$work/refused" -- true 2> "$work/said.err" || return
	cat "$work/said.err"
	dmesg | grep 'soft_pt: cannot sample without a fixed period'
}

echo "TAP version 13"
check "a full trace" full_trace
check "events that are no group" grouped
check "consecutive snapshots, each in a file that stands alone" consecutive -S -m ,1M
check "and Debian's perf decodes the same" decoded_by_debian
check "a full trace in many files, each of which stands alone" consecutive -m ,4M
check "and Debian's perf decodes the same" decoded_by_debian
check "snapshots in one file" in_one_file
check "snapshots in one file, beside a stream" in_one_file -e cpu-clock:u
check "late snapshots of areas that came round" late 4
check "another CPU: snapshots" moved cpu -S
check "another CPU: a full trace in many files" moved ""
check "threads: snapshots" threads
check "--per-thread" per_thread
check "-p" attach -S -m ,1M
check "-p, --per-thread" attach -S -m ,1M --per-thread
check "-p, a full trace" attach -m ,1M
check "what --control has disabled" disabled
check "what cannot be" refused
echo "1..$nr"
