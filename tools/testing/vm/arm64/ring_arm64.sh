#!/bin/bash
# arm64: KUnit suites and kselftests of the ring buffer in a guest, with pages of 4 kB and of 64 kB
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 3600
# tags: night
# needs: arm64-kernel
#
# Builds the selftests statically for arm64, libperf's reader of overwrite rings included, and boots
# each kernel of make arm64-kernel once in QEMU, from an initramfs with init.c and the selftests.
# The CPU is a Cortex-A72: it has no atomic instructions but load-exclusive and store-exclusive.
# NMIs are pseudo-NMIs. The emulated CPUs reorder memory accesses no more than x86 does: litmus.sh
# is the test of the barriers.
#
# Arguments: sizes of pages, 4k 64k by default.

here=$(dirname "$(realpath "$0")")
top=${here%/tools/testing/vm/arm64}
BUILD=${BUILD:-$top/build}
linux=$BUILD/linux
out=$BUILD/arm64
limit=1500		# of one guest [s]
tests=("$top"/tools/testing/selftests/perf_events/*.c)
tests=("${tests[@]##*/}")
tests=("${tests[@]%.c}")
trouble='WARNING:|BUG:|kernel BUG at|Oops|Kernel panic|Internal error|INFO: (task|rcu[a-z_]*) |^init: '

skip()
{
	echo "1..0 # SKIP $1"
	exit 2
}

build()
{
	local cross=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-)

	unset MAKEFLAGS MFLAGS MAKELEVEL
	mkdir -p "$out"/{headers,libperf,selftests} &&
	make -s -C "$linux" O="$out/headers" "${cross[@]}" headers &&
	make -s -C "$linux/tools/lib/api" O="$out/libperf" "${cross[@]}" &&
	make -s -C "$linux/tools/lib/perf" O="$out/libperf" "${cross[@]}" \
		"$out/libperf/libperf.a" &&
	make -s -C "$linux/tools/testing/selftests/perf_events" OUTPUT="$out/selftests" \
		"${cross[@]}" \
		KHDR_INCLUDES="-isystem $out/headers/usr/include" LDFLAGS='-static -lpthread' \
		LIBPERF="$out/libperf/libperf.a $out/libperf/libapi.a" &&
	aarch64-linux-gnu-gcc -O2 -Wall -static -o "$out/init" "$here/init.c" &&
	{
		for dir in bin dev proc sys tmp tests; do
			echo "dir /$dir 755 0 0"
		done
		echo "nod /dev/console 600 0 0 c 5 1"
		echo "file /init $out/init 755 0 0"
		echo "slink /bin/true /init 777 0 0"
		for test in "${tests[@]}"; do
			echo "file /tests/$test $out/selftests/$test 755 0 0"
		done
	} >"$out/initramfs.list" &&
	"$BUILD/kernel-arm64-4k/usr/gen_init_cpio" "$out/initramfs.list" >"$out/initramfs"
}

# boot PAGES: run the guest, and print its output
boot()
{
	local append=(console=ttyAMA0 ignore_loglevel panic=-1 oops=panic
		      irqchip.gicv3_pseudo_nmi=1 kunit.enable=1 'kunit.filter_glob=perf_ring_*'
		      -- "${tests[@]}")

	: >"$out/output-$1"
	timeout "$limit" qemu-system-aarch64 -no-user-config -nodefaults -display none -no-reboot \
		-machine virt,gic-version=3 -accel tcg,thread=multi -cpu cortex-a72 -smp 2 -m 1G \
		-kernel "$BUILD/kernel-arm64-$1/arch/arm64/boot/Image" -initrd "$out/initramfs" \
		-append "${append[*]}" -serial "file:$out/console-$1.log" \
		-device virtio-serial-device -chardev "file,id=output,path=$out/output-$1" \
		-device virtserialport,nr=1,chardev=output
}

# results PAGES: print the output of a guest, and then what its kernel reported
results()
{
	sed "s/^@ /&$1:/; /^@done/d" "$out/output-$1"
	echo "@ $1:console"
	echo "1..1"
	if grep -q '^@done' "$out/output-$1" && ! grep -qE "$trouble" "$out/console-$1.log"; then
		echo "ok 1 - all tests have run, and the kernel reported no fault"
	else
		echo "not ok 1 - all tests have run, and the kernel reported no fault"
		{ grep -E "$trouble" "$out/console-$1.log" || tail "$out/console-$1.log"; } |
			sed 's/^/# /'
	fi
	echo "@end 0"
}

[ $# -gt 0 ] || set -- 4k 64k
type qemu-system-aarch64 aarch64-linux-gnu-gcc >/dev/null 2>&1 ||
	skip "no qemu-system-aarch64 or aarch64-linux-gnu-gcc: run make arm64-kernel"
for pages; do
	[ -e "$BUILD/kernel-arm64-$pages/arch/arm64/boot/Image" ] ||
		skip "no arm64 kernel: run make arm64-kernel"
done
if ! log=$(build 2>&1); then
	echo "$log"
	echo "Bail out! Cannot build the selftests for arm64"
	exit 1
fi
for pages; do
	boot "$pages" >&2
	results "$pages"
done | "$top/tools/testing/vm/join_tap"
