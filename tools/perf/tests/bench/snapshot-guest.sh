#!/bin/bash
# Benchmark: snapshots on the kernel with PERF_SAMPLE_SIZE_AT_END, in the guest
# SPDX-License-Identifier: GPL-2.0-only
#
# Run the other benchmarks of snapshots in the emulated guest. Counts and ratios are valid, times
# are those of an emulator.

top=${TOP:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../../../.." && pwd)}
build=${BUILD:-$top/build}
here=$build/linux/tools/perf/tests/bench

[ -e "$build/kernel/vmlinux" ] || {
	echo "skip: no guest kernel (make kernel)"
	exit 2
}
VM_TIMEOUT=550 exec "$top/tools/testing/vm/run" "
	export WHO=ours-sized RATE=4000 HZ='10 100' ROUNDS=1 ROUND_SECONDS=10 TRIGGERS=11
	\"\$BUILD\"/tests/snapshot_copy --result snapshot-guest --pages 256 &&
	UPSTREAM_PERF= $here/snapshot-gap.sh &&
	$here/snapshot-latency.sh"
