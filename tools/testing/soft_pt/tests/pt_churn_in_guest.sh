#!/bin/bash
# perf record -S: snapshots of an ever-changing process are self-contained and do not grow
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
# tags: parallel night
# needs: kernel
#
# churn.c changes names, maps other files at addresses used before, and starts and ends threads,
# children and programs, round by round; thread ids are reused. It logs which code it called under
# which name: the decoded trace must show the same, symbol by symbol, without an error. A late file
# with as much trace as an early one must not have more side-band, and the recorder must not need
# more memory.
#
# usage: pt_churn_in_guest.sh [CHECK]...	default: one_file in_turn, and at
# night files and rarely
# MINUTES=60 runs that long, mostly asleep. MAPS is the number of maps of "rarely"; with 100 of
# them perf script needs VM_MEM=8G. KERNEL is another build than build/kernel.

. "$(dirname "$(realpath "$0")")/../../vm/guest.sh"
churn=$BUILD/tests/soft_pt/churn parts=$BUILD/tests/soft_pt/parts

if [ "${1-}" != --inside ]; then
	need_guest
	[ -x "$churn" ] || skip_all "no churn (make test-programs)"
	export VM_TIMEOUT=${VM_TIMEOUT:-$((860 + ${MINUTES:-0} * 180))}
	boot_guest env "MINUTES=${MINUTES-}" "MAPS=${MAPS-}" "$test_file" --inside "$@"
fi
shift

. "$TOP/tools/perf/tests/shell/lib/recorder.sh"
[ -d /sys/bus/event_source/devices/intel_pt ] || skip_all "no intel_pt in this kernel"
trap 'print_check_output; cleanup' EXIT

# --- the program, and its recorder -------------------------------------------------------------

# record_churn CPUS FILE MAPS [options]
record_churn() {
	local cpus=$1 mapped=$2 maps=$3

	shift 3
	rm -rf "$work/in" "$work/out" "$work"/data*
	mkfifo "$work/in" "$work/out"
	exec {in}<> "$work/in" {out}<> "$work/out"
	wrapper=(taskset -c "$cpus" sh -c "exec \"\$@\" < $work/in" sh)
	recorder_out=$work/out
	recorder_launch -e intel_pt//u -S -o "$work/data" "$@" -- \
		"$churn" "$parts" "$work/log" "$mapped" "$maps"
	wrapper=()
	recorder_out=$work/record.out
	control ping || fatal "no answer on the control fifo: record $*"
	wait_until 60 waits_for_input || fatal "the program does not start"
	visits=0 taken=0 done=0 begun=$SECONDS
}

pid_of_churn() {
	pgrep -x 'churn|main[0-9]+'
}

# Does only the main thread of the program exist, and wait for input?
waits_for_input() {
	local pid

	pid=$(pid_of_churn) && [ "$(cut -d ' ' -f 1 "/proc/$pid/syscall")" = 0 ]
}

# rounds NUMBER: run that many more rounds; set $visits and $done, the numbers of visits and rounds
# so far
rounds() {
	echo "$1" >&"$in"
	read -rt 300 -u "$out" visits && wait_until 60 waits_for_input || return
	done=$((done + $1))
}

logged() {
	[ "$(grep -c "$1" "$work/record.err")" -ge "$2" ]
}

# snapshot [record options]: take a snapshot by signal; set $newest to its file if it has one of
# its own
snapshot() {
	taken=$((taken + 1))
	kill -USR2 "$recorder"
	wait_until 100 logged 'Snapshot.*signal' $taken || return
	case $* in
	*--switch-output*)
		wait_until 100 logged 'Wrote ' $taken || return
		newest=$(sed -n 's/.* Wrote \(.*\) \]/\1/p' "$work/record.err" | tail -n 1)
	esac
}

churn_end() {
	exec {in}>&- {out}>&-
	kill "$(pid_of_churn)"
	recorder_end 100
}

# --- the trace ---------------------------------------------------------------------------------

