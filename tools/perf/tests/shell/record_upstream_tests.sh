#!/bin/bash
# perf record: what upstream's own tests of perf record ask of it
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
#
# The shell tests of perf test that record something, with this perf. Some of them record for a second and
# look for one function, which on a busy machine may not have run: what fails is run twice more.

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_perf
need_root

tests=(
	'perf record tests'
	'perf record sideband tests'
	'perf record offcpu profiling tests'
	'perf record sample filtering (by BPF) tests'
	'perf record LBR tests'
	'perf pipe recording and injection test'
	'Zstd perf.data compression/decompression'
	'perf script tests'
	'perf script task-analyzer tests'
	'Test data symbol'
)

# run_one NAME: Ok, Skip or FAILED!, with what was said in $work/said_by_test
run_one() {
	local number

	number=$(awk -v name="$1" 'substr($0, index($0, ": ") + 2) == name { print $1 + 0 }' "$work/list")
	[ -n "$number" ] || { echo "$1: there is no such test" > "$work/said_by_test"; return; }
	"$PERF" test -v "$number" > "$work/said_by_test" 2>&1
	sed -nE 's/^ *[0-9]+: .*: (Ok|Skip|FAILED!).*/\1/p' "$work/said_by_test" | tail -n 1
}

cd "$work" || exit
"$PERF" test list > "$work/list" 2>&1
echo "TAP version 13"
nr=0
for test in "${tests[@]}"; do
	nr=$((nr + 1))
	for try in 1 2 3; do
		result=$(run_one "$test")
		sed 's/^/# /' "$work/said_by_test"
		[ "$result" = Ok ] || [ "$result" = Skip ] && break
		echo "# try $try"
	done
	case $result in
	Ok)	echo "ok $nr - $test" ;;
	Skip)	echo "ok $nr - $test # SKIP it says so" ;;
	*)	echo "not ok $nr - $test" ;;
	esac
done
echo "1..$nr"
