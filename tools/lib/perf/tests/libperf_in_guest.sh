#!/bin/bash
# Run libperf's test-overwrite.c and its examples in the guest, whose kernel has both kinds of ring
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 300

here=$(dirname "$(realpath "$0")")
export BUILD=${BUILD:-$here/../../../../build}

skip() {
	echo "1..0 # SKIP $1"
	exit 2
}

[ -e "${KERNEL:-$BUILD/kernel}/vmlinux" ] || skip "no guest kernel: run make kernel"
command -v qemu-system-x86_64 > /dev/null || skip "no qemu-system-x86_64: run make deps"

out=$("$here/libperf_installed.sh" --in-guest)
status=$?
echo "$out"
[ "$status" = 0 ] || exit "$status"
needed_lines=(sized backward 'sized: [1-9][0-9]* bytes written, copied.*')
[[ $out == *"not building the example with BPF"* ]] ||
	needed_lines+=('sized: [1-9][0-9]* bytes written, .* 0 rings paused')
for needed in "${needed_lines[@]}"; do
	grep -qx "$needed" <<< "$out" || {
		echo "FAIL: the output has no line '$needed'"
		exit 1
	}
done