# calls FILE: print each call of churn_part.S in the order of the trace: tid, comm, symbol, file
calls() {
	perf_script "$PERF" "$1" --itrace=be -F comm,tid,ip,sym,symoff,dso,addr \
		> "$work/script" 2> "$work/script.err" || {
		cat "$work/script.err"
		return 1
	}
	if grep -h 'instruction trace error' "$work/script" "$work/script.err" \
		> "$work/errors"; then
		sort "$work/errors" | cut -c1-60 | uniq -c | head -n 5
		return 1
	fi
	awk '{
		if (split($0, half, " => ") != 2 || half[1] ~ / \[unknown\] /)
			next
		nr = split(half[2], to)
		if (to[2] !~ /\+0x0$/ || to[2] !~ /^[a-h]_(gate|enter|one|two)/)
			next
		sub(/\+0x0$/, "", to[2])
		gsub(/^\(|\)$/, "", to[3])
		sub(/.*\//, "", to[3])
		print $2, $1, to[2], to[3]
	}' "$work/script"
}

# compare FILE FROM TO [whole]: FILE contains the calls of visits FROM to TO, exclusive; without
# "whole" the oldest ones may be missing
compare() {
	calls "$1" > "$work/calls" || return
	"$churn" -p "$work/log" "$2" "$3" > "$work/truth" || return
	awk -v whole="${4-}" '
		NR == FNR {
			tid = $2
			visit[tid, n[tid] + 0] = $1
			call[tid, n[tid]++] = $2 " " $3 " " $4 " " $5
			last = $1
			next
		}
		{ found[$1, m[$1]++] = $0; calls++ }
		END {
			cut = -1
			whole_from = last + 1
			for (tid in m) {
				if (m[tid] > n[tid]) {
					print "tid " tid ": " m[tid] " calls, expected " n[tid] + 0
					exit 1
				}
				for (i = 0; i < m[tid]; i++) {
					at = n[tid] - m[tid] + i
					if (call[tid, at] != found[tid, i]) {
						print "visit " visit[tid, at] " of " last ": " \
							found[tid, i] ", expected " call[tid, at]
						exit 1
					}
				}
			}
			for (tid in n) {
				missing = n[tid] - m[tid]
				if (missing && visit[tid, missing - 1] > cut)
					cut = visit[tid, missing - 1]
				for (i = missing; i < n[tid]; i++) {
					if (i && visit[tid, i] == visit[tid, i - 1])
						continue
					if (visit[tid, i] < whole_from)
						whole_from = visit[tid, i]
					break
				}
			}
			print calls " calls, from visit " whole_from " to " last \
				", none missing since " cut + 1
			# Four tasks may have logged a visit and been switched out before the call.
			if (!calls || (whole && cut >= 0) || cut >= whole_from + 8)
				exit 1
		}' "$work/truth" "$work/calls"
}

# records FILE: print the number of records that describe tasks
records() {
	perf_script "$PERF" "$1" -D 2> "$work/script.err" |
		grep -cE 'PERF_RECORD_(MMAP2?|COMM|FORK|NAMESPACES)'
}

# Print the current and the peak memory of the recorder [kB].
memory() {
	awk '/^VmRSS:/ { rss = $2 } /^VmHWM:/ { peak = $2 } END { print rss, peak }' \
		"/proc/$recorder/status"
}

# keep NAME FROM: keep the newest file, which is of the visits since FROM, and note its figures
keep() {
	local rss peak

	ln -f "$newest" "$work/$1"
	read -r rss peak < <(memory)
	range[$1]="$2 $visits" resident[$1]=$rss bytes[$1]=$(stat -c %s "$work/$1")
	tasks[$1]=$(records "$work/$1")
	echo "$1: after $((SECONDS - begun)) s, $done rounds, $taken snapshots;" \
		"${bytes[$1]} bytes, ${tasks[$1]} records of tasks; recorder $rss kB, peak $peak"
}

