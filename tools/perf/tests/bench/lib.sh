# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the benchmarks of recorders share. Sourced first, like what it is built on.

# shellcheck source=../shell/lib/recording.sh
. "$(dirname "${BASH_SOURCE[0]}")/../shell/lib/recording.sh"

need_perf
need_root
UPSTREAM_PERF=${UPSTREAM_PERF:-}

# A benchmark can go without it.
need_peer() {
	[ -n "$UPSTREAM_PERF" ] || echo "note: UPSTREAM_PERF is not set: no peer to compare with"
}

# statistic sum|min|median|max: of the numbers in the input, one a line; false if there is none
statistic() {
	sort -g | awk -v how="$1" '
		{ value[NR] = $1; sum += $1 }
		END {
			if (!NR)
				exit 1
			printf "%.15g\n", how == "sum" ? sum : value[how == "min" ? 1 : how == "max" ? NR : int(NR / 2) + 1]
		}'
}
