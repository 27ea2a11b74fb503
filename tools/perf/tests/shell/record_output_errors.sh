#!/bin/bash
# perf record on a slow, full or broken disk: no data is lost, or the recording ends with a readable file
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 480

. "$(dirname "$0")/lib/numbered.sh"

need_numbered spoil_writes

numbered_event

# ended FILE REASON: check that perf record printed the reason and exited with its status, and that
# the file is readable and holds all samples that perf record counts as written
ended() {
	local written seen expected=255

	case $2 in "No space"* | "File too large") expected=254 ;; esac
	[ "$status" = $expected ] || error "exit status $status, not $expected"
	grep -qF "Cannot write to $1: $2" "$work/record.err" ||
		error "no message: Cannot write to $1: $2"
	readable_samples=0
	readable "$1" || error "the file cannot be read"
	seen=$readable_samples
	written=$(sed -n 's/.*Captured and wrote.*(\([0-9]*\) samples).*/\1/p' "$work/record.err")
	note "$seen samples in the file; $(grep -o '[0-9]* records could not be written.*[^ ]' "$work/record.err")"
	[ "$written" = "$seen" ] || error "perf record reports $written samples"
	((seen > 0)) || inconclusive "no sample was written"
	numbered_check "$1" -- --quiet | grep -q ', 0 repeated, 0 out of order;' ||
		error "samples are repeated or out of order"
}

# endless [record options]: record until an error ends the recording
calls=(--idle --duration 60)
endless() {
	timeout 300 "$PERF" record -B -a -m 256 "${event[@]}" "$@" -- "$work/$comm" "${calls[@]}" \
		> "$work/issued" 2> "$work/record.err"
	status=$?
}

number=0
for io in sync aio uring; do
	# One file system for each back end: deleted files may be freed late.
	number=$((number + 1))
	small=$work/small$number
	subtest "--io=$io: a full disk"
	if mount_small "$small" 2m; then
		endless --io=$io -o "$small/data"
		ended "$small/data" "No space left on device"
	fi

	# Not a multiple of the block size of direct I/O
	subtest "--io=$io: the limit of the file size"
	(
		ulimit -f 2503
		endless --io=$io -o "$work/data$number"
		exit $status
	)
	status=$?
	ended "$work/data$number" "File too large"
	size=$(stat -c %s "$work/data$number")
	((size > 1000000 && size <= 2503 * 1024)) || error "the file has $size bytes"
done

# A binary that is as large as the space that is reserved for the features
shared=$work/shared
subtest "a full disk that the build-id cache is on, too"
if mount_small "$shared" 2m; then
	cp "$(command -v sh)" "$work/large"
	truncate -s $(((1 << 20) + (8 << 10))) "$work/large"
	timeout 300 "$PERF" --buildid-dir "$shared/cache" record -m 256 -e cpu-clock:u \
		--call-graph dwarf -o "$shared/data" -- "$work/large" -c 'while :; do :; done' \
		2> "$work/record.err"
	status=$?
	[ "$status" = 254 ] || error "exit status $status, not 254"
	grep -F 'Cannot complete the header' "$work/record.err" && error "features are missing"
	readable "$shared/data" || error "the file cannot be read"
	"$PERF" report -f -i "$shared/data" --header-only 2> "$work/report.err" |
		grep -q 'hostname' || error "the header has no hostname"
fi

# Too little space for the usual reserve: perf takes a small one for the header's features.
tiny=$work/tiny
subtest "a full disk of 1 MB"
if mount_small "$tiny" 1m; then
	endless -o "$tiny/data"
	ended "$tiny/data" "No space left on device"
fi
subtest "a limit of the file size below 1 MB"
(
	ulimit -f 701
	endless -o "$work/tiny.data"
	exit $status
)
status=$?
ended "$work/tiny.data" "File too large"

