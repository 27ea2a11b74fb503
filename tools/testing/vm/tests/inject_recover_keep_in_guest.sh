#!/bin/bash
# perf inject --recover-keep: from images of the memory of a machine that is stopped, or has panicked
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 1200
# tags: parallel night
# needs: stock-kernel
#
# The guest has Debian's kernel. A recorder keeps numbered calls in a file on a tmpfs. QEMU stops
# the guest at any instant, and writes dumps of its memory; the guest goes on, panics, and ends
# without shutting down. The file that backs its memory is the image then, and makedumpfile filters
# it. No call may be missing from the span that perf claims.
#
# In the first guest, the file is scattered over the memory: before it is created, every other page
# of a larger file is freed. In the second one it lies in large pages.
#
# Environment: RATE, of the calls, default 4000 a second, because the guest is emulated.

. "$(dirname "$(realpath "$0")")/../guest.sh"
. "$TOP/tools/perf/tests/shell/lib/numbered.sh"

# scatter FILE: take 128 MB, and free every other page of it
scatter() {
	python3 - "$1" <<-'END'
	import ctypes, os, sys
	fallocate = ctypes.CDLL(None, use_errno=True).fallocate
	fallocate.argtypes = ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long
	file, size, page = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), 128 << 20, 4096
	os.posix_fallocate(file, 0, size)
	for at in range(0, size, 2 * page):
	    fallocate(file, 3, at, page) == 0 or sys.exit(os.strerror(ctypes.get_errno()))
	END
}

# count_pages PID FILE: print how many pages of the file are mapped, and how many of these follow
# the page before in memory
count_pages() {
	python3 - "$1" "$2" <<-'END'
	import struct, sys
	pages = neighbours = last = 0
	with open(f'/proc/{sys.argv[1]}/maps') as maps, \
	     open(f'/proc/{sys.argv[1]}/pagemap', 'rb') as pagemap:
	    for line in maps:
	        if not line.rstrip().endswith(' ' + sys.argv[2]):
	            continue
	        begin, end = (int(number, 16) // 4096 for number in line.split()[0].split('-'))
	        pagemap.seek(begin * 8)
	        for word, in struct.iter_unpack('Q', pagemap.read((end - begin) * 8)):
	            frame = word & (1 << 55) - 1 if word >> 63 else 0
	            pages += frame > 0
	            neighbours += frame > 0 and frame == last + 1
	            last = frame
	print(pages, neighbours)
	END
}

# run_inside HUGE RATE
run_inside() {
	need perf root numbered raw_syscalls:sys_enter

	describe_memory
	mount -t tmpfs -o "huge=$1" tmpfs /mnt || fatal "no tmpfs with huge=$1"
	[ "$1" = always ] || scatter /mnt/other || fatal "Cannot free every other page"
	numbered_event
	recorder_start -a "${event[@]}" -o "$work/data" --keep=60s,32M --keep-file=/mnt/box
	numbered_start --threads 2 --unpinned --rate "$2" --duration 600
	pause 12
	{ ! gone "$recorder" && ! gone "$numbered" && [ -s /mnt/box ]; } ||
		fatal "nothing is recorded: $(< "$work/record.err")"
	count_pages "$recorder" /mnt/box > "$VM_OUT/pages"
	awk '/^ShmemPmdMapped/ { sum += $2 } END { print sum }' "/proc/$recorder/smaps" \
		> "$VM_OUT/large"
	touch "$VM_OUT/recorded"
	wait_until 200 test -e "$VM_OUT/dumped"
	pause "2.$((RANDOM % 900 + 100))"
	echo c > /proc/sysrq-trigger
	sleep 100
}

if [ "${1-}" = --inside ]; then
	patience=100
	run_inside "${@:2}"
	exit
fi

has_recorded() {
	[ -e "$out/recorded" ] || gone "$guest"
}

# boot HUGE RAM: start the guest, whose memory is the file RAM, and wait until it has recorded
boot() {
	local library=()

	rm -rf "$VM_DIR"
	mkdir -p "$out"
	! stub_llvm || library=(env "LD_LIBRARY_PATH=$VM_DIR/lib")
	export VM_QEMU="-object memory-backend-file,id=ram,size=$VM_MEM,mem-path=$2,share=on \
		-machine memory-backend=ram -monitor unix:$work/monitor,server,nowait"
	"$TOP/tools/testing/vm/run" \
		"$(printf '%q ' "${library[@]}" "$test_file" --inside "$1" "${RATE:-4000}")" \
		> "$work/guest.out" 2>&1 &
	guest=$!
	wait_until "$VM_TIMEOUT" has_recorded
	[ -e "$out/recorded" ] ||
		fatal "the guest has not recorded: $(tail -n 20 "$work/guest.out" \
			"$VM_DIR/console.log")"
}

# is_recovered IMAGE: no call is missing from the span that perf claims, which is at least a second
is_recovered() {
	local begin end

	"$PERF" inject --recover-keep "$1" -o "$work/recovered" 2> "$work/inject.err" ||
		{ error "perf inject fails: $(< "$work/inject.err")"; return; }
	read -r begin end < <(sed -n 's/.*missing from \([0-9.]*\) to \([0-9.]*\) s.*/\1 \2/p' \
		"$work/inject.err")
	note "$(grep Recovered "$work/inject.err")"
	[ -n "$end" ] || { error "no span: $(< "$work/inject.err")"; return; }
	! grep -q 'damaged\|are not in' "$work/inject.err" || error "$(< "$work/inject.err")"
	awk "BEGIN { exit !($end - $begin > 1) }" || error "less than a second"
	trace_options=(--time "$begin,$end")
	numbered_check "$work/recovered" > "$work/check" ||
		error "calls are missing or repeated: $(< "$work/check")"
	grep -q '^thread 1:' "$work/check" && grep -q '^thread 2:' "$work/check" ||
		error "no calls: $(< "$work/check")"
	texts "$work/recovered" > "$work/recovered.txt"
}

# texts FILE: print its events
texts() {
	fields "$1" comm,tid,cpu,time,event,trace
}

# same_as_before IMAGE: it has the same events as the image before
same_as_before() {
	mv "$work/recovered.txt" "$work/before.txt"
	is_recovered "$1"
	cmp "$work/before.txt" "$work/recovered.txt" || error "not the same events"
}

# is_refused IMAGE TEXT
is_refused() {
	! "$PERF" inject --recover-keep "$1" -o "$work/recovered" 2> "$work/inject.err" ||
		error "$1 is accepted"
	grep -qF -- "$2" "$work/inject.err" || error "'$2' is not in: $(< "$work/inject.err")"
}

# stop_and_dump HUGE RAM
stop_and_dump() {
	local pages neighbours large

	subtest "huge=$1: a vmcore of QEMU"
	qemu_monitor stop > "$work/monitor.out" 2>&1
	qemu_monitor "dump-guest-memory $2.vmcore" > "$work/monitor.out" 2>&1
	qemu_monitor "dump-guest-memory -z $2.flat" > "$work/monitor.out" 2>&1
	qemu_monitor "pmemsave 0 $((768 << 20)) \"$2.raw\"" > "$work/monitor.out" 2>&1
	touch "$out/dumped"
	qemu_monitor cont > "$work/monitor.out" 2>&1
	read -r pages neighbours < "$out/pages"
	large=$(< "$out/large")
	note "$pages pages are mapped, $neighbours of them behind each other, $large kB as large ones"
	case $1 in
	always)	((large)) || inconclusive "no large pages" ;;
	*)	((neighbours < pages / 10)) || inconclusive "the pages are not scattered" ;;
	esac
	is_recovered "$2.vmcore"

	subtest "huge=$1: from pmemsave of QEMU"
	same_as_before "$2.raw"

	subtest "huge=$1: a kdump-compressed file of QEMU"
	is_refused "$2.flat" "makedumpfile -R"
	if command -v makedumpfile > /dev/null; then
		makedumpfile -R "$2.kdump" < "$2.flat" > "$work/makedumpfile.out" 2>&1 ||
			error "$(< "$work/makedumpfile.out")"
		same_as_before "$2.kdump"
	else
		inconclusive "no makedumpfile"
	fi
	rm -f "$2".{vmcore,flat,raw,kdump}
}

