#!/bin/bash
# perf inject --recover-ring: the last records of rings, out of images of memory
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 180
#
# The images are made of recorded samples, as a kernel with PERF_SAMPLE_SIZE_AT_END would have them in its
# rings: this runs on any. tools/testing/vm/tests/inject_recover_ring_in_guest.sh has those of such a kernel.

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_numbered ring_image

# On both CPUs, or as many as there are: two rings or more
numbered_event overwrite
recorder_start -a -m 1024 "${event[@]}" -o "$work/data"
numbered_start --rate 20000 --duration 1
numbered_end
recorder_stop
all=$(samples "$work/data")
((all >= 1000)) || wrong "only $all samples were recorded"

# texts FILE: the samples, in order of time
texts() {
	"$PERF" script -f -i "$1" -F cpu,time,event,trace 2> "$work/script.err"
}

# recover IMAGE: to $work/out, and what it said to $work/said_by_inject
recover() {
	rm -f "$work/out"
	"$PERF" inject --recover-ring "$1" -i "$work/data" -o "$work/out" 2> "$work/said_by_inject"
}

# is_tail WHOLE AT_LEAST: $work/out has the samples of $work/data, or the last ones, WHOLE or AT_LEAST of them
is_tail() {
	local nr

	nr=$(samples "$work/out")
	((nr >= $2 && nr <= $1)) || {
		echo "$nr samples, not $2 to $1"
		cat "$work/said_by_inject"
		return 1
	}
	# Each CPU's are the last of that CPU.
	texts "$work/data" | sort > "$work/in.txt"
	texts "$work/out" | sort > "$work/out.txt"
	[ "$(comm -13 "$work/in.txt" "$work/out.txt" | wc -l)" = 0 ] || {
		echo "there are samples that were not recorded"
		return 1
	}
	readable "$work/out"
}

# image PAGES [SEED]: $work/image, and how many samples are $whole in it
image() {
	whole=$("$BUILD/tests/ring_image" "$work/data" "$@" 2>&1 > "$work/image") || fail "ring_image: $whole"
	rings=$(($(stat -c %s "$work/image") / 4096 / $1 / ($# > 1 ? 2 : 1)))
}

image 4096
recover "$work/image" || wrong "all: $(cat "$work/said_by_inject")"
is_tail "$all" "$all" || wrong "not all is recovered from rings that hold all"
cmp <(texts "$work/data") <(texts "$work/out") || wrong "it is not the same"

# Of each ring the oldest may be missing: it goes on where the ring begins, or is about to be replaced.
image 16
recover "$work/image" || wrong "went round: $(cat "$work/said_by_inject")"
is_tail "$whole" $((whole - rings)) || wrong "rings that went round"

image 16 1
recover "$work/image" || wrong "any order: $(cat "$work/said_by_inject")"
is_tail "$whole" $((whole - rings)) || wrong "pages in any order, of $rings rings in one image"

# Twice, with other bytes before, between and behind
{ head -c 12345 /dev/urandom; cat "$work/image"; head -c 77 /dev/urandom; cat "$work/image"; head -c 4321 /dev/urandom; } \
	> "$work/twice"
recover "$work/twice" || wrong "twice: $(cat "$work/said_by_inject")"
is_tail "$whole" $((whole - rings)) || wrong "two copies among other bytes"

for cut in 1 4097 30001; do
	head -c -$cut "$work/image" | tail -c +$cut > "$work/cut"
	recover "$work/cut" || wrong "cut: $(cat "$work/said_by_inject")"
	is_tail "$whole" 1 || wrong "an image from which $cut bytes are cut at both ends"
done

# What cannot be
head -c 1000000 /dev/urandom > "$work/nothing"
recover "$work/nothing" && wrong "there is nothing to recover, and no error"
grep -q 'No record of these events' "$work/said_by_inject" || wrong "nothing: $(cat "$work/said_by_inject")"
recover "$work/missing" && wrong "there is no such image, and no error"
grep -q 'Cannot open' "$work/said_by_inject" || wrong "missing: $(cat "$work/said_by_inject")"
recover /dev/null && wrong "a device is searched"
"$PERF" record -q -e dummy -o "$work/data" true 2> "$work/record.err"
recover "$work/image" && wrong "no overwritten events, and no error"
grep -q 'no overwritten events' "$work/said_by_inject" || wrong "no events: $(cat "$work/said_by_inject")"

finish
