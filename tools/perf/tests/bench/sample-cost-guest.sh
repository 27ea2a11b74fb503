#!/bin/bash
# Benchmark: instructions that an event adds to a system call, for several kinds of events
# SPDX-License-Identifier: GPL-2.0-only
#
# helpers/sample_cost.c runs in the guest, which counts instructions; no perf is involved. KERNEL is
# the kernel of the guest. Arguments: kinds of events, all by default.

top=${TOP:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../../../.." && pwd)}
build=${BUILD:-$top/build}
kernel=${KERNEL:-$build/kernel}

[ -e "$kernel/vmlinux" ] || {
	echo "skip: no $kernel/vmlinux (make kernel)"
	exit 2
}
KERNEL=$kernel VM_ICOUNT=1 exec "$top/tools/testing/vm/run" "'$build/tests/sample_cost' $*"
