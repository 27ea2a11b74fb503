#!/bin/bash
# perf record /overwrite/: the size of the file does not depend on the length of the run
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 120

. "$(dirname "$0")/lib/numbered.sh"

need perf root numbered syscalls:sys_enter_getppid

# recorded NAME EVENT CALLS: record so many calls of each thread; set $size to the size of the
# records, without the header, which describes BPF programs of other tests, too
recorded() {
	"$PERF" record -o "$work/$1" -m 1 --call-graph dwarf,128 -e "$2" -- \
		"$work/$comm" --rate 50000 --count "$3" > "$work/issued" 2> "$work/record.err" ||
		fatal "perf record -e $2 exits with status $?"
	readable "$work/$1" || error "the file of $3 calls cannot be read"
	size=$(($(od -An -t u8 -j 48 -N 8 "$work/$1")))
	count=$(samples "$work/$1")
	note "-e $2, $3 calls by each thread: $size bytes, $count samples"
	((count > 0)) || error "the file has no sample"
}

traced=syscalls:sys_enter_getppid

recorded short "$traced/overwrite/" 1009
short=$size
recorded long "$traced/overwrite/" 10091
long=$size
# The files may differ by a COMM or MMAP record, but not by samples: allow a page.
((long <= short + 4096)) || error "ten times the calls: $short bytes became $long"

# The comparison proves something only if all calls need more space. A streaming ring of one page
# loses some.
recorded streamed "$traced/no-overwrite/" 10091
((size > 2 * long)) || inconclusive "streamed, the same calls need only $size bytes"

finish
