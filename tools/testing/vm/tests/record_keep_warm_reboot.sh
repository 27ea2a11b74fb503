#!/bin/bash
# perf record --keep-file in memory that a reset leaves alone: the next boot recovers what was kept
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 1200
# tags: parallel night
# needs: stock-kernel
#
# The guest has Debian's kernel. A file system with DAX lies in memory that memmap= reserves. QEMU
# resets the machine while the recorder keeps numbered calls, and the same command runs again. ext4
# writes its journal every 5 s by itself: only ext2 fails if perf does not sync the file and its
# directory.
#
# Environment: RATE, of the calls, default 4000 a second, because the guest is emulated; RESETS, the
# number of resets, each of a recorder of its own, default 1; FILE_SYSTEMS.

. "$(dirname "$(realpath "$0")")/../guest.sh"
. "$TOP/tools/perf/tests/shell/lib/numbered.sh"

box=/mnt/box

# The guest has no other place that outlives the reset: $VM_OUT is on the host.
record_inside() {
	case $1 in
	ext2) mkfs.ext2 -q -b 4096 /dev/pmem0 ;;
	ext4) mkfs.ext4 -q -b 4096 /dev/pmem0 ;;
	esac || fatal "no file system in /dev/pmem0"
	mount -o dax /dev/pmem0 /mnt || fatal "no DAX"
	numbered_event
	recorder_start -a "${event[@]}" -o "$work/data" --keep=60s,32M --keep-file="$box"
	numbered_start --threads 2 --unpinned --rate "$2" --duration 600
	pause 15
	# A recorder that ends removes the file; one that cannot save its records does not.
	! gone "$recorder" && ! gone "$numbered" && [ -s "$box" ] ||
		fatal "nothing is recorded: $(< "$work/record.err")"
	touch "$VM_OUT/recorded"
	sleep 600
}

recover_inside() {
	mount -o dax /dev/pmem0 /mnt && "$PERF" inject --recover-keep "$box" -o "$VM_OUT/recovered"
	touch "$VM_OUT/ended"
	sleep 600
}

if [ "${1-}" = --inside ]; then
	patience=100
	if [ ! -e "$VM_OUT/reset" ]; then
		record_inside "${@:2}"
	else
		recover_inside > "$VM_OUT/inject.err" 2>&1
	fi
	exit
fi

# reached FILE: has the guest written it, or ended?
reached() {
	[ -e "$out/$1" ] || gone "$guest"
}

# reset_machine FILE_SYSTEM: record, reset, recover
reset_machine() {
	local library=()

	rm -rf "$VM_DIR"
	mkdir -p "$out"
	! stub_llvm || library=(env "LD_LIBRARY_PATH=$VM_DIR/lib")
	"$TOP/tools/testing/vm/run" \
		"$(printf '%q ' "${library[@]}" "$test_file" --inside "$1" "${RATE:-4000}")" \
		> "$work/guest.out" 2>&1 &
	guest=$!
	wait_until "$VM_TIMEOUT" reached recorded
	pause "0.$((RANDOM % 900 + 100))"
	touch "$out/reset"
	qemu_monitor system_reset > "$work/monitor.out" 2>&1 || error "QEMU is not reset"
	wait_until "$VM_TIMEOUT" reached ended
	qemu_monitor quit > "$work/monitor.out" 2>&1
	wait "$guest"
	[ -e "$out/ended" ] ||
		error "the guest has not recovered: $(tail -n 20 "$work/guest.out" "$VM_DIR/console.log")"
}

is_recovered() {
	local begin end

	read -r begin end < <(sed -n 's/.*missing from \([0-9.]*\) to \([0-9.]*\) s.*/\1 \2/p' \
		"$out/inject.err")
	note "$(grep Recovered "$out/inject.err")"
	[ -n "$end" ] || { error "no span: $(< "$out/inject.err")"; return; }
	awk "BEGIN { exit !($end - $begin > 1) }" || error "less than a second"
	trace_options=(--time "$begin,$end")
	numbered_check "$out/recovered" > "$work/check" ||
		error "calls are missing or repeated: $(< "$work/check")"
	grep -q '^thread 1:' "$work/check" && grep -q '^thread 2:' "$work/check" ||
		error "no calls: $(< "$work/check")"
}

export KERNEL=${KERNEL:-$BUILD/kernel-stock}
need_guest
need_numbered
export VM_DIR=$work/vm VM_TIMEOUT=${VM_TIMEOUT:-560} VM_MEM=1G VM_APPEND='memmap=128M!640M'
export VM_QEMU="-action reboot=reset -monitor unix:$work/monitor,server,nowait"
out=$VM_DIR/out

for file_system in ${FILE_SYSTEMS:-ext4 ext2}; do
	for ((reset = 1; reset <= ${RESETS:-1}; reset++)); do
		subtest "$file_system, reset $reset"
		reset_machine "$file_system"
		is_recovered
	done
done
finish
