#!/bin/bash
# perf record: a storm of short-lived processes, all named in each snapshot, in flat memory
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

# Each process takes page faults in user space; their last ones are in the rings. Snapshots come all
# the time, and each must name all it has: none of the processes lives any longer than milliseconds.
processes=${STORM_PROCESSES:-20000}

# What waits for the disk, and tracking records that wait for the recorder's thread (intake.h), have bounds of
# their own [kB], which are reached when the machine is busy; the rest of the recorder's memory is what it knows
# of tasks and maps
buffer=1024
backlog=8192

need_perf
need_root
need_helpers storm

# memory [VmRSS|VmHWM]: of the recorder [kB]
memory() {
	awk -v key="$1:" '$1 == key { print $2 }' "/proc/$recorder/status" 2> /dev/null
}

# check_names FILE: every sample has a name and a map, and they fit
check_names() {
	"$PERF" script -f -i "$1" -F comm,pid,tid,ip,sym,dso 2> "$work/script.err" |
		awk -v file="${1##*/}" -v all="$work/seen" '
			# comm pid/tid ip sym (dso)
			{
				samples++
				dso = $NF
				number = substr($1, 3)
				bad = ""
				if ($1 ~ /^:/)
					bad = "no name"
				else if (dso == "([unknown])")
					bad = "no map"
				else if (dso ~ /\/code\.[0-7]\)$/ &&
					 ($1 !~ /^pv/ || dso !~ ("code\\." number % 8 "\\)$")))
					bad = "another task'\''s map"
				if (bad && ++wrong <= 5)
					print file ": " bad ": " $0
				if ($1 ~ /^(ex|fk|pv|th)[0-9]+$/)
					print $1 >> all
				if (dso ~ /\/code\./)
					mapped++
			}
			END {
				print file ": " samples + 0 " samples, " mapped + 0 \
				      " of them in maps of their own, " wrong + 0 " wrong"
				exit !samples || wrong
			}'
}

# storm MODE signal|exit EVENTS... [-- record options]: record it, with a snapshot each second, or only
# at the end
run_storm() {
	local mode=$1 when=$2 events=() seconds=0

	shift 2
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		events+=(-e "$1")
		shift
	done
	[ $# -gt 0 ] && shift
	rm -rf "$work"/data* "$work/code" "$work/seen" "$work/memory"
	mkdir "$work/code"

	"$PERF" record -N -a --write-buffer="${buffer}K" "${events[@]}" -o "$work/data" "$@" 2> "$work/record.err" &
	recorder=$!
	started+=("$recorder")
	wait_until 20 grep -qs VmRSS "/proc/$recorder/status" || fail "$mode: no recorder"
	pause 1
	"$BUILD/tests/storm" "$work/code" "$processes" > "$work/storm" &
	storm=$!
	started+=("$storm")
	until gone "$storm"; do
		pause 1
		[ "$when" = exit ] || kill -USR2 "$recorder" || fail "$mode: the recorder is gone"
		seconds=$((seconds + 1))
		echo "$seconds $(memory VmRSS) $(memory VmHWM)" >> "$work/memory"
	done
	wait "$storm" || fail "$mode: the storm failed"
	pause 0.5
	kill -INT "$recorder"
	wait_until 60 gone "$recorder" || fail "$mode: the recorder does not end"
	find_snapshots "$work/data"
	[ -e "$work/data" ] && snapshots+=("$work/data")
	echo "$mode: $(cat "$work/storm") processes in $seconds s, ${#snapshots[@]} files"
}

# The same again, if the recorder was late, and says so: then some names are missing, and rightly
storm() {
	local attempt

	for attempt in 1 2 3; do
		run_storm "$@"
		grep 'had no room' "$work/record.err" || return 0
		echo "$1: attempt $attempt shows nothing"
	done
}

# check_memory MODE ALLOWED: after the first fifth the recorder's memory does not grow by more [kB],
# what waits aside
check_memory() {
	echo "$1: memory of the recorder [kB], each fifth of the time:"
	awk -v allowed=$(($2 + buffer + backlog)) '
		{ rss[NR] = $2; peak = $3 }
		END {
			for (i = 1; i <= 5; i++)
				line = line " " rss[int((NR - 1) * i / 5) + 1]
			print "  VmRSS" line ", VmHWM " peak
			from = int(NR / 5) + 1
			for (i = from; i <= NR; i++)
				grown = rss[i] - rss[from] > grown ? rss[i] - rss[from] : grown
			print "  grown by at most " grown + 0 " kB after the first fifth"
			exit grown > allowed
		}' "$work/memory"
}

# check_storm MODE ALLOWED
check_storm() {
	local file seen

	for file in "${snapshots[@]}"; do
		check_names "$file" && continue
		cat "$work/script.err"
		wrong "$1: samples without a name or a map"
	done
	check_memory "$1" "$2" || wrong "$1: memory grows"
	seen=$(sort -u "$work/seen" | wc -l)
	echo "$1: $seen of the processes and threads are in the files"
	((seen > processes / 50)) || wrong "$1: that is too few to say anything"
	grep -E 'no room|no memory|malformed' "$work/record.err" && wrong "$1: records were lost"
}

echo "== overwritten events alone, a file for each snapshot"
storm files signal page-faults/overwrite/u -- -m 1M -c 1 --switch-output
check_storm files 16384

echo "== all snapshots in one file"
storm one signal page-faults/overwrite/u -- -m 1M -c 1
check_storm one 16384

echo "== with a streamed event, a file for each snapshot"
storm mixed signal page-faults/overwrite/u sched:sched_process_exec -- -m 1M -c 1 --switch-output
check_storm mixed 16384

# The rings refer to what was seconds ago, and nobody takes a snapshot: the recorder looks through
# them, forgets what they do not refer to, each time that it has twice as much.
echo "== one snapshot, at the end, of events that are rare"
storm rare exit page-faults/overwrite/u -- -m 256K -c 50
check_storm rare 32768

finish
