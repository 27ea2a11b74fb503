#!/bin/bash
# The software Intel PT as a module for a stock kernel
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
#
# Builds build/soft_pt-module/soft_pt.ko with the headers of a 6.12 kernel that are installed, or of
# the one in HEADERS (/usr/src/linux-headers-6.12...): nothing is used that is not exported. The
# decoder of instructions is not, there; it becomes part of the module.

top=$(realpath "$(dirname "$(realpath "$0")")/../../..")
linux=$top/build/linux
out=$top/build/soft_pt-module
headers=${HEADERS:-$(printf '%s\n' /usr/src/linux-headers-6.12*-amd64 | tail -n 1)}

if [ ! -e "$headers/Module.symvers" ]; then
	echo "there are no headers of a 6.12 kernel (linux-headers-6.12...-amd64)"
	exit 4
fi
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
make -C "$headers" M="$out" modules || exit
ls -l "$out/soft_pt.ko"