# ext4 on a loop device: a file system with direct I/O
subtest "--io=uring: a full disk with direct I/O"
if command -v mkfs.ext4 > "$work/mkfs" && truncate -s 3M "$work/image" &&
   mkfs.ext4 -q -O ^has_journal -m 0 "$work/image" 2> "$work/mount.err" && mkdir "$work/loop" &&
   mount -o loop "$work/image" "$work/loop" 2> "$work/mount.err"; then
	mounted+=("$work/loop")
	endless --io=uring -o "$work/loop/data"
	ended "$work/loop/data" "No space left on device"
else
	inconclusive "cannot mount ext4 on a loop device: $(cat "$work/mount.err")"
fi

# Stacks of noise, which can hardly be compressed
subtest "-z: the limit of the file size"
(
	ulimit -f 2503
	calls+=(--noise --rate 4000)
	endless -z --call-graph dwarf,4096 -o "$work/compressed"
	exit $status
)
status=$?
ended "$work/compressed" "File too large"

# named_tasks [record options]: fill a file system while tasks with names of their own come and go;
# check that all of their samples in the file have the name of the task. When a write fails, the
# names for the last samples before are in rings, or wait to be written.
named_tasks() {
	local i file calls

	# Other tests call getppid(2), too.
	calls="id == $("$work/$comm" --print-nr) && comm ~ \"task[0-9]\""
	rm -f "$small"/data*
	for i in 0 1 2 3 4 5 6 7 8 9; do
		ln -sf "$(realpath -m "$BUILD/tests/numbered")" "$work/task$i"
	done
	# shellcheck disable=SC2016
	timeout 300 "$PERF" record -B -a -e raw_syscalls:sys_enter --filter "$calls" \
		-o "$small/data" "$@" -- sh -c '
			while :; do
				for i in 0 1 2 3 4 5 6 7 8 9; do
					"$1/task$i" --threads 1 --rate 0 --count 100
				done
			done' sh "$work" > "$work/issued" 2> "$work/record.err"
	status=$?
	[ "$status" = 254 ] || error "exit status $status, not 254"
	file=$(echo "$small"/data*)
	readable "$file" || error "the file cannot be read"
	fields "$file" comm,tid,trace | grep 6e756d62 > "$work/tasks"
	awk '$1 ~ /^task[0-9]$/ { named++ }
		END { print "# " NR " samples, " named + 0 " with a name"
		exit !NR || named != NR }' "$work/tasks" ||
			error "samples without the name of their task"
}

