#!/bin/bash
# perf inject --recover-ring: recover the last records of rings from images of memory
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 180
#
# The images are built from recorded samples, in the layout that a kernel with
# PERF_SAMPLE_SIZE_AT_END has in its rings, so that the test runs on any kernel.
# tools/testing/vm/tests/inject_recover_ring_in_guest.sh uses images of such a kernel, and files of
# makedumpfile.

. "$(dirname "$0")/lib/numbered.sh"

need_numbered ring_image

# One ring for each CPU
numbered_event overwrite
recorder_start -a -m 1024 "${event[@]}" -o "$work/data"
numbered_start --rate 20000 --duration 1
numbered_end
recorder_stop
all=$(samples "$work/data")
((all >= 1000)) || error "only $all samples were recorded"

# texts FILE: print the samples in order of time
texts() {
	fields "$1" cpu,time,event,trace
}

# recover IMAGE: write the records of the image to $work/out
recover() {
	rm -f "$work/out"
	"$PERF" inject --recover-ring "$1" -i "$work/data" -o "$work/out" 2> "$work/inject.err"
}

# is_tail MOST LEAST: check that $work/out holds between LEAST and MOST of the last samples of
# $work/data
is_tail() {
	local nr

	nr=$(samples "$work/out")
	((nr >= $2 && nr <= $1)) || {
		note "$nr samples, not $2 to $1"
		cat "$work/inject.err"
		return 1
	}
	texts "$work/data" | sort > "$work/in.txt"
	texts "$work/out" | sort > "$work/out.txt"
	[ "$(comm -13 "$work/in.txt" "$work/out.txt" | wc -l)" = 0 ] || {
		note "the file has samples that were not recorded"
		return 1
	}
	readable "$work/out"
}

