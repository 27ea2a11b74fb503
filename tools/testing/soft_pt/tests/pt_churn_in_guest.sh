#!/bin/bash
# A process that lives long: the last snapshot of its trace is read alone, and what that takes does not grow
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
#
# churn.c changes names, maps other files where some were, and begins and ends threads, children and programs,
# round by round; tids are used again after some of them. Of each it wrote down which code it called, as whom: the
# trace must say the same, symbol by symbol, with no error. A late file may have no more side-band than an early
# one with as much in it, and the recorder no more memory.
#
# usage: pt_churn_in_guest.sh [CHECK]...	all of them, or: files, one_file, rarely, in_turn
# MINUTES=60 goes on for so long, mostly asleep, and MAPS are those that rarely makes; with 100 of them perf script wants
# VM_MEM=8G. KERNEL is another build than build/kernel.

# shellcheck source=../../vm/guest.sh
. "$(dirname "$(realpath "$0")")/../../vm/guest.sh"
churn=$BUILD/tests/soft_pt/churn parts=$BUILD/tests/soft_pt/parts

if [ "${1-}" != --inside ]; then
	need_guest
	[ -x "$churn" ] || no_tests "there is no churn (make test-programs)"
	export VM_TIMEOUT=${VM_TIMEOUT:-$((860 + ${MINUTES:-0} * 180))}
	exec "$TOP/tools/testing/vm/run" "MINUTES=${MINUTES-} MAPS=${MAPS-} $(printf '%q ' "$(realpath "$0")" --inside "$@")"
fi
shift

# shellcheck source=../../../perf/tests/shell/lib/recording.sh
. "$BUILD/linux/tools/perf/tests/shell/lib/recording.sh"
[ -d /sys/bus/event_source/devices/intel_pt ] || no_tests "this kernel has no intel_pt"
trap 'tell; cleanup' EXIT

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
	recorder_launch -e intel_pt//u -S -o "$work/data" "$@" -- "$churn" "$parts" "$work/log" "$mapped" "$maps"
	wrapper=()
	recorder_out=$work/record.out
	control ping || fail "the recorder does not answer: $*"
	wait_until 60 reads || fail "the program does not start"
	visits=0 taken=0 done=0 begun=$SECONDS
}

pid_of_churn() {
	pgrep -x 'churn|main[0-9]+'
}

# All others are gone, and the first thread waits for input.
reads() {
	local pid

	pid=$(pid_of_churn) && [ "$(cut -d ' ' -f 1 "/proc/$pid/syscall")" = 0 ]
}

# rounds NUMBER: $visits is how many there were so far, in all $done rounds.
rounds() {
	echo "$1" >&"$in"
	read -rt 300 -u "$out" visits && wait_until 60 reads || return
	done=$((done + $1))
}

said() {
	[ "$(grep -c "$1" "$work/record.err")" -ge "$2" ]
}

# By signal. What goes to a file of its own is in $newest.
snapshot() {
	taken=$((taken + 1))
	kill -USR2 "$recorder"
	wait_until 100 said 'Snapshot.*signal' $taken || return
	case $* in
	*--switch-output*)
		wait_until 100 said 'Wrote ' $taken || return
		newest=$(sed -n 's/.* Wrote \(.*\) \]/\1/p' "$work/record.err" | tail -n 1)
	esac
}

churn_end() {
	exec {in}>&- {out}>&-
	kill "$(pid_of_churn)"
	recorder_end 100
}

# --- what was traced ---------------------------------------------------------------------------

# calls FILE: in the order of the trace, "tid comm symbol file"
calls() {
	"$PERF" script -f -i "$1" --itrace=be -F comm,tid,ip,sym,symoff,dso,addr > "$work/script" 2> "$work/script.err" || {
		cat "$work/script.err"
		return 1
	}
	if grep -h 'instruction trace error' "$work/script" "$work/script.err" > "$work/errors"; then
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

# compare FILE FROM TO [whole]: is what was called in visits FROM to TO; or the end of it, cut once
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
					print "of tid " tid " there are " m[tid] " calls, not " n[tid] + 0
					exit 1
				}
				for (i = 0; i < m[tid]; i++) {
					at = n[tid] - m[tid] + i
					if (call[tid, at] != found[tid, i]) {
						print "visit " visit[tid, at] " of " last ": " call[tid, at] ", not " found[tid, i]
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
			print calls " calls, from visit " whole_from " to " last ", none missing since " cut + 1
			# Four tasks at once write down a visit, and are switched from.
			if (!calls || (whole && cut >= 0) || cut >= whole_from + 8)
				exit 1
		}' "$work/truth" "$work/calls"
}