if [ ${#mounted[@]} -gt 0 ]; then
	subtest "a full disk: the names of tasks"
	named_tasks
	subtest "a full disk: the names of tasks, streams in several files"
	named_tasks --switch-output=10M
fi

subtest "-z22: no memory for the compressor"
for ((limit = 400; limit < 8000; limit += 300)); do
	(
		ulimit -v $((limit << 10))
		"$PERF" record -B -a "${event[@]}" -z22 -o "$work/data" -- "$work/$comm" \
			--count 10007 > "$work/issued" 2> "$work/record.err"
	)
	status=$?
	# A recording that lacks memory for its threads fails earlier.
	grep -q 'cannot compress' "$work/record.err" &&
		! grep -q 'Cannot create a thread' "$work/record.err" && break
	[ $status != 0 ] ||
		fatal "perf record succeeds with $limit MB of address space, and does not start with less"
done
grep -qF -e "-z 22: cannot compress records for $work/data: Cannot allocate memory" \
	"$work/record.err" ||
	error "no message"
[ $status = 255 ] || error "exit status $status, not 255"
reports ' (0 samples)'
reports 'records could not be written'

# spoiled FAULT [record options] -- COMMAND: record with faults in writes (helpers/spoil_writes.c)
spoiled() {
	SPOIL_WRITES=$1 SPOIL_UNTIL=$work/over LD_PRELOAD=$(realpath "$BUILD/tests/spoil_writes") \
		timeout -k 5 600 \
		"$PERF" record -B -a "${event[@]}" -o "$work/data" "${@:2}" > "$work/issued" \
		2> "$work/record.err"
	status=$?
}

# recorded_all: check that perf record succeeded and that no call is missing
recorded_all() {
	[ "$status" = 0 ] || error "exit status $status"
	all_there "$work/data"
}

# features FILE: print the list of features that the file lacks
features() {
	"$PERF" report --header-only -i "$1" 2> "$work/report.err" | grep '^# missing features'
}

subtest "no space for all of the header's features: an error, and the next file has them"
mkdir "$work/few"
recorder_start -e raw_syscalls:sys_enter/overwrite/ -o "$work/few/data" --switch-output -- \
	sleep 1000
control snapshot || error "no snapshot"
find_snapshots "$work/few/data"
expected=$(features "${snapshots[0]}")
size=$(stat -c %s "${snapshots[0]}")
begin=$("$PERF" report --header-only -i "${snapshots[0]}" | sed -n 's/^# feat offset : //p')
note "$((size - begin)) bytes of features"
# The next file has some records less or more.
prlimit --pid "$recorder" --fsize=$(((begin + size) / 2)):
control snapshot && error "acknowledged although features are missing"
prlimit --pid "$recorder" --fsize=unlimited:
control snapshot || error "no snapshot when there is space again"
control stop
recorder_end
[ "$status" = 254 ] || error "exit status $status, not 254"
reports "^Cannot complete the header of $work/few/data: File too large"
find_snapshots "$work/few/data"
[ "$(features "${snapshots[-1]}")" = "$expected" ] ||
	error "the last file has other features: $(features "${snapshots[-1]}"), not $expected"
readable "${snapshots[@]}" || error "a file cannot be read"

subtest "an error of close()"
SPOIL_FILE=$(realpath -m "$work/data") spoiled 'close 122' -m 256 -- "$work/$comm" --count 503
[ "$status" = 254 ] || error "exit status $status, not 254"
reports "^Cannot save $work/data: Disk quota exceeded"

subtest "a snapshot is acknowledged only if its file and its directory are synced"
mkdir "$work/synced"
synced=$(realpath "$work/synced")
# The file of appended snapshots, that of one snapshot, and the directory
for pattern in "$synced/data" "$synced/data.2*" "$synced"; do
	options=(-e page-faults/overwrite/u -o "$synced/data")
	[[ $pattern = "$synced/data" ]] || options+=(--switch-output)
	wrapper=(env "LD_PRELOAD=$(realpath "$BUILD/tests/spoil_writes")" "SPOIL_WRITES=sync 5"
		"SPOIL_FILE=$pattern")
	recorder_start "${options[@]}" -- sleep 1000
	! control snapshot || error "acknowledged although $pattern cannot be synced"
	[[ $answer = "error: the snapshot could not be written"* ]] ||
		error "the answer is '$answer'"
	echo stop >&"$ctl"
	recorder_end
	[ "$status" = 255 ] || error "exit status $status, not 255"
	reports "^Cannot sync $synced/data.* to the disk: Input/output error"
	recorder_start "${options[@]}" --no-fsync -- sleep 1000
	control snapshot || error "--no-fsync: no snapshot"
	recorder_stop
done
wrapper=()

for io in sync aio uring; do
	subtest "--io=$io: an I/O error"
	spoiled 'once 9 5' --io=$io -m 256 -- "$work/$comm" "${calls[@]}"
	ended "$work/data" "Input/output error"

	subtest "--io=$io: short writes, EINTR and EAGAIN"
	spoiled 'trouble 1' --io=$io -m 2048 -- "$work/$comm" --count 10007
	recorded_all

	# All calls are on one CPU. Its ring holds 1 MB; three times that is recorded while the
	# write stalls.
	subtest "--io=$io: a write that stalls until the workload has ended"
	rm -f "$work/over"
	# shellcheck disable=SC2016
	spoiled 'stall 2' --io=$io -m 256 -- \
		sh -c '"$1" --idle --threads 1 --rate 10000 --count 25000; touch "$2"' sh \
		"$work/$comm" "$work/over"
	recorded_all
done

finish
