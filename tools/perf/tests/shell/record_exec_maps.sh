#!/bin/bash
# perf record: maps of a program that exec() has replaced are neither recorded nor used for stacks
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 240

# A library that two programs map at different addresses breaks the unwinding of user stacks if both
# maps are attributed to one process. Without address space randomization, the libc of bash is below
# that of the numbered workload, because bash maps another library before.

. "$(dirname "$0")/lib/numbered.sh"

need_numbered
setarch -R true 2> /dev/null || skip "setarch -R fails: the addresses of maps are random"
"$PERF" version --build-options | grep -q 'dwarf-unwind: \[ on' ||
	skip "this perf cannot unwind user stacks"

program=$(realpath "$BUILD/tests/numbered")
calls="$work/$comm --threads 1 --count 53 --rate 0"

# maps FILE: print the names of the executable maps of processes, one a line
maps() {
	"$PERF" script "${no_symbols[@]}" -i "$1" --show-mmap-events 2> /dev/null |
		sed -n 's/.*PERF_RECORD_MMAP2 [0-9]*\/.* r-xp //p'
}

# check_maps OPTIONS...: check the maps of a command in all files of a recording
check_maps() {
	local file nr all=0

	rm -f "$work"/data*
	perf_record "${event[@]}" "$@" -B -o "$work/data" -- "$work/$comm" --threads 1 --tag 10 \
		--rate 100 --duration "$seconds" --idle
	for file in "$work"/data*; do
		maps "$file" > "$work/maps"
		grep -qxF "$(realpath "$(command -v "$PERF")")" "$work/maps" &&
			error "perf record $*: ${file##*/} has maps of perf before the exec"
		nr=$(grep -cxF "$program" "$work/maps")
		((nr <= 1)) || error "perf record $*: ${file##*/} has $nr maps of the program"
		all=$((all + nr))
	done
	# A file may end before the program is executed.
	((all >= 1)) || error "perf record $*: no file has the map of the program"
}

# check_stacks NAME: check that the stack of each sample has the function that makes the calls
check_stacks() {
	local whole

	whole=$("$PERF" script "${no_symbols[@]}" -i "$(echo "$work"/data*)" -F event,ip,sym \
		2> /dev/null |
		awk -v RS= '/sys_enter/ && / work\n/ { n++ } END { print n + 0 }')
	[ "$whole" = 53 ] || error "$1: $whole stacks of 53 are whole"
}

# record_stacks OPTIONS... -- COMMAND...
record_stacks() {
	rm -f "$work"/data*
	perf_record -m 4M "${event[@]}" --call-graph dwarf -B -o "$work/data" "$@"
	check_stacks "$*"
}

subtest "maps of perf are not recorded"
numbered_event
seconds=0.3
for options in "" "-D 10" "--per-thread" "--keep=60s,32M"; do
	# shellcheck disable=SC2086 # may be none
	check_maps $options
done
seconds=2.3
check_maps --switch-output=1s
seconds=0.3
numbered_event overwrite
check_maps

subtest "stacks of a command"
# shellcheck disable=SC2086 # several words
for kind in "" overwrite; do
	numbered_event $kind
	record_stacks -- setarch -R $calls
done
numbered_event
# shellcheck disable=SC2086
record_stacks --keep=60s,128M -- setarch -R $calls

subtest "stacks of a program that a shell starts"
for kind in "" overwrite; do
	numbered_event $kind
	record_stacks -- setarch -R bash -c "$calls; true"
done
numbered_event
record_stacks --keep=60s,128M -- setarch -R bash -c "$calls; true"
record_stacks --switch-output=1h -- setarch -R bash -c "$calls; true"

finish
