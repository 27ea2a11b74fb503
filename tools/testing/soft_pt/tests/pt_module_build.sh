#!/bin/bash
# The software Intel PT as a module for a stock kernel
# SPDX-License-Identifier: GPL-2.0-only
# needs: upstream-kernel
# timeout: 300
#
# Builds build/soft_pt-module/soft_pt.ko for the unmodified kernel in build/kernel-upstream; without that,
# with the headers of a 6.12 kernel that are installed; or with those in HEADERS
# (/usr/src/linux-headers-6.12...-amd64): nothing is used that is not exported. The decoder of instructions is
# not, there; it becomes part of the module.

top=$(realpath "$(dirname "$(realpath "$0")")/../../../..")
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
	headers=$(printf '%s\n' /usr/src/linux-headers-6.12*-amd64 | sort -V | tail -n 1)
fi
if ! find_symbols && [ -n "${HEADERS-}" ]; then
	echo "$headers is neither headers nor a build of a kernel that takes modules"
	exit 4
fi
if ! find_symbols; then
	echo "there is no kernel for it: neither build/kernel-upstream (make upstream-kernel) nor headers" \
		"(linux-headers-6.12...-amd64)"
	exit 4
fi

# Headers and builds that lie elsewhere include the source's Makefile.
source=$(sed -n 's,^include \(.*\)/Makefile$,\1,p' "$headers/Makefile")
if ! grep -q PERF_PMU_CAP_AUX_PAUSE "${source:-$headers}/include/linux/perf_event.h"; then
	echo "$headers is too old: AUX areas cannot be paused there. Linux 6.12.24 can, or 6.13;" \
		"apt-cache search linux-headers-6.12"
	exit 4
fi
if ! grep -q '^CONFIG_USER_RETURN_NOTIFIER=y' "$headers/.config"; then
	echo "$headers has no USER_RETURN_NOTIFIER, which comes with KVM (CONFIG_KVM)"
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
soft_pt-y := pmu.o sysfs.o step.o insn.o packets.o pebs.o area.o synth.o decode.o inat.o
CFLAGS_decode.o := -D__DISABLE_EXPORTS
END
# No types of its own for BPF: that would need pahole, with headers that have a vmlinux.
make -C "$headers" M="$out" -j"$(nproc)" CONFIG_DEBUG_INFO_BTF_MODULES= modules || exit
ls -l "$out/soft_pt.ko"
