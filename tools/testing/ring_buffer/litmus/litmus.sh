#!/bin/bash
# Barriers of the ring buffer: litmus tests of the kernel's memory model, each barrier needed
# SPDX-License-Identifier: GPL-2.0-only
# tags: fast parallel
#
# Each *.litmus states its result in the first comment, like those in tools/memory-model. A line
# that ends with a comment "// LABEL" is a barrier or belongs to one. The labels are those of the
# table in kernel/events/internal.h. There is one result for each test, and one for each label in
# it: without these lines herd7 must observe the bad outcome (Sometimes). A release or acquire
# becomes a WRITE_ONCE() or READ_ONCE() instead. The last result tells whether all labels of the
# table are tested.
#
# With labels as arguments, run the tests without these barriers, and expect the stated results.

here=$(dirname "$(readlink -f "$0")")
top=$here/../../../..
BUILD=${BUILD:-$top/build}

if ! herd7=$(command -v herd7 || command -v "$BUILD/herd/herd7"); then
	echo "1..0 # SKIP no herd7: run make litmus"
	exit 2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nr=0 failed=0

# labels FILE: print the labels of a litmus test
labels()
{
	sed -n 's,.*[;{}] // ,,p' "$1" | sort -u
}

# expect RESULT FILE TITLE [LABEL...]: run a test without these barriers
expect()
{
	local result=$1 file=$2 title=$3 observed label

	shift 3
	cp "$file" "$work/test.litmus"
	for label; do
		sed -i "\|[;{}] // $label\$| {
			s/smp_store_release(/WRITE_ONCE(*/
			s/smp_load_acquire(/READ_ONCE(*/
			t
			d
		}" "$work/test.litmus"
	done
	(cd "$BUILD/linux/tools/memory-model" &&
		"$herd7" -conf linux-kernel.cfg "$work/test.litmus") >"$work/log" 2>&1
	observed=$(awk '/^Observation/ { print $3 }' "$work/log")
	# A test without the bad outcome must be free of data races as well.
	[ "$result" != Never ] || ! grep -q 'Flag data-race' "$work/log" || observed="a data race"
	verdict "$([ "$observed" = "$result" ] && echo ok)" "$title: $result" \
		"observed ${observed:-an error}" "$work/log"
}

# verdict OK TITLE REASON LOG: print a result, and if OK is empty the reason and the log
verdict()
{
	nr=$((nr + 1))
	if [ -n "$1" ]; then
		echo "ok $nr - $2"
	else
		echo "not ok $nr - $2"
		echo "# $3"
		sed 's/^/# /' "$4"
		failed=$((failed + 1))
	fi
}

for file in "$here"/*.litmus; do
	name=$(basename "$file" .litmus)
	expect "$(sed -n 's/^ \* Result: //p' "$file")" "$file" "$name" "$@"
	[ $# = 0 ] || continue
	while read -r label; do
		expect Sometimes "$file" "$name without $label" "$label"
	done < <(labels "$file")
done

if [ $# = 0 ]; then
	for file in "$here"/*.litmus; do
		labels "$file"
	done | sort -u >"$work/tested"
	sed '/^#ifndef/q' "$top/kernel/events/internal.h" | grep -o '([A-Z])' | tr -d '()' |
		sort -u | comm -23 - "$work/tested" >"$work/untested"
	verdict "$([ -s "$work/untested" ] || echo ok)" "all barriers of internal.h are tested" \
		"no litmus test has these labels:" "$work/untested"
fi
echo "1..$nr"
[ $failed = 0 ]
