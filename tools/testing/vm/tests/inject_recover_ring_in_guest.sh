#!/bin/bash
# perf inject --recover-ring: from the recorder's memory, vmcores, and the whole RAM of a machine
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 800
# tags: night
# needs: kernel stock-kernel
#
# In the guest, record numbered calls until the rings have wrapped, and disable the events. From
# then on the rings do not change, and all images of them must give the same records: the
# recorder's mappings, if BPF wrote the rings; vmcores as written by dump-guest-memory of QEMU and
# by makedumpfile; and the RAM of the guest, which is a file on the host, after the guest ended
# without shutting down. Our kernel writes the rings of the first guest, BPF those of the second
# one, whose kernel is Debian's.
#
# Environment: RATE, of the calls, default 4000 a second, because the guest is emulated.

. "$(dirname "$(realpath "$0")")/../guest.sh"

. "$TOP/tools/perf/tests/shell/lib/numbered.sh"

# copy_memory PID FILE: write all readable mappings, one after the other. In small pieces, because
# the guest has little memory, and the recorder reserves more than it uses.
copy_memory() {
	python3 - "$1" > "$2" << 'END'
import sys
with open(f'/proc/{sys.argv[1]}/maps') as maps, open(f'/proc/{sys.argv[1]}/mem', 'rb') as memory:
    for line in maps:
        span, mode, *_ = line.split()
        if mode[0] != 'r':
            continue
        begin, end = (int(number, 16) for number in span.split('-'))
        try:
            memory.seek(begin)
            for at in range(begin, end, 1 << 20):
                sys.stdout.buffer.write(memory.read(min(1 << 20, end - at)))
        except (OSError, ValueError):
            pass                        # [vvar], [vsyscall]
END
}

run_inside() {
	need perf root numbered raw_syscalls:sys_enter

	describe_memory
	numbered_event overwrite
	event+=("--bpf-ring=$1")
	recorder_start -v -a -m 64 "${event[@]}" -o "$work/data" --switch-output=signal \
		--write-buffer=1M
	numbered_start --rate "$RATE" --duration 4
	numbered_end
	control disable || fatal "Cannot disable the events"
	copy_memory "$recorder" "$VM_OUT/memory"
	control snapshot || fatal "no snapshot"
	find_snapshots "$work/data"
	[ "${#snapshots[@]}" = 1 ] || fatal "${#snapshots[@]} snapshots instead of one"
	cp "${snapshots[0]}" "$VM_OUT/saved"
	[ "$1" = yes ] || grep -q 'rings by PERF_SAMPLE_SIZE_AT_END' "$work/record.err" ||
		fatal "the rings do not use PERF_SAMPLE_SIZE_AT_END"
	sync
	touch "$VM_OUT/done"
	wait_until 100 test -e "$VM_OUT/dumped"
	# Reset the machine at once. The recorder still runs.
	echo b > /proc/sysrq-trigger
	sleep 100
}

# texts FILE: print its samples
texts() {
	fields "$1" cpu,time,event,trace | grep raw_syscalls | sort
}

# same_as_saved IMAGE: the image has all records that the recorder saved, except for the oldest
# record of each ring, and those that inject reports as doubtful. The oldest one may wrap while the
# one before it is overwritten, or may be about to be overwritten. A record is doubtful if a copy
# of the recorder, from which it has removed the trailer, disagrees with the ring.
same_as_saved() {
	local missing more nr doubtful

	"$PERF" inject --recover-ring "$1" -i "$out/saved" -o "$work/out" \
		2> "$work/inject.out" || return
	cat "$work/inject.out"
	doubtful=$(grep -oE '[0-9]+ doubtful' "$work/inject.out" | cut -d' ' -f1)
	texts "$work/out" > "$work/recovered.txt"
	nr=$(wc -l < "$work/saved.txt")
	more=$(comm -13 "$work/saved.txt" "$work/recovered.txt" | wc -l)
	missing=$(comm -23 "$work/saved.txt" "$work/recovered.txt" | wc -l)
	echo "saved $nr, missing $missing, additional $more"
	((nr >= 1000 && more == 0 && doubtful <= 100 && missing <= cpus + doubtful)) &&
		readable "$work/out"
}

# same_as_vmcore IMAGE: the image has exactly the records of the vmcore
same_as_vmcore() {
	same_as_saved "$1" && cmp "$work/recovered.txt" "$work/vmcore.txt"
}

