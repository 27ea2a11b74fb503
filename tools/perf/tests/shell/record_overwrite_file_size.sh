#!/bin/bash
# perf record overwrite: the file does not grow with the length of the run
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 60

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_perf
need_root
need_helpers numbered
need_tracepoint syscalls:sys_enter_getppid

# recorded NAME EVENT CALLS: the size of the file of a run of that many calls by each thread
recorded() {
	"$PERF" record -o "$work/$1" -m 1 --call-graph dwarf,128 -e "$2" -- \
		"$work/$comm" --rate 50000 --count "$3" > "$work/issued" 2> "$work/record.err" ||
		fail "record -e $2 ends with status $?"
	rm -f "$work/said"
	readable "$work/$1" || wrong "the file of $3 calls cannot be read"
	size=$(stat -c %s "$work/$1")
	count=$(samples "$work/$1")
	echo "-e $2, $3 calls by each thread: $size bytes, $count samples"
	((count > 0)) || wrong "no sample in it"
}

traced=syscalls:sys_enter_getppid

recorded short "$traced/overwrite/" 1009
short=$size
recorded long "$traced/overwrite/" 10091
long=$size
# What is there to hold differs by a comm or a map, not by samples: a page of slack
((long <= short + 4096)) || wrong "ten times the calls: $short bytes became $long"

# The calls would have filled more, or the above shows nothing. Not all of them: one page of
# streaming ring loses some.
recorded streamed "$traced/no-overwrite/" 10091
((size > 2 * long)) || wrong "streamed, the same calls are $size bytes: too few to prove anything"

finish
