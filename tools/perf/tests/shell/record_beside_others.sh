#!/bin/bash
# perf record: files are right while recorders with other options follow the same tasks
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel

# Kernels build a side-band record, and the sample of a page fault, once for all events that want
# it, and leave parts of it behind for the next event (state/fixup.h, ring/sample_ids.h). All
# recorders here follow one task through several programs, so that each recorder may leave something
# to each. Every perf must read each file, and all files must tell the same.

. "$(dirname "$0")/lib/files.sh"

need perf root raw_syscalls:sys_enter

perfs=("$PERF" ${old_perf:+"$old_perf"})
[ -x "${UPSTREAM_PERF:=$BUILD/upstream-perf/perf}" ] && perfs+=("$UPSTREAM_PERF")

# Options of our recorders, and of an older perf
modes=("" "--buildid-mmap" "-d" "-g" "-k CLOCK_MONOTONIC --namespaces --all-cgroups"
	"--switch-events" "-s --no-bpf-event")
foreign=("--buildid-mmap -g" "-d --switch-events")

is_ready() {
	gone "$1" || grep -qsE 'perf record has started|^mmap size' "$2"
}

# launch NAME PERF OPTIONS...: record the task; return when the events are open
launch() {
	local name=$1 perf=$2

	shift 2
	"$perf" record -v -p "$target" -m 1M "$@" -o "$work/$name" > "$work/$name.err" 2>&1 &
	recorders+=($!)
	wait_until 20 is_ready "$!" "$work/$name.err"
	gone "$!" && fatal "record $*: $(tail -n 3 "$work/$name.err")"
}

# record_all OPTIONS...: record the task by all recorders
record_all() {
	local nr pid

	rm -rf "$work"/{go,ours,theirs}*
	mkfifo "$work/go"
	bash -c 'read -r; exec env sh -c "exec bash -c \"exec date\""' <> "$work/go" > /dev/null &
	target=$!
	recorders=()
	for nr in "${!modes[@]}"; do
		# shellcheck disable=SC2086 # several words
		launch "ours$nr" "$PERF" ${modes[nr]} "$@"
	done
	for nr in ${old_perf:+"${!foreign[@]}"}; do
		# shellcheck disable=SC2086 # several words
		launch "theirs$nr" "$old_perf" ${foreign[nr]} "$@"
	done
	echo > "$work/go"
	wait "$target"
	for pid in "${recorders[@]}"; do
		wait_until 20 gone "$pid" || fatal "a recorder does not exit"
	done
}

# dump PERF FILE OPTIONS...: print what a perf finds in a file
dump() {
	local perf=$1 file=$2

	shift 2
	"$perf" script -f -i "$file" "$@" 2> "$work/script.err" && [ ! -s "$work/script.err" ] &&
		return
	error "$("$perf" --version) script $*: ${file##*/}: status $?: $(tail -n 1 "$work/script.err")"
	return 1
}

# facts PERF FILE: print the names and maps of the task, and the number of samples
facts() {
	dump "$1" "$2" --show-task-events --show-mmap-events -F comm,pid,event > "$work/dump"
	grep -aE "PERF_RECORD_(COMM|MMAP2.*: r-xp)" "$work/dump" |
		sed 's/.*PERF_RECORD_//; s/ @ .*r-xp//' | sort
	grep -avc PERF_RECORD "$work/dump"
}

# check_files: every perf finds in each of our files what it finds in the first
check_files() {
	local nr perf

	for nr in "${!modes[@]}"; do
		for perf in "${perfs[@]}"; do
			facts "$perf" "$work/ours$nr" > "$work/facts$nr"
			cmp -s "$work/facts0" "$work/facts$nr" && continue
			error "'${modes[nr]}' differs from default options, read by $("$perf" --version):"
			diff "$work/facts0" "$work/facts$nr" | head -n 5 | sed 's/^/#   /'
		done
	done
}

subtest "side-band records"
record_all -e raw_syscalls:sys_enter/overwrite/
check_files

for event in page-faults/period=1/u page-faults/period=1,overwrite/u; do
	subtest "$event"
	record_all -e "$event"
	check_files
done

# claim_build_ids FILE: set the flag of a build-id in each MMAP2 record, and an impossible size of
# it
claim_build_ids() {
	python3 - "$1" <<- 'END'
		import perf_data, struct, sys
		image = perf_data.load(sys.argv[1])
		for kind, misc, at, _ in perf_data.records(image):
		    if kind == perf_data.MMAP2:
		        struct.pack_into('<H', image, at + 4, misc | 0x4000)
		        image[at + 40] = 255
		perf_data.save(sys.argv[1], image)
	END
}

subtest "a file in which maps claim build-ids"
perf_record -q -d -e cpu-clock:u -B -o "$work/claims" true
claim_build_ids "$work/claims"
# perf warns that the files do not have these build-ids.
"$PERF" script -f -i "$work/claims" --show-mmap-events > "$work/dump" 2> "$work/script.err" ||
	error "perf script fails: $(tail -n 1 "$work/script.err")"
# The perf of 6.12 ignores such a build-id, mainline's cuts it to 20 bytes.
grep -qE 'MMAP2.*<([0-9a-f]{40})?>.*libc' "$work/dump" ||
	error "the build-id is neither empty nor cut: $(grep -m 1 MMAP2 "$work/dump")"

finish
