#!/bin/bash
# Intel PT by single-stepping: not where the processor has Intel PT, in the guest
# SPDX-License-Identifier: GPL-2.0-only
#
# QEMU cannot trace, but say that it can.

# shellcheck source=../../vm/guest.sh
. "$(dirname "$(realpath "$0")")/../../vm/guest.sh"

if [ "${1-}" != --inside ]; then
	need_guest
	export VM_TIMEOUT=${VM_TIMEOUT:-110} VM_QEMU=${VM_QEMU:--cpu max,vendor=GenuineIntel,x-force-features=on,+intel-pt}
	exec "$TOP/tools/testing/vm/run" "$(printf '%q ' "$(realpath "$0")" --inside)"
fi

# shellcheck source=../../../perf/tests/shell/lib/recording.sh
. "$BUILD/linux/tools/perf/tests/shell/lib/recording.sh"
trap 'tell; cleanup' EXIT

refused() {
	grep -q -w intel_pt /proc/cpuinfo && dmesg | grep 'soft_pt: this machine has Intel PT' &&
		[ ! -e /sys/bus/event_source/devices/intel_pt ]
}

echo "TAP version 13"
check "refused" refused
echo "1..1"
