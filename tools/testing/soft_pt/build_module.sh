#!/bin/bash
# The software Intel PT as a module for a stock kernel
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
#
# Builds build/soft_pt-module/soft_pt.ko for the unmodified kernel in build/kernel-upstream; without that,
# with the headers of a 6.12 kernel that are installed; or with those in HEADERS
# (/usr/src/linux-headers-6.12...): nothing is used that is not exported. The decoder of instructions is
# not, there; it becomes part of the module.

top=$(realpath "$(dirname "$(realpath "$0")")/../../..")
linux=$top/build/linux
out=$top/build/soft_pt-module
headers=${HEADERS:-$top/build/kernel-upstream}

# The list of exported symbols; where no module was built, as in build/kernel-upstream, vmlinux's is all.
find_symbols() {
	for symbols in "$headers"/{Module,vmlinux}.symvers; do
		[ -e "$symbols" ] && grep -q '^CONFIG_MODULES=y' "$headers/.config" && return
	done
	return 1
}

if ! find_symbols && [ -z "${HEADERS-}" ]; then
	headers=$(printf '%s\n' /usr/src/linux-headers-6.12*-amd64 | tail -n 1)
fi
if ! find_symbols; then
	echo "there is no kernel for it: neither build/kernel-upstream (make upstream-kernel) nor headers" \
		"(linux-headers-6.12...-amd64)"
	exit 4
fi
case $symbols in
*/vmlinux.symvers)
	export KBUILD_EXTRA_SYMBOLS=$symbols
esac
unset MAKEFLAGS MFLAGS MAKELEVEL
rm -rf "$out"
mkdir -p "$out" || exit
cp "$linux"/arch/x86/events/soft_pt/*.[ch] "$linux/arch/x86/lib/inat.c" "$out"
cp "$linux/arch/x86/lib/insn.c" "$out/decode.c"
awk -f "$linux/arch/x86/tools/gen-insn-attr-x86.awk" "$linux/arch/x86/lib/x86-opcode-map.txt" \
	> "$out/inat-tables.c" || exit
cat > "$out/Makefile" << 'END'
obj-m := soft_pt.o
soft_pt-y := pmu.o sysfs.o step.o insn.o packets.o area.o synth.o decode.o inat.o
CFLAGS_decode.o := -D__DISABLE_EXPORTS
END
make -C "$headers" M="$out" -j"$(nproc)" modules || exit
ls -l "$out/soft_pt.ko"
