#!/bin/bash
# numbered_check (a helper of the record tests) finds every fault in the records of numbered
# SPDX-License-Identifier: GPL-2.0-only
# tags: fast parallel

. "$(dirname "$0")/lib/numbered.sh"

need numbered numbered_check deny

# trace FILE-OR-NUMBER...: print these numbers of thread 1 as perf script does; a letter begins a
# file
trace() {
	local i

	for i; do
		case $i in
		[a-z]) echo "# file $i" ;;
		*) printf 'NR 110 (%x, 1, 6e756d62, 0, 0, 0)\n' "$i" ;;
		esac
	done
}

# expect STATUS TEXT OPTIONS -- TRACE...: check the exit status, and that the verdict has the text
expect() {
	local want=$1 text=$2 options=()

	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	trace "$@" | "$BUILD/tests/numbered_check" "${options[@]}" > "$work/verdict" 2>&1
	status=$?
	if [ "$status" = "$want" ] && grep -qF -- "$text" "$work/verdict"; then
		note "$* ${options[*]}: $text"
	else
		error "$* ${options[*]}: status $status, not $want, or no '$text' in: $(cat "$work/verdict")"
	fi
}

subtest "faults in traces"
echo 'thread 1 tid 7 cpu 0 last 11' > "$work/issued"

expect 0 '7 records in 2 files (2 of them hold some): 0 missing, 0 repeated' -- a 5 6 7 8 b 9 10 11
expect 0 '0 missing' --expect "$work/issued" -- 9 10 11
expect 0 '0 missing' --from-start -- 1 2 3
expect 1 '2 missing (2 inside files, 0 between files' -- a 5 6 9 b 10
expect 1 '2 missing (0 inside files, 2 between files' -- a 5 6 b 9 10
expect 1 '2 missing, 9 to 10, before c' -- a 8 b c 11
expect 1 'between files: median 3, max 3 missing' -- a 8 b 12 c 13 d 17
expect 1 '3 before the first' --from-start -- 4 5
expect 1 '2 after the last' --expect "$work/issued" -- 8 9
expect 1 'was never issued' --expect "$work/issued" -- 11 12
expect 1 '0 missing, 1 repeated, 0 out of order' -- a 5 6 7 b 7 8
expect 1 '0 missing, 3 repeated, 0 out of order' -- a 5 6 7 b 5 6 7 8
expect 1 '0 missing, 0 repeated, 2 out of order' -- 7 6 5 8
expect 1 'no numbered call' --
expect 1 'no numbered call' -- a b
expect 1 'no numbered call' --expect "$work/issued" -- a
expect 2 'No such file' --expect "$work/nothing" -- 1 2
expect 1 'RESULT x-missing-10 1 records' --result x --suffix -10 -- 1 3

subtest "numbered --count and SIGTERM"
"$BUILD/tests/deny" membarrier -- "$BUILD/tests/numbered" --threads 3 --count 1009 \
	> "$work/issued" ||
	error "the workload failed"
[ "$(grep -c '^thread [123] .* last 1009$' "$work/issued")" = 3 ] ||
	error "numbered does not issue 3 times 1009 calls: $(cat "$work/issued")"

# has_run: return 0 if the workload has used 50 ms of CPU time, and hence issued calls
has_run() {
	(($(awk '{ print $14 + $15 }' "/proc/$numbered/stat") >= 5))
}
"$BUILD/tests/numbered" --duration 60 > "$work/issued" &
numbered=$!
wait_until 20 has_run || error "numbered uses no CPU time"
kill -TERM "$numbered"
wait "$numbered"
status=$?
if [ "$status" != 0 ] || ! grep -q ' last [1-9]' "$work/issued"; then
	error "numbered does not print its report on SIGTERM"
fi

finish
