#!/bin/bash
# soft_pt: build the module for an unmodified kernel
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel night
# timeout: 300
# needs: upstream-kernel
#
# Build soft_pt.ko in MODULE_DIR, build/soft_pt-module by default, for the unmodified kernel in
# build/kernel-upstream; else with the installed headers of a 6.12 kernel; or with those in HEADERS
# (/usr/src/linux-headers-6.12...-amd64). Only exported symbols are used. The instruction decoder
# is not exported there, so the module contains a copy.

top=$(realpath "$(dirname "$(realpath "$0")")/../../../..")
build=${BUILD:-$top/build}
linux=$build/linux
out=${MODULE_DIR:-$build/soft_pt-module}
headers=${HEADERS:-$build/kernel-upstream}

# Find the list of exported symbols. Without any module, as in build/kernel-upstream, that is
# vmlinux's.
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
	echo "1..0 # SKIP $headers has neither kernel headers nor a build with CONFIG_MODULES"
	exit 2
fi
if ! find_symbols; then
	echo "1..0 # SKIP neither build/kernel-upstream (make upstream-kernel) nor headers" \
		"(linux-headers-6.12...-amd64)"
	exit 2
fi

# The Makefile of a build or of headers includes that of the source, whose path may be relative.
source=$(sed -n 's,^include \(.*\)/Makefile$,\1,p' "$headers/Makefile")
source=$(cd "$headers" && realpath "${source:-.}")
if ! grep -q PERF_PMU_CAP_AUX_PAUSE "$source/include/linux/perf_event.h"; then
	echo "1..0 # SKIP $headers is too old: pausing AUX areas needs Linux 6.12.24 or 6.13;" \
		"apt-cache search linux-headers-6.12"
	exit 2
fi
if ! grep -q '^CONFIG_USER_RETURN_NOTIFIER=y' "$headers/.config"; then
	echo "1..0 # SKIP $headers has no USER_RETURN_NOTIFIER, which CONFIG_KVM selects"
	exit 2
fi

case $symbols in
*/vmlinux.symvers)
	export KBUILD_EXTRA_SYMBOLS=$symbols
esac
unset MAKEFLAGS MFLAGS MAKELEVEL
rm -rf "$out"
mkdir -p "$out" || exit 1
cp "$linux"/arch/x86/events/soft_pt/*.[ch] "$linux/arch/x86/lib/inat.c" "$out"
cp "$linux/arch/x86/lib/insn.c" "$out/decode.c"
awk -f "$linux/arch/x86/tools/gen-insn-attr-x86.awk" "$linux/arch/x86/lib/x86-opcode-map.txt" \
	> "$out/inat-tables.c" || exit 1
cat > "$out/Makefile" << 'END'
obj-m := soft_pt.o
soft_pt-y := pmu.o sysfs.o step.o insn.o packets.o pebs.o area.o synth.o decode.o inat.o
CFLAGS_decode.o := -D__DISABLE_EXPORTS
END
# Without BTF, which would need pahole if the headers come with a vmlinux.
make -C "$headers" M="$out" -j"$(nproc)" CONFIG_DEBUG_INFO_BTF_MODULES= modules || exit 1
ls -l "$out/soft_pt.ko"