# not_doubled FIGURE: is that of the late file at most twice that of the early one?
not_doubled() {
	local -n of=$1

	[ "${of[late]}" -le $((2 * ${of[early]})) ] && return
	echo "$1: ${of[early]} early, ${of[late]} late"
	return 1
}

# --- checks ------------------------------------------------------------------------------------

# goes_on ROUNDS: return 0 until that many rounds are done, or MINUTES are over
goes_on() {
	if [ -z "$MINUTES" ]; then
		((done < $1))
	else
		pause 5
		((SECONDS - begun < MINUTES * 60))
	fi
}

# more_rounds NAME: run a few rounds and keep their snapshot
more_rounds() {
	local from=$visits

	rounds 3 && snapshot "${options[@]}" && keep "$1" "$from"
}

# Does a late file have at most twice as many records of tasks as the early one? The recorder
# forgets ended tasks some seconds later, so try several files.
like_early() {
	for _ in {1..20}; do
		more_rounds late || return
		not_doubled tasks && return
		pause 0.3
	done
	return 1
}

# Each snapshot has a file of its own, and a late file has no more records than an early one.
files() {
	local options=(-m ",2M" --switch-output=signal --switch-max-files=3)

	record_churn 0,1 "$parts/part_a.so" 20 "${options[@]}"
	rounds 3 && snapshot "${options[@]}" && more_rounds early || return
	while goes_on 60; do
		rounds "$burst" && snapshot "${options[@]}" || return
	done
	like_early || return
	churn_end
	not_doubled resident && compare "$work/early" ${range[early]} whole &&
		compare "$work/late" ${range[late]} whole
}

# All snapshots are in one file.
one_file() {
	record_churn 0,1 "$parts/part_a.so" 20 -m ,2M
	while goes_on 9; do
		rounds 3 && snapshot || return
	done
	churn_end
	compare "$work/data" 0 "$visits" whole
}

# Few snapshots, of an area that wraps often in between.
rarely() {
	local options=(-m ",$area" --switch-output=signal) maps=${MAPS:-20} from

	record_churn 1 "$parts/part_a.so" "$maps" "${options[@]}"
	rounds 20 && snapshot "${options[@]}" || return
	keep early 0
	from=$visits
	while goes_on 60; do
		rounds "$burst" || return
	done
	snapshot "${options[@]}" || return
	keep late "$from"
	churn_end
	not_doubled resident && compare "$work/early" ${range[early]} &&
		compare "$work/late" ${range[late]} && ((bytes[late] < 40 << 20))
}

# collections: print how often the recorder has dropped state that nothing refers to, according to
# -vv
collections() {
	grep -c 'Live state' "$work/record.err"
}

# For some tasks no record shows that they were traced: their contexts are swapped with those of
# others, and they are killed asleep. The recorder must not forget them while the area has trace of
# them. Long file names fill its memory.
in_turn() {
	local options=(-m ",512K" --switch-output=signal -vv) deep before
	local decode_in_guest=1		# the host has no $deep

	deep=$work$(printf '/%0200d' {1..9})
	mkdir -p "$deep" && cp "$parts/part_a.so" "$deep" || return
	record_churn 1 "$deep/part_a.so" 100 "${options[@]}"
	before=$(collections)
	while [ "$(collections)" = "$before" ]; do
		((done < 400)) && rounds 10 || return
		pause 1.2
	done
	echo "$done rounds"
	snapshot "${options[@]}" || return
	churn_end
	compare "$newest" 0 "$visits"
}

# shellcheck disable=SC2034	# used by name
declare -A range resident bytes tasks
burst=20 area=128K
[ -z "$MINUTES" ] || burst=5 area=2M
[ $# -gt 0 ] || set -- one_file in_turn files rarely
echo "TAP version 13"
for what; do
	check "$what" "$what"
	[ -z "$MINUTES" ] || cp "$work/record.err" "$work/log" "$work"/early "$work"/late "$VM_OUT"
done
echo "1..$nr"
