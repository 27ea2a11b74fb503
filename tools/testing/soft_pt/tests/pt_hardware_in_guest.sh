#!/bin/bash
# soft_pt: does not register on a processor with Intel PT
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# needs: kernel
#
# QEMU cannot trace, but can announce the feature.

. "$(dirname "$(realpath "$0")")/../../vm/guest.sh"

if [ "${1-}" != --inside ]; then
	need_guest
	export VM_TIMEOUT=${VM_TIMEOUT:-110}
	export VM_QEMU=${VM_QEMU:--cpu max,vendor=GenuineIntel,x-force-features=on,+intel-pt}
	boot_guest "$test_file" --inside
fi

. "$TOP/tools/perf/tests/shell/lib/recorder.sh"
trap 'print_check_output; cleanup' EXIT

not_registered() {
	grep -q -w intel_pt /proc/cpuinfo &&
		dmesg | grep 'soft_pt: this machine has Intel PT' &&
		[ ! -e /sys/bus/event_source/devices/intel_pt ]
}

echo "TAP version 13"
check "no software intel_pt" not_registered
echo "1..1"
