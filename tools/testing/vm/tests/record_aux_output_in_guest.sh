#!/bin/bash
# perf record aux-output: samples in the AUX area (PEBS via PT), in full traces and snapshots
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 1200
# tags: parallel night
# needs: kernel
#
# For each thread, the trace contains exactly one period of instructions between two samples of the
# same event, and a sample is of the last of these instructions. The group has two such events,
# which a decoder can distinguish only by PERF_RECORD_AUX_OUTPUT_HW_ID. The kernel writes that
# record once, but each file must contain it. The program executes the same instructions in each
# run, and none while a snapshot is taken.

. "$(dirname "$(realpath "$0")")/../guest.sh"

if [ "${1-}" != --inside ]; then
	need_guest
	export VM_TIMEOUT=${VM_TIMEOUT:-1150}
	boot_guest setarch -R "$test_file" --inside
fi

. "$TOP/tools/perf/tests/shell/lib/recorder.sh"

[ -d /sys/bus/event_source/devices/soft_pebs ] || skip_all "no soft_pebs in this kernel"
[ -x "$BUILD/tests/branches" ] ||
	skip_all "$BUILD/tests/branches is not built (make test-programs)"

trap 'print_check_output; cleanup' EXIT

# --- the traced program ----------------------------------------------------------------------

program=("$BUILD/tests/branches")
cpus=1

# record_work NAME [options]: start a recorder with a control fifo that traces $program on $cpus
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
	control ping || fatal "no answer on the control fifo: record $*"
	wait_until 60 waits_for_input || fatal "the program does not start"
}

# serve REQUESTS: return when they are served and the program waits for input again
serve() {
	local line

	echo "$1" >&"$in"
	read -rt 100 -u "$out" line && [[ $line == "served $1,"* ]] && wait_until 60 waits_for_input
}

# Does only the main thread of the program exist, and wait for input?
waits_for_input() {
	local pid

	pid=$(pgrep -x branches) && [ "$(cut -d ' ' -f 1 "/proc/$pid/syscall")" = 0 ]
}

record_end() {
	exec {in}>&- {out}>&-
	pkill -TERM -x branches
	recorder_end 300
}

# find_files NAME: set $files. record_work removes those of an earlier recording.
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

# script FILE [OPTION...]: decode FILE on the host. The decoder reports a sample of an unknown
# event as an error of PEBS via PT.
script() {
	perf_script "$decoder" "$1" "${@:2}" 2> "$work/errors" || {
		cat "$work/errors"
		return 1
	}
	! grep -E 'instruction trace error|PEBS-via-PT|Bad AUX' "$work/errors"
}

samples() {
	script "$1" --itrace=o -F event,ip > "$work/script" &&
		sed -nE '/^ *(one|two):/p' "$work/script"
}

