#!/bin/bash
# Kernel packages: checked by lintian, installed in a clean Debian, booted, recorded on, and purged
# SPDX-License-Identifier: GPL-2.0-only
# tags: night
# timeout: 1800
#
# Test the newest packages in build/deb-kernel; KERNEL_PACKAGES names another directory. They are
# not made here: make deb-kernel takes hours. lib/container.sh describes the clean Debian. QEMU
# boots the kernel from an image of it, with the initramfs that the installation made.

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
. "$top/packaging/tests/lib/container.sh"

directory=${KERNEL_PACKAGES:-$BUILD/deb-kernel}
image=$(find "$directory" -maxdepth 1 -name 'linux-image-*.deb' -printf '%T@ %p\n' 2> /dev/null |
	sort -n | tail -n 1 | cut -d ' ' -f 2-)
[ -n "$image" ] || skip "no linux-image in $directory: run make deb-kernel (hours)"
release=$(dpkg-deb -c "$image" | sed -n 's,.*/boot/vmlinuz-,,p')
headers=$(find "$directory" -maxdepth 1 -name "linux-headers-${release}_*.deb")
[ -n "$headers" ] || fatal "no linux-headers-$release in $directory"
note "release $release"

mount_container
make -C "$top" deb > "$work/log" 2>&1 || fatal "make deb fails: $(tail -n 20 "$work/log")"

# Linux packages the programs of linux-headers (fixdep, modpost, objtool) with their symbols.
subtest "lintian finds no error but unstripped programs in linux-headers"
lintian --allow-root --fail-on error --suppress-tags unstripped-binary-or-object "$image" \
	"$headers" > "$work/log" 2>&1 || error "$(grep '^E:' "$work/log" || cat "$work/log")"

subtest "the packages are installed, with an initramfs"
install_packages "$image" "$headers" "$(echo "$BUILD"/deb/perf-recorder_*.deb)"
kernel=$root/boot/vmlinuz-$release
initramfs=$root/boot/initrd.img-$release
for file in "$kernel" "$initramfs"; do
	[ -s "$file" ] || fatal "no $file"
done

subtest "a module is built with linux-headers, and includes the header of the trailer"
mkdir "$work/module"
cat > "$work/module/hello.c" << 'EOF'
#include <linux/module.h>
#include <uapi/linux/perf_event_trailer.h>
static int __init hello_init(void)
{
	pr_info("the trailer's flag is %llx\n", (u64)PERF_SAMPLE_SIZE_AT_END);
	return 0;
}
static void __exit hello_exit(void) { }
module_init(hello_init);
module_exit(hello_exit);
MODULE_DESCRIPTION("test of linux-headers");
MODULE_LICENSE("GPL");
EOF
echo "obj-m := hello.o" > "$work/module/Makefile"
make -C "$root/usr/src/linux-headers-$release" M="$work/module" modules > "$work/log" 2>&1 ||
	error "it does not build: $(tail -n 5 "$work/log")"
cp "$work/module/hello.ko" "$root/root/" 2> /dev/null

# The guest has one CPU: QEMU 7.2 can execute a breakpoint that another CPU has removed, which kills
# a kernel that patches its code.
subtest "the kernel boots from a disk"
cat > "$root/root/check" << 'EOF'
#!/bin/bash
mount -o remount,rw /
mount -t tracefs tracefs /sys/kernel/tracing
cd /root
uname -r > release
insmod hello.ko > module.err 2>&1 && grep -c '^hello ' /proc/modules > module
perf-recorder record -v -a -e sched:sched_switch/overwrite/ --switch-output -o data -- sleep 1 \
	> record.err 2>&1
perf-recorder script -i data.2* -F comm,event > script 2> script.err
mount -o remount,ro /
echo b > /proc/sysrq-trigger
EOF
chmod +x "$root/root/check"
# mke2fs -d also takes what is mounted below: the packages that apt has downloaded.
mkdir "$work/disk"
mount --bind "$root" "$work/disk"
mounted=("$work/disk" "${mounted[@]}")
mke2fs -q -t ext4 -d "$work/disk" "$work/image" 4G > "$work/log" 2>&1 || fatal "$(cat "$work/log")"
timeout 900 qemu-system-x86_64 -no-user-config -nodefaults -display none -no-reboot -accel tcg \
	-cpu max -m 2G -kernel "$kernel" -initrd "$initramfs" -serial "file:$work/console" \
	-drive "file=$work/image,format=raw,if=virtio" \
	-append "console=ttyS0 root=/dev/vda init=/root/check panic=-1 oops=panic no_timer_check"
result() {
	debugfs -R "cat /root/$1" "$work/image" 2> /dev/null
}
[ "$(result release)" = "$release" ] || fatal "$(tail -n 20 "$work/console")"

subtest "its kernel logs no warning"
trouble=$(grep -E 'WARNING:|BUG:|Oops|Call Trace' "$work/console") && error "$trouble"

subtest "the module is loaded"
[ "$(result module)" = 1 ] || error "$(result module.err)"

subtest "perf-recorder takes snapshots with PERF_SAMPLE_SIZE_AT_END"
(($(result script | grep -c sched:sched_switch) > 2)) ||
	error "no events: $(result record.err; result script.err)"
result record.err | grep -q 'rings by PERF_SAMPLE_SIZE_AT_END' ||
	error "the ABI is not used: $(result record.err)"

subtest "the packages are purged"
inside dpkg --purge "$(dpkg-deb -f "$image" Package)" "$(dpkg-deb -f "$headers" Package)" \
	> "$work/log" 2>&1 || error "$(cat "$work/log")"
(cd "$upper" && find boot usr/lib/modules usr/src -name "*$release*" ! -type c) > "$work/left"
[ ! -s "$work/left" ] || error "left behind: $(cat "$work/left")"

finish
