#!/bin/bash
# perf record: snapshots name every short-lived process, and the memory of the recorder does not grow
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
# tags: long
#
# Runs alone: Linux gives the samples of a page fault that several recorders want the time by the
# clock of one of them, here perhaps that of another test.

. "$(dirname "$0")/lib/recorder.sh"

# Each process takes page faults in user space; the rings keep the last ones. The processes live for
# milliseconds. Snapshots are taken all the time, and each must name every process that it has
# samples of.
processes=${STORM_PROCESSES:-${NIGHT:+20000}}
processes=${processes:-7001}

# Bounds of the write buffer and of the backlog of side-band records (sideband/drain_thread.h) [kB].
# Both are reached when the machine is busy. The rest of the recorder's memory is the state of tasks
# and maps.
buffer=1024
backlog=8192

need perf root storm

# check_names FILE: check that every sample has a name and a map, which match
check_names() {
	"$PERF" script -f -i "$1" -F comm,pid,tid,event,ip,sym,dso 2> "$work/script.err" |
		awk -v file="${1##*/}" -v all="$work/seen" '
			# comm pid/tid event: ip sym (dso)
			$3 == "snapshot:" { next }
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
					print "# " file ": " bad ": " $0
				if ($1 ~ /^(ex|fk|pv|th)[0-9]+$/)
					print $1 >> all
				if (dso ~ /\/code\./)
					mapped++
			}
			END {
				print "# " file ": " samples + 0 " samples, " mapped + 0 \
				      " of them in maps of their own, " wrong + 0 " wrong"
				exit !samples || wrong
			}'
}

# run_storm signal|exit EVENTS... [-- record options]: record the storm, with a snapshot each
# second, or only at the end
run_storm() {
	local when=$1 events=() seconds=0

	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		events+=(-e "$1")
		shift
	done
	[ $# -gt 0 ] && shift
	rm -rf "$work"/data* "$work/code" "$work/seen" "$work/memory"
	mkdir "$work/code"

	recorder_start -N -a --write-buffer="${buffer}K" "${events[@]}" -o "$work/data" "$@"
	pause 1
	"$BUILD/tests/storm" "$work/code" "$processes" > "$work/storm" &
	storm=$!
	until gone "$storm"; do
		pause 1
		[ "$when" = exit ] || kill -USR2 "$recorder" || fatal "the recorder has exited"
		seconds=$((seconds + 1))
		echo "$seconds $(recorder_memory VmRSS) $(recorder_memory VmHWM)" >> "$work/memory"
	done
	wait "$storm" || fatal "the workload failed"
	pause 0.5
	kill -INT "$recorder"
	recorder_end 60
	find_snapshots "$work/data"
	[ -e "$work/data" ] && snapshots+=("$work/data")
	note "$(cat "$work/storm") processes in $seconds s, ${#snapshots[@]} files"
}

# storm signal|exit ...: run_storm, repeated if the recorder reports dropped side-band records:
# names are missing then
storm() {
	local attempt

	for attempt in 1 2 3; do
		run_storm "$@"
		grep 'The kernel lost .* records about tasks' "$work/record.err" || return 0
		note "attempt $attempt is inconclusive: side-band records were dropped"
	done
	inconclusive "side-band records were dropped in three runs"
	return 1
}

# check_memory ALLOWED: check that the memory of the recorder grows by at most so much [kB] after
# the first fifth of the time, in addition to the buffers
check_memory() {
	note "memory of the recorder [kB], each fifth of the time:"
	awk -v allowed=$(($1 + buffer + backlog)) '
		{ rss[NR] = $2; peak = $3 }
		END {
			for (i = 1; i <= 5; i++)
				line = line " " rss[int((NR - 1) * i / 5) + 1]
			print "#   VmRSS" line ", VmHWM " peak
			from = int(NR / 5) + 1
			for (i = from; i <= NR; i++)
				grown = rss[i] - rss[from] > grown ? rss[i] - rss[from] : grown
			print "#   grown by at most " grown + 0 " kB after the first fifth"
			exit grown > allowed
		}' "$work/memory"
}

# check_storm ALLOWED: check the names in $snapshots, and the memory
check_storm() {
	local file seen

	for file in "${snapshots[@]}"; do
		check_names "$file" && continue
		error "${file##*/}: samples without a name or a map: $(cat "$work/script.err")"
	done
	check_memory "$1" || error "the memory of the recorder grows"
	seen=$(sort -u "$work/seen" | wc -l)
	note "$seen processes and threads are in the files"
	((seen > processes / 50)) ||
		inconclusive "only $seen processes and threads are in the files"
	grep -E 'The kernel lost .* records about tasks|Not enough memory for|malformed' \
		"$work/record.err" &&
		error "side-band records were lost"
}

subtest "overwritten events, one file for each snapshot"
storm signal page-faults/overwrite/u -- -m 1M -c 1 --switch-output && check_storm 16384

subtest "all snapshots in one file"
storm signal page-faults/overwrite/u -- -m 1M -c 1 && check_storm 16384

subtest "overwritten and streamed events, one file for each snapshot"
storm signal page-faults/overwrite/u sched:sched_process_exec -- -m 1M -c 1 --switch-output &&
	check_storm 16384

# The rings refer to tasks of seconds ago, and no snapshot is taken: whenever the state has doubled,
# the recorder reads the rings and drops the tasks that they do not refer to.
subtest "rare events, one snapshot at the end"
storm exit page-faults/overwrite/u -- -m 256K -c 50 && check_storm 32768

finish