# from_qemu RAM: its file is flattened, which perf inject refuses
from_qemu() {
	if "$PERF" inject --recover-ring "$1.flat" -i "$out/saved" -o "$work/out" \
	   2> "$work/inject.out" ||
	   ! grep -q "makedumpfile -R" "$work/inject.out"; then
		cat "$work/inject.out"
		return 1
	fi
	if ! command -v makedumpfile > /dev/null; then
		inconclusive "no makedumpfile"
		return
	fi
	makedumpfile -R "$1.kdump" < "$1.flat" > "$work/makedumpfile.out" 2>&1 &&
		same_as_vmcore "$1.kdump"
}

# check_makedumpfile RAM TITLE: check files of makedumpfile
check_makedumpfile() {
	local options

	if ! command -v makedumpfile > /dev/null || [ ! -s "$out/vmcoreinfo" ] ||
		[ ! -s "$out/kcore" ]; then
		nr=$((nr + 1))
		echo "ok $nr - $2: makedumpfile # SKIP no makedumpfile, or no VMCOREINFO"
		return
	fi
	write_elf "$1" "$1.elf"
	for options in "-c -d 0" "-l -d 0" "-c -d 31" "-l -d 31"; do
		# shellcheck disable=SC2086 # words
		makedumpfile -f $options "$1.elf" "$1.kdump" > "$work/makedumpfile.out" 2>&1 || {
			cat "$work/makedumpfile.out"
			fatal "makedumpfile $options fails"
		}
		case $options in
		*" 0")	check "$2: makedumpfile $options" same_as_vmcore "$1.kdump" ;;
		*)	check "$2: makedumpfile $options" same_as_saved "$1.kdump" ;;
		esac
	done
	rm -f "$1.elf" "$1.kdump"
}

if [ "${1-}" = --inside ]; then
	RATE=$2
	run_inside "$3"
	exit
fi

# images_of KERNEL BPF_RING TITLE: record in a guest with this kernel, and recover from each image
# of its memory
images_of() {
	local ram guest

	export KERNEL=$1 VM_DIR=$work/vm.$2
	mkdir "$VM_DIR"
	# A sparse file beside the checkout, because /tmp may be small.
	ram=$(mktemp "$BUILD/vm/ram.XXXXXX") || exit 1
	images+=("$ram" "$ram".{vmcore,flat,kdump,elf})
	export VM_QEMU="-object memory-backend-file,id=ram,size=$VM_MEM,mem-path=$ram,share=on \
		-machine memory-backend=ram -monitor unix:$work/monitor,server,nowait"
	"$TOP/tools/testing/vm/run" "$(printf '%q ' "$test_file" --inside "${RATE:-4000}" "$2")" \
		> "$work/guest.out" 2>&1 &
	guest=$!
	out=$VM_DIR/out
	wait_until "$VM_TIMEOUT" guest_has_finished
	[ -e "$out/done" ] || {
		cat "$work/guest.out"
		fatal "the guest did not finish"
	}
	qemu_monitor "dump-guest-memory $ram.vmcore" > "$work/monitor.out" 2>&1
	qemu_monitor "dump-guest-memory -z $ram.flat" > "$work/monitor.out" 2>&1
	touch "$out/dumped"
	wait "$guest"
	texts "$out/saved" > "$work/saved.txt"
	cpus=$("$PERF" script -f -i "$out/saved" -F cpu | sort -u | wc -l)
	# Not of perf's rings: /proc/PID/mem does not read mappings of page frames (VM_PFNMAP).
	[ "$2" = no ] || check "$3: memory of the recorder" same_as_saved "$out/memory"
	check "$3: vmcore" same_as_saved "$ram.vmcore"
	mv "$work/recovered.txt" "$work/vmcore.txt"
	check "$3: RAM of the machine" same_as_saved "$ram"
	check "$3: kdump-compressed vmcore of QEMU" from_qemu "$ram"
	rm -f "$ram".{vmcore,flat,kdump}
	check_makedumpfile "$ram" "$3"
	rm -f "$ram"
}

need_guest
need perf
export VM_TIMEOUT=${VM_TIMEOUT:-300} VM_MEM=768M
images=()
trap 'print_check_output; rm -f "${images[@]}"; cleanup' EXIT
guest_has_finished() {
	[ -e "$out/done" ] || gone "$guest"
}

echo "TAP version 13"
images_of "$BUILD/kernel" no "our kernel"
if [ -e "$BUILD/kernel-stock/vmlinux" ]; then
	images_of "$BUILD/kernel-stock" yes "rings by BPF"
else
	nr=$((nr + 1))
	echo "ok $nr - rings by BPF # SKIP no kernel of Debian (make stock-kernel)"
fi
echo "1..$nr"