# records FILE: how many of them there are that describe tasks
records() {
	"$PERF" script -f -i "$1" -D 2> "$work/script.err" | grep -cE 'PERF_RECORD_(MMAP2?|COMM|FORK|NAMESPACES)'
}

# Of the recorder [kB]: now, and the most
memory() {
	awk '/^VmRSS:/ { rss = $2 } /^VmHWM:/ { peak = $2 } END { print rss, peak }' "/proc/$recorder/status"
}

# keep NAME FROM: the file of visits FROM to now, and what there is to say of it
keep() {
	local rss peak

	ln -f "$newest" "$work/$1"
	read -r rss peak < <(memory)
	held[$1]="$2 $visits" resident[$1]=$rss bytes[$1]=$(stat -c %s "$work/$1") tasks[$1]=$(records "$work/$1")
	echo "$1: after $((SECONDS - begun)) s, $done rounds, $taken snapshots; ${bytes[$1]} bytes, ${tasks[$1]} records of" \
		"tasks; the recorder has $rss kB, at most $peak kB"
}

# twice WHAT: is the late one no more than twice the early one?
twice() {
	local -n of=$1

	[ "${of[late]}" -le $((2 * ${of[early]})) ] && return
	echo "$1: ${of[early]} early, ${of[late]} late"
	return 1
}

# --- checks ------------------------------------------------------------------------------------

# goes_on ROUNDS: or as long as was asked for
goes_on() {
	if [ -z "$MINUTES" ]; then
		((done < $1))
	else
		pause 5
		((SECONDS - begun < MINUTES * 60))
	fi
}

# again NAME: a few rounds, and their file
again() {
	local from=$visits

	rounds 3 && snapshot "${options[@]}" && keep "$1" "$from"
}

# What is gone is forgotten some seconds later: the number of files that this takes says nothing.
as_early() {
	for _ in {1..20}; do
		again late || return
		twice tasks && return
		pause 0.3
	done
	return 1
}

# Each snapshot has a file, and what it has is the same early and late.
files() {
	local options=(-m ",2M" --switch-output=signal --switch-max-files=3)

	record_churn 0,1 "$parts/part_a.so" 20 "${options[@]}"
	rounds 3 && snapshot "${options[@]}" && again early || return
	while goes_on 60; do
		rounds "$burst" && snapshot "${options[@]}" || return
	done
	as_early || return
	churn_end
	twice resident && compare "$work/early" ${held[early]} whole && compare "$work/late" ${held[late]} whole
}

# All are in one file.
one_file() {
	record_churn 0,1 "$parts/part_a.so" 20 -m ,2M
	while goes_on 9; do
		rounds 3 && snapshot || return
	done
	churn_end
	compare "$work/data" 0 "$visits" whole
}

# Few snapshots, of an area that has come round often.
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
	twice resident && compare "$work/early" ${held[early]} && compare "$work/late" ${held[late]} &&
		((bytes[late] < 40 << 20))
}

# collections: how often the recorder forgot what nothing refers to, as it says with -vv
collections() {
	grep -c 'Live state' "$work/record.err"
}

# Of some tasks no record says that they were traced: their events are swapped with others', and they end asleep. They
# must not be forgotten while the area has something of them. Names of files that are long fill the recorder's memory.
in_turn() {
	local options=(-m ",512K" --switch-output=signal -vv) deep before

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

# shellcheck disable=SC2034	# by name
declare -A held resident bytes tasks
burst=20 area=128K
[ -z "$MINUTES" ] || burst=5 area=2M
[ $# -gt 0 ] || set -- files one_file rarely in_turn
echo "TAP version 13"
for what; do
	check "$what" "$what"
	[ -z "$MINUTES" ] || cp "$work/record.err" "$work/log" "$work"/early "$work"/late "$VM_OUT"
done
echo "1..$nr"