# filter HUGE RAM: all levels of makedumpfile, alone, and together
filter() {
	local options

	if ! command -v makedumpfile > /dev/null; then
		subtest "huge=$1: makedumpfile"
		inconclusive "no makedumpfile"
		return
	fi
	write_elf "$2" "$2.elf"
	for options in "-c -d 0" "-l -d 1" "-c -d 25" "-l -d 2" "-l -d 31"; do
		subtest "huge=$1: makedumpfile $options"
		# shellcheck disable=SC2086 # words
		makedumpfile -f $options "$2.elf" "$2.kdump" > "$work/makedumpfile.out" 2>&1 ||
			error "$(< "$work/makedumpfile.out")"
		case $options in
		*" 2" | *31)	is_refused "$2.kdump" "-d 25 keeps them" ;;
		*)		same_as_before "$2.kdump" ;;
		esac
	done
	rm -f "$2".{elf,kdump}
}

# images_of HUGE: record with huge=HUGE, and recover from each image
images_of() {
	local ram

	# A sparse file beside the checkout, because /tmp may be small.
	ram=$(mktemp "$BUILD/vm/ram.XXXXXX") || exit 1
	images+=("$ram" "$ram".{vmcore,flat,raw,kdump,elf})
	boot "$1" "$ram"
	stop_and_dump "$1" "$ram"
	subtest "huge=$1: after a panic"
	wait "$guest"
	grep -q 'Kernel panic.*sysrq triggered crash' "$VM_DIR/console.log" ||
		error "no panic: $(tail "$VM_DIR/console.log")"
	is_recovered "$ram"
	filter "$1" "$ram"
	rm -f "$ram"
}

export KERNEL=${KERNEL:-$BUILD/kernel-stock}
need_guest
need_numbered
export VM_DIR=$work/vm VM_TIMEOUT=${VM_TIMEOUT:-560} VM_MEM=768M
out=$VM_DIR/out
images=()
trap 'rm -f "${images[@]}"; cleanup' EXIT
mkdir -p "$BUILD/vm"

for huge in ${HUGE:-never always}; do
	images_of "$huge"
done
finish
