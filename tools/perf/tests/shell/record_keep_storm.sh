#!/bin/bash
# perf record --keep: files name processes that are long gone, in the memory that was stated
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 600
# tags: parallel long

. "$(dirname "$0")/lib/numbered.sh"

processes=${STORM_PROCESSES:-${NIGHT:+100000}}
processes=${processes:-5000}

need perf root storm
need_numbered
numbered_event

# check_names FILE: check that every sample of the storm has a name and a map, which match
check_names() {
	local perf

	for perf in "$PERF" ${old_perf:+"$old_perf"}; do
		"$perf" script -f -i "$1" -F comm,pid,tid,event,ip,sym,dso 2> "$work/script.err" |
			awk -v file="${1##*/}" '
				# comm pid/tid event: ip sym (dso)
				$3 == "snapshot:" { next }
				{ samples++; number = substr($1, 3) }
				{ own = $1 ~ /^(ex|fk|pv|th)[0-9]+$/ }
				$1 ~ /^:/ || own && /\[unknown\]\)$/ ||
				($NF ~ /\/code\.[0-7]\)$/ &&
				 ($1 !~ /^pv/ || $NF !~ ("code\\." number % 8 "\\)$"))) {
					if (++wrong <= 5)
						print "# wrong: " $0
				}
				own { seen[$1] = 1 }
				END {
					for (name in seen)
						names++
					print "# " file ": " samples + 0 " samples of " names + 0 \
					      " tasks, " wrong + 0 " wrong"
					exit names < 100 || wrong
				}' || return
		if grep -iE 'out of order|unordered' "$work/script.err"; then
			return 1
		fi
	done
}

# run_storm [record options]: record the storm, let the recorder run a moment without it, stop
run_storm() {
	rm -rf "$work"/data* "$work/code"
	mkdir "$work/code"
	recorder_start -N -a -e page-faults:u -c 1 -o "$work/data" "$@"
	"$BUILD/tests/storm" "$work/code" "$processes" > "$work/storm" ||
		fatal "the workload failed"
	pause 2
	control snapshot || error "no snapshot"
	anonymous=$(recorder_anonymous)
	recorder_stop
	note "$(grep Snapshot "$work/record.err")"
	find_snapshots "$work/data"
	note "$(cat "$work/storm") processes; anonymous memory: $anonymous kB"
}

check() {
	grep -q 'The kernel lost .* records about tasks' "$work/record.err" &&
		inconclusive "side-band records were dropped" && return
	check_names "${snapshots[0]}" || error "wrong names"
	readable "${snapshots[0]}" || error "a file cannot be read"
}

subtest "all processes are kept"
run_storm --keep=60s,1G --switch-output
check

subtest "the memory is bounded"
run_storm --keep=60s,48M --switch-output
check
((anonymous < 50 << 10)) || error "the recorder uses $anonymous kB"

subtest "the memory is bounded although hardly anything is recorded"
name_self() {
	for ((i = 0; i < 250007; i++)); do	# names that take memory even if they are packed
		echo "$SRANDOM$SRANDOM" > "/proc/$BASHPID/comm"
	done
}
rm -rf "$work"/data*
recorder_start -B -N -a "${event[@]}" -o "$work/data" --keep=60s,32M
numbered_calls 1 3
name_self &
wait $!
control ping || error "no answer"
anonymous=$(recorder_anonymous)
recorder_stop
note "anonymous memory: $anonymous kB"
((anonymous < 34 << 10)) || error "the recorder uses $anonymous kB"
reports 'dropped because the memory was full'

finish
