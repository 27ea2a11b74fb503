#!/bin/bash
# perf record --bpf-ring: on Debian's kernel of the newest series, BPF writes every event as perf does
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
# tags: parallel night
# needs: stock-mainline-kernel

. "$(dirname "$(realpath "$0")")/../guest.sh"

if [ "${1-}" != --inside ]; then
	export KERNEL=${KERNEL:-$BUILD/kernel-stock-mainline} VM_TIMEOUT=${VM_TIMEOUT:-860}
	need_guest
	boot_guest "$test_file" --inside
fi

ip link set lo up
NIGHT='' exec "$TOP/tools/perf/tests/shell/record_bpf_ring.sh"
