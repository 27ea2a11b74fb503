#!/bin/bash
# Benchmark: calls missing between snapshots, with this perf and upstream's in turn
# SPDX-License-Identifier: GPL-2.0-only
#
# PERF is this perf, UPSTREAM_PERF an unmodified one. Both record the same workload with the same
# options, in ROUNDS (5) rounds of ROUND_SECONDS (2) each, for each frequency of HZ (10 100), at
# RATE (100000) calls per second. WHO (ours) is the name of this perf in the results. Prints RESULT
# lines, does not judge them.

. "$(dirname "$0")/lib.sh"

need numbered numbered_check raw_syscalls:sys_enter
need_peer

who=${WHO:-ours}
frequencies=${HZ:-10 100}
rounds=${ROUNDS:-5}
seconds=${ROUND_SECONDS:-2}
rate=${RATE:-100000}

# one_round NAME PERF: record and check, append the figures to $work/NAME-$hz
one_round() {
	local name=$1

	PERF=$2
	interval=$(awk -v hz="$hz" 'BEGIN { print 1 / hz }')
	snapshots_of_numbered signal "$seconds" --switch-output=signal
	# From the first number seen to the last one issued. Missing calls are what is measured.
	numbered_check "${snapshots[@]}" -- --quiet --expect "$work/issued" --result r \
		> "$work/verdict" ||
		grep -q '^RESULT r-seen [1-9]' "$work/verdict" || fatal "$name: no record"
	echo "$name, $hz Hz: $requested asked for, ${#snapshots[@]} files; $(grep 'records in' "$work/verdict")"
	sed -n 's/^RESULT r-//p' "$work/verdict" >> "$work/$name-$hz"
	echo "snapshots ${#snapshots[@]}" >> "$work/$name-$hz"
	rm -f "$work"/data*
}

# figure NAME WHAT sum|median|max: print a statistic over the rounds
figure() {
	awk -v what="$2" '$1 == what { print $2 }' "$work/$1-$hz" | statistic "$3"
}

ours=$PERF
names=("$who" ${UPSTREAM_PERF:+upstream})
for hz in $frequencies; do
	for ((i = 0; i < rounds; i++)); do
		one_round "$who" "$ours"
		[ -z "$UPSTREAM_PERF" ] || one_round upstream "$UPSTREAM_PERF"
	done
done

echo "$rounds rounds of $seconds s at $rate calls a second, ring -m 1024, $(nproc) CPUs"
for hz in $frequencies; do
	for name in "${names[@]}"; do
		echo "RESULT snapshot-files-$name-$hz $(figure "$name" snapshots sum) files"
		echo "RESULT snapshot-recorded-$name-$hz $(figure "$name" seen sum) records"
		echo "RESULT snapshot-missing-$name-$hz $(figure "$name" missing sum) records"
		echo "RESULT snapshot-repeated-$name-$hz $(figure "$name" repeated sum) records"
		echo "RESULT snapshot-boundary-median-$name-$hz $(figure "$name" boundary-median median) records"
		echo "RESULT snapshot-boundary-max-$name-$hz $(figure "$name" boundary-max max) records"
	done
done
