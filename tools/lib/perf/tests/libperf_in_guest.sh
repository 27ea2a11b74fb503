#!/bin/bash
# libperf's own tests of snapshots, and its example, on the guest's kernel: rings of both kinds
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300

here=$(dirname "$(realpath "$0")")
export BUILD=${BUILD:-$here/../../../../build}

skip() {
	echo "$1"
	exit 4
}

[ -e "${KERNEL:-$BUILD/kernel}/arch/x86/boot/bzImage" ] || skip "there is no guest kernel (make kernel)"
command -v qemu-system-x86_64 > /dev/null || skip "there is no qemu-system-x86_64 (make deps)"

out=$("$here/libperf_installed.sh" --in-guest)
status=$?
echo "$out"
[ "$status" = 0 ] || exit "$status"
for needed in sized backward 'sized: [1-9][0-9]* bytes written.*'; do
	grep -qx "$needed" <<< "$out" || {
		echo "FAIL: there is no line '$needed'"
		exit 1
	}
done
