#!/bin/bash
# perf test: the record tests of upstream pass with this perf record
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel long
# timeout: 900
#
# Some of these tests record for a second and look for one function, which may not have run on a
# busy machine: a test that fails is run up to three times.

. "$(dirname "$0")/lib/harness.sh"

need perf root

tests=(
	'perf record tests'
	'perf record sideband tests'
	'perf record offcpu profiling tests'
	'perf record LBR tests'
	'Zstd perf.data compression/decompression'
	'perf script tests'
	'perf script task-analyzer tests'
	'Test data symbol'
)
# Each BPF filter takes the kernel 10 s or more to verify; the test of pipes runs a loop for 20 s.
[ -z "${NIGHT-}" ] || tests+=(
	'perf pipe recording and injection test'
	'perf record sample filtering (by BPF) tests'
)

# run_one NAME: print Ok, Skip or FAILED!; the output of the test is in $work/test.log
run_one() {
	local number

	number=$(awk -v name="$1" 'substr($0, index($0, ": ") + 2) == name { print $1 + 0 }' \
		"$work/list")
	[ -n "$number" ] || { echo "perf test has no test $1" > "$work/test.log"; return; }
	"$PERF" test -v "$number" > "$work/test.log" 2>&1
	sed -nE 's/^ *[0-9]+: .*: (Ok|Skip|FAILED!).*/\1/p' "$work/test.log" | tail -n 1
}

cd "$work" || exit
"$PERF" test list > "$work/list" 2>&1
for test in "${tests[@]}"; do
	subtest "$test"
	for attempt in 1 2 3; do
		result=$(run_one "$test")
		sed 's/^/# /' "$work/test.log"
		[ "$result" = Ok ] || [ "$result" = Skip ] && break
		note "attempt $attempt: $result"
	done
	case $result in
	Ok)	;;
	Skip)	inconclusive "perf test reports Skip" ;;
	*)	error "$result" ;;
	esac
done
finish
