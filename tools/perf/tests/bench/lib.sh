# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Functions for benchmarks of recorders.

. "$(dirname "${BASH_SOURCE[0]}")/../shell/lib/numbered.sh"

need perf root
UPSTREAM_PERF=${UPSTREAM_PERF:-}

# need_peer: say so if there is no unmodified perf to compare with
need_peer() {
	[ -n "$UPSTREAM_PERF" ] || echo "note: UPSTREAM_PERF is not set: no peer to compare with"
}

# statistic sum|min|median|max: print it for the numbers on standard input, one per line; fail
# without numbers
statistic() {
	sort -g | awk -v how="$1" '
		{ value[NR] = $1; sum += $1 }
		END {
			if (!NR)
				exit 1
			printf "%.15g\n", how == "sum" ? sum : \
				value[how == "min" ? 1 : how == "max" ? NR : int(NR / 2) + 1]
		}'
}
