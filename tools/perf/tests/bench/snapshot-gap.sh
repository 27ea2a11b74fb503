#!/bin/bash
# Benchmark: what is missing between snapshots at 10 Hz, this perf and upstream's in turn
# SPDX-License-Identifier: GPL-2.0-only
#
# PERF is this perf, UPSTREAM_PERF an unmodified one; both record the same workload with the same
# options. ROUNDS (3) rounds of ROUND_SECONDS (5) each. Prints RESULT lines and decides nothing.

# shellcheck source=../shell/lib/recording.sh
. "$(dirname "$0")/../shell/lib/recording.sh"

need_perf
need_root
need_helpers numbered numbered_check
need_tracepoint raw_syscalls:sys_enter
UPSTREAM_PERF=${UPSTREAM_PERF:-}
[ -z "$UPSTREAM_PERF" ] && echo "note: UPSTREAM_PERF is not set: no peer to compare with"

rounds=${ROUNDS:-3}
seconds=${ROUND_SECONDS:-5}
rate=${RATE:-100000}

# one_round NAME PERF: record, check, and add the figures to $work/NAME
one_round() {
	local name=$1

	PERF=$2
	snapshots_of_numbered signal "$seconds" --switch-output=signal
	# From the first number seen to the last one issued; faults are what is counted here
	numbered_check "${snapshots[@]}" -- --quiet --expect "$work/issued" --result r > "$work/verdict" ||
		grep -q '^RESULT r-seen [1-9]' "$work/verdict" || fail "$name: no record to check"
	echo "$name: $taken snapshots; $(grep 'records in' "$work/verdict")"
	sed -n 's/^RESULT r-//p' "$work/verdict" >> "$work/$name"
	echo "snapshots ${#snapshots[@]}" >> "$work/$name"
	rm -f "$work"/data*
}

# figure NAME WHAT sum|median|max: over the rounds
figure() {
	awk -v what="$2" '$1 == what { print $2 }' "$work/$1" | sort -n |
		awk -v how="$3" '
			{ value[NR] = $1; sum += $1 }
			END { print how == "sum" ? sum : how == "max" ? value[NR] : value[int(NR / 2) + 1] }'
}

ours=$PERF
names=(ours)
for ((i = 0; i < rounds; i++)); do
	one_round ours "$ours"
	if [ -n "$UPSTREAM_PERF" ]; then
		one_round upstream "$UPSTREAM_PERF"
	fi
done
[ -n "$UPSTREAM_PERF" ] && names+=(upstream)

echo "$rounds rounds of $seconds s at $rate calls a second, ring -m 1024, $(nproc) CPUs"
for name in "${names[@]}"; do
	echo "RESULT snapshot-files-$name-10 $(figure "$name" snapshots sum) files"
	echo "RESULT snapshot-recorded-$name-10 $(figure "$name" seen sum) records"
	echo "RESULT snapshot-missing-$name-10 $(figure "$name" missing sum) records"
	echo "RESULT snapshot-repeated-$name-10 $(figure "$name" repeated sum) records"
	echo "RESULT snapshot-boundary-median-$name-10 $(figure "$name" boundary-median median) records"
	echo "RESULT snapshot-boundary-max-$name-10 $(figure "$name" boundary-max max) records"
done