# spaced FILE [cpu]: check the distance of samples for each thread; with cpu, for each thread on
# each CPU
spaced() {
	script "$1" --itrace=i0nsoe -F "tid,${2-}${2:+,}event,ip" > "$work/all" || return
	awk -v one="$period_one" -v two="$period_two" -v key="${2:+2}" '
		BEGIN { period["one:"] = one; period["two:"] = two }
		{ who = key == "" ? $1 : $1 " " $2; event = $(NF - 1) }
		event in period {
			found[event]++
			distance = n[who] - at[who event]
			if (of[who event]++ && distance != period[event] || last[who] != $NF) {
				print event " sample " of[who event] " of " who " at " $NF \
					": distance " distance ", last instruction " last[who]
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

# first FILE PERIOD: the first sample of event "one" is of instruction number PERIOD
first() {
	script "$1" --itrace=i0nsoe -F event,ip | awk -v period="$2" '
		$1 == "one:" { found = 1; exit }
		{ n++ }
		END { print "the first sample is of instruction " n; exit !found || n != period }'
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

# Events on the command line without braces become a group because of aux-output.
grouped() {
	local events=(-e intel_pt//u -e "$pebs,period=$period_one,name=one/u"
		-e "$pebs,period=$period_two,name=two/u")

	full_trace
}

# All files together contain the samples of the full trace.
all_together() {
	local file

	for file in "${files[@]}"; do
		samples "$file" || return
	done > "$work/together"
	wc -l < "$work/together"
	[ -s "$work/full.samples" ] && cmp "$work/together" "$work/full.samples"
}

# Decode the files of the previous check.
decoded_by_debian() {
	local decoder=/usr/bin/perf

	[ -x $decoder ] || return 0
	$decoder --version && all_together
}

# files_of NAME: check that each file can be decoded alone
files_of() {
	local file

	find_files "$work/$1"
	# The last file only contains how the program went to sleep.
	[ ${#files[@]} = 4 ] || return
	for file in "${files[@]:0:3}"; do
		spaced "$file" || return
		[ "$(script "$file" -D | grep -c 'PERF_RECORD_AUX_OUTPUT_HW_ID')" -ge 2 ] || return
	done
}

# consecutive [options]: one file for each snapshot
consecutive() {
	local n

	record_work consecutive "$@" --switch-output
	for n in "${sizes[@]}"; do
		serve "$n" && control snapshot || return
	done
	record_end
	files_of consecutive && all_together
}

# attach COMMAND [options]: record a running process, give COMMAND to the recorder
attach() {
	local command=$1

	shift
	rm -f "$work/in" "$work/out"
	mkfifo "$work/in" "$work/out"
	exec {in}<> "$work/in" {out}<> "$work/out"
	taskset -c 1 "${program[@]}" < "$work/in" > "$work/out" &
	serve 20 || return
	recorder_launch "${events[@]}" -o "$work/attach" -p $! "$@"
	control ping || return
	serve 35 && control "$command" && serve 20 && control "$command" && control stop || return
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

# late PAGES: take snapshots after the area has wrapped many times.
late() {
	local i

	record_work late -S -m ,"$1" --switch-output
	for i in 1 2 3; do
		serve $((400 * $1)) && control snapshot || return
	done
	record_end
	grep Snapshot "$work/record.err"
	[ "$(grep -c 'AUX area.* MB before them were overwritten' "$work/record.err")" = 3 ] ||
		return
	find_files "$work/late"
	for i in 0 1 2; do
		spaced "${files[i]}" || return
	done
}

# moved FIELD [options]: migrate the program to another CPU. Later files have no data of the first
# CPU, and must not refer to it.
moved() {
	local cpus=0,1 pid n field=$1

	shift

	record_work moved -m ,1M --switch-output "$@"
	pid=$(pgrep -x branches)
	taskset -p -c 0 "$pid" && serve 20 && control snapshot || return
	taskset -p -c 1 "$pid" && serve 30 || return
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

# Threads may run on any CPU: there is an event on each.
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

# Instructions that are not traced are not counted.
disabled() {
	local n

	record_work disabled -S -m ,1M
	serve 20 && control disable && serve 35 && control snapshot && serve 35 &&
		control enable && serve 50 && control snapshot || return
	record_end
	spaced "$work/disabled" && n=$(samples "$work/disabled" | wc -l) || return
	echo "$n of $(wc -l < "$work/full.samples")"
	((n < $(wc -l < "$work/full.samples")))
}

# is_refused EVENT: perf record must fail; print its message
is_refused() {
	! "$PERF" record -e "$1" -o "$work/refused" -- true 2> "$work/refused.err" || return
	cat "$work/refused.err"
}

refused() {
	is_refused "$pebs,period=100/u" && is_refused "{cpu-clock:u,$pebs,period=100/u}" &&
		is_refused "{intel_pt//u,$pebs/u}" || return
	dmesg | grep 'soft_pt: cannot sample without a fixed period'
}

echo "TAP version 13"
check "full trace" full_trace
check "events without braces form a group" grouped
check "consecutive snapshots, each in a self-contained file" consecutive -S -m ,1M
check "consecutive snapshots: Debian's perf decodes the same" decoded_by_debian
check "full trace in several self-contained files" consecutive -m ,4M
check "full trace in several files: Debian's perf decodes the same" decoded_by_debian
check "snapshots in one file" in_one_file
check "snapshots in one file, with another streamed event" in_one_file -e cpu-clock:u
check "late snapshots of areas that wrapped" late 4
check "migration: snapshots" moved cpu -S
check "migration: full trace in several files" moved ""
check "snapshots of threads" threads
check "--per-thread" per_thread
check "-p" attach snapshot -S -m ,1M
check "-p, --per-thread" attach snapshot -S -m ,1M --per-thread
check "-p, full trace" attach ping -m ,1M
check "snapshots of a disabled event" disabled
check "invalid events are refused" refused
echo "1..$nr"
