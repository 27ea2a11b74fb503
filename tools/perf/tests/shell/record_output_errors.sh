#!/bin/bash
# perf record: a disk that is slow, full or broken: nothing is lost, or the recording ends readable
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 480

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_numbered spoil_writes

numbered_event

# ended FILE TEXT: the recording said TEXT and ended with status 255; all that it says is saved is in the
# file, which is readable
ended() {
	local said seen

	[ "$status" = 255 ] || wrong "it ends with status $status, not 255"
	grep -qF "Cannot write to $1: $2" "$work/record.err" || wrong "it does not say: Cannot write to $1: $2"
	readable "$1" || wrong "the file cannot be read"
	said=$(sed -n 's/.*Captured and wrote.*(\([0-9]*\) samples).*/\1/p' "$work/record.err")
	seen=$(samples "$1")
	echo "$seen samples are saved; $(grep -o '[0-9]* more records were recorded.*[^ ]' "$work/record.err")"
	[ "$said" = "$seen" ] || wrong "the recorder says $said samples"
	((seen > 0)) || wrong "no sample is saved: this shows nothing"
	numbered_check "$1" -- --quiet | grep -q ', 0 repeated, 0 out of order;' || wrong "the samples are not in order"
	rm -f "$work/said"
}

# endless [record options]: until an error ends it
endless() {
	timeout 60 "$PERF" record -B -a -m 256 "${event[@]}" "$@" -- "$work/$comm" --duration 60 \
		> "$work/issued" 2> "$work/record.err"
	status=$?
}

number=0
for io in sync aio uring; do
	# A file system for each: what is freed in one may be free a while later
	number=$((number + 1))
	small=$work/small$number
	mkdir "$small"
	if mount -t tmpfs -o size=6m tmpfs "$small" 2> "$work/mount.err"; then
		mounted+=("$small")
		echo "--- --io=$io: a full disk"
		endless --io=$io -o "$small/data"
		ended "$small/data" "No space left on device"
	else
		echo "note: no full disk: $(cat "$work/mount.err")"
	fi

	# Not a multiple of what direct I/O can write
	echo "--- --io=$io: a file must not be that large"
	(
		ulimit -f 5003
		endless --io=$io -o "$work/data$number"
		exit $status
	)
	status=$?
	ended "$work/data$number" "File too large"
	size=$(stat -c %s "$work/data$number")
	((size > 3900000 && size <= 5003 * 1024)) || wrong "the file has $size bytes"
done

# An image on a loop device, of a file system that takes direct I/O
if command -v mkfs.ext4 > "$work/mkfs" && truncate -s 12M "$work/image" &&
   mkfs.ext4 -q -O ^has_journal -m 0 "$work/image" 2> "$work/mount.err" && mkdir "$work/loop" &&
   mount -o loop "$work/image" "$work/loop" 2> "$work/mount.err"; then
	mounted+=("$work/loop")
	echo "--- --io=uring: a full disk that takes direct I/O"
	endless --io=uring -o "$work/loop/data"
	ended "$work/loop/data" "No space left on device"
else
	echo "note: no loop device with a file system: $(cat "$work/mount.err")"
fi

echo "--- -z: a file must not be that large"
(
	ulimit -f 3001
	endless -z -o "$work/compressed"
	exit $status
)
status=$?
ended "$work/compressed" "File too large"

echo "--- -z22: there is no memory for that"
for ((limit = 400; limit < 8000; limit += 300)); do
	(
		ulimit -v $((limit << 10))
		"$PERF" record -B -a "${event[@]}" -z22 -o "$work/data" -- "$work/$comm" --count 10007 \
			> "$work/issued" 2> "$work/record.err"
	)
	status=$?
	grep -q 'cannot compress' "$work/record.err" && break
	[ $status != 0 ] || fail "with $limit MB of address space there is enough of it, and with less it does not begin"
done
grep -qF -e "-z 22: cannot compress what is for $work/data: Cannot allocate memory" "$work/record.err" ||
	wrong "it does not say so"
[ $status = 255 ] || wrong "it ends with status $status, not 255"
grep -q ' (0 samples)' "$work/record.err" || wrong "samples are said to be saved"
grep -q 'more records were recorded, and could not be written' "$work/record.err" || wrong "no record is said to be missing"

# spoiled FAULT [record options] -- COMMAND: see helpers/spoil_writes.c
spoiled() {
	SPOIL_WRITES=$1 SPOIL_UNTIL=$work/over LD_PRELOAD=$(realpath "$BUILD/tests/spoil_writes") timeout -k 5 150 \
		"$PERF" record -B -a "${event[@]}" -o "$work/data" "${@:2}" > "$work/issued" 2> "$work/record.err"
	status=$?
}

# all_there: nothing was wrong, and nothing is missing
all_there() {
	[ "$status" = 0 ] || wrong "it ends with status $status"
	numbered_check "$work/data" -- --quiet --from-start --expect "$work/issued" || wrong "faults"
}

for io in sync aio uring; do
	echo "--- --io=$io: a disk that fails"
	spoiled 'once 50 5' --io=$io -m 256 -- "$work/$comm" --duration 60
	ended "$work/data" "Input/output error"

	echo "--- --io=$io: a disk that needs to be asked twice"
	spoiled 'trouble 1' --io=$io -m 2048 -- "$work/$comm" --count 10007
	all_there

	# The calls are all of one CPU, whose ring holds 2 MB, and what is recorded meanwhile is three times that
	echo "--- --io=$io: a disk that does not answer until the workload is over"
	rm -f "$work/over"
	# shellcheck disable=SC2016
	spoiled 'stall 2' --io=$io -m 512 -- \
		sh -c '"$1" --threads 1 --rate 10000 --count 50000; touch "$2"' sh "$work/$comm" "$work/over"
	all_there
done

finish