# image PAGES [SEED]: write $work/image, and set $whole to the number of samples that are whole in
# it
image() {
	whole=$("$BUILD/tests/ring_image" "$work/data" "$@" 2>&1 > "$work/image") ||
		fatal "ring_image: $whole"
	rings=$(($(stat -c %s "$work/image") / 4096 / $1 / ($# > 1 ? 2 : 1)))
}

# kdump IMAGE: write its pages to $work/dump as makedumpfile -c -d 1 does: compressed with zlib if
# that makes them smaller, and without those that are zero. The second half of the pages has
# addresses that are 1 TB higher. Set $list_at and $pages_at to where the list of pages and the
# pages begin.
kdump() {
	read -r list_at pages_at <<< "$(python3 - "$1" "$work/dump" <<-'END'
	import struct, sys, zlib
	page, packing, gap = 4096, 1, 1 << 28
	with open(sys.argv[1], 'rb') as file:
	    image = file.read()
	image += bytes(-len(image) % page)
	pages = {}
	for at in range(0, len(image), page):
	    if any(image[at:at + page]):
	        pages[at // page + (gap if at > len(image) // 2 else 0)] = image[at:at + page]
	blocks = max(pages) // (8 * page) + 1
	list_at = (2 + 2 * blocks) * page
	pages_at = list_at + len(pages) * 24
	with open(sys.argv[2], 'wb') as dump:
	    dump.write(struct.pack('<8si412xIIII', b'KDUMP   ', 6, packing, page, 1, 2 * blocks))
	    bits = {}
	    at = pages_at
	    for nr, pfn in enumerate(sorted(pages)):
	        bits[pfn // 8] = bits.get(pfn // 8, 0) | 1 << pfn % 8
	        packed = min(zlib.compress(pages[pfn], 1), pages[pfn], key=len)
	        dump.seek(list_at + nr * 24)
	        flags = packing if len(packed) < page else 0
	        dump.write(struct.pack('<QIIQ', at, len(packed), flags, 0))
	        dump.seek(at)
	        dump.write(packed)
	        at += len(packed)
	    for byte in bits:
	        dump.seek((2 + blocks) * page + byte)
	        dump.write(bytes([bits[byte]]))
	print(list_at, pages_at)
	END
	)"
}

# poke FILE OFFSET BYTES: replace bytes, written as \0OCTAL
poke() {
	printf %b "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# fails FILE TEXT: check that perf inject refuses the image, with TEXT in its message
fails() {
	recover "$1" && error "$1 is accepted"
	grep -qF -- "$2" "$work/inject.err" ||
		error "'$2' is not in: $(cat "$work/inject.err")"
}

subtest "rings that have not wrapped"
image 4096
recover "$work/image" || error "perf inject fails: $(cat "$work/inject.err")"
is_tail "$all" "$all" || error "samples are not recovered although the rings hold all of them"
cmp <(texts "$work/data") <(texts "$work/out") ||
	error "the recovered samples differ from the recorded ones"

# The oldest record of each ring may be missing: it may wrap, or be next to be overwritten.
subtest "rings that have wrapped"
image 16
recover "$work/image" || error "perf inject fails: $(cat "$work/inject.err")"
is_tail "$whole" $((whole - rings)) || error "whole samples are not recovered"

subtest "pages of all rings in random order"
image 16 1
recover "$work/image" || error "perf inject fails: $(cat "$work/inject.err")"
is_tail "$whole" $((whole - rings)) || error "whole samples of $rings rings are not recovered"

subtest "two copies of the rings among other bytes"
{
	head -c 12345 /dev/urandom
	cat "$work/image"
	head -c 77 /dev/urandom
	cat "$work/image"
	head -c 4321 /dev/urandom
} > "$work/twice"
recover "$work/twice" || error "perf inject fails: $(cat "$work/inject.err")"
is_tail "$whole" $((whole - rings)) || error "whole samples are not recovered"

subtest "an image that is cut off at both ends"
for cut in 1 4097 30001; do
	head -c -$cut "$work/image" | tail -c +$cut > "$work/cut"
	recover "$work/cut" || error "$cut bytes: perf inject fails: $(cat "$work/inject.err")"
	is_tail "$whole" 1 || error "$cut bytes: no last samples are recovered"
done

subtest "a kdump-compressed image"
for seed in "" 1; do
	image 16 $seed
	kdump "$work/image"
	recover "$work/image" || error "perf inject fails: $(cat "$work/inject.err")"
	mv "$work/out" "$work/out.raw"
	recover "$work/dump" || error "kdump: perf inject fails: $(cat "$work/inject.err")"
	cmp <(texts "$work/out.raw") <(texts "$work/out") ||
		error "the records differ from those of the image"
	[ "$(samples "$work/out")" -ge $((whole - rings)) ] ||
		error "whole samples are not recovered"
done

subtest "a damaged kdump-compressed image"
image 16
kdump "$work/image"
size=$(stat -c %s "$work/dump")
head -c $(((pages_at + size) / 2)) "$work/dump" > "$work/cut"
recover "$work/cut" || error "half of the pages: perf inject fails: $(cat "$work/inject.err")"
grep -qE 'is damaged: [0-9]+ of [0-9]+ pages' "$work/inject.err" ||
	error "half of the pages: $(cat "$work/inject.err")"
is_tail "$whole" 1 || error "half of the pages: no samples are recovered"
for cut in 16 $((list_at - 1)); do
	head -c "$cut" "$work/dump" > "$work/cut"
	fails "$work/cut" "its end is missing"
done
head -c $(((list_at + pages_at) / 2)) "$work/dump" > "$work/cut"
fails "$work/cut" "has no intact page"
cp "$work/dump" "$work/cut"
poke "$work/cut" 428 '\0\0\0\0'		# size of a page
fails "$work/cut" "header is damaged"
cp "$work/dump" "$work/cut"
poke "$work/cut" 436 '\0376\0377\0377\0377'	# size of the bitmaps
fails "$work/cut" "its end is missing"
# The first page has no length, the second one lies outside of the file, the last one is not what
# zlib wrote.
cp "$work/dump" "$work/cut"
poke "$work/cut" $((list_at + 8)) '\0\0\0\0'
poke "$work/cut" $((list_at + 24)) '\0\0\0\0\0\0\0\0177'
poke "$work/cut" $((size - 3)) '\0\0\0'
recover "$work/cut" || error "damaged pages: perf inject fails: $(cat "$work/inject.err")"
grep -q ' 3 of [0-9]* pages cannot be read' "$work/inject.err" ||
	error "damaged pages: $(cat "$work/inject.err")"
is_tail "$whole" 1 || error "samples are not recovered"

subtest "kdump-compressed images that are not read"
cp "$work/dump" "$work/cut"
poke "$work/cut" 424 '\04'
fails "$work/cut" "makedumpfile -c"
{ printf 'makedumpfile\0\0\0\0'; cat "$work/dump"; } > "$work/cut"
fails "$work/cut" "makedumpfile -R"
TMPDIR=$work/missing fails "$work/dump" "Set TMPDIR"

# The rings of all CPUs have records at the same positions.
subtest "rings written by BPF, from the memory of the recorder"
enter=raw_syscalls:sys_enter
if ! bpf_ring_works -a -e "$enter/overwrite/"; then
	inconclusive "$no_bpf_ring"
else
	recorder_start -a -m 64 --bpf-ring=yes -e "$enter/overwrite/" -o "$work/data"
	for cpu in $(sed 's/[-,]/ /g' /sys/devices/system/cpu/online); do
		taskset -c "$cpu" "$work/$comm" --threads 1 --tag 1 --count 10007 \
			> "$work/issued" ||
			error "no calls on CPU $cpu"
	done
	control disable || error "disable: $answer"
	python3 - "$recorder" > "$work/image" <<-'END'
	import sys
	process = f'/proc/{sys.argv[1]}'
	with open(f'{process}/maps') as maps, open(f'{process}/mem', 'rb') as memory:
	    for line in maps:
	        if 'anon_inode:bpf-map' in line:
	            begin, end = (int(number, 16) for number in line.split()[0].split('-'))
	            memory.seek(begin)
	            sys.stdout.buffer.write(memory.read(end - begin))
	END
	recorder_stop
	recover "$work/image" || error "perf inject fails: $(cat "$work/inject.err")"
	note "$(cat "$work/inject.err")"
	cpus=$(texts "$work/data" | grep -o '\[[0-9]*\]' | sort -u | wc -l)
	whole=$(samples "$work/data")
	is_tail "$whole" $((whole - cpus)) || error "samples are not recovered"
	grep -q "from $cpus rings" "$work/inject.err" || error "not $cpus rings"
fi

subtest "errors"
head -c 1000000 /dev/urandom > "$work/nothing"
recover "$work/nothing" && error "an image without records is accepted"
grep -q 'No record of these events' "$work/inject.err" ||
	error "an image without records: $(cat "$work/inject.err")"
recover "$work/missing" && error "an image that does not exist is accepted"
grep -q 'Cannot open' "$work/inject.err" ||
	error "an image that does not exist: $(cat "$work/inject.err")"
recover /dev/null && error "a device is accepted"
"$PERF" record -q -e dummy -o "$work/data" true 2> "$work/record.err"
recover "$work/image" && error "a file without overwritten events is accepted"
grep -q 'no overwritten events' "$work/inject.err" ||
	error "a file without overwritten events: $(cat "$work/inject.err")"

finish
