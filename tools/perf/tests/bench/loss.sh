#!/bin/bash
# Benchmark: what recorders lose while events are streamed to a file, and what they cost
# SPDX-License-Identifier: GPL-2.0-only
#
# PERF is this perf, UPSTREAM_PERF an unmodified one. In each of ROUNDS (5) rounds each workload of
# WORKLOADS runs unrecorded, and then under each recorder of RECORDERS in turn, with rings of each size of
# PAGES (16 128); all have the same events, options and disk (TMPDIR says which), except for what
# their names say. SCALE (1) multiplies the work of all workloads.
#
#	storm	as many threads as CPUs make system calls as fast as they can; each is a sample of a stack
#	compute	128 threads multiply matrices; samples of stacks by time, and context switches
#	disk	storm, onto a disk that takes DISK_MBPS (100) MB a second
#	rings	272 threads make system calls, each has a ring
#
# The work is fixed, and begins when the recorder records; the recorder is told to stop when it is done.
#
#	loss		share of the events that were lost, as perf loss counts them in the file
#	loss-metric	share of the time in which events were lost, likewise; for rings not to be compared: of
#			upstream's files it is not known which thread's ring a record came through, only on
#			which CPU
#	slowdown	of the workload, against its unrecorded run in the same round
#	cpu-per-gb	CPU seconds of the recorder and its threads, from its start to its end, for 10^9 bytes
#			of file; what the kernel's own threads do to write it is not in it
#	memory		resident; rings do not count
#
# Prints the medians as a table, and RESULT lines with the median and (smallest..largest). Decides nothing.
# A recording may take 3 GB of disk, and is removed before the next.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

need_peer
need_helpers load spend
need_tracepoint raw_syscalls:sys_enter

workloads=${WORKLOADS:-storm compute disk rings}
pages=${PAGES:-16 128}
rounds=${ROUNDS:-5}
scale=${SCALE:-1}
file_limit=3000000000	# bytes: a recorder that records itself would fill the disk
time_limit=120		# seconds, for one run

# What the recorders are called, with what they add to the options that all have
declare -A recorders=(
	[upstream]='' [upstream-aio1]=--aio=1 [upstream-aio4]=--aio=4 [upstream-threads]=--threads
	[upstream-r50]='-r 50' [upstream-threads-r50]='--threads -r 50'
	[ours]='' [ours-sync]=--io=sync [ours-aio]=--io=aio [ours-uring]=--io=uring
)
# Not upstream-threads-r50: it records its own system calls until a limit ends it.
names=${RECORDERS:-${UPSTREAM_PERF:+upstream upstream-aio1 upstream-aio4 upstream-threads upstream-r50} \
	ours ours-sync ours-aio ours-uring}
for name in $names; do
	[ -n "${recorders[$name]+known}" ] || fatal "RECORDERS: no recorder '$name', but: ${!recorders[*]}"
	[[ $name != upstream* || -n $UPSTREAM_PERF ]] || fatal "RECORDERS: $name needs UPSTREAM_PERF"
done
ours=$PERF

wrapper=(prlimit "--fsize=$file_limit" "$BUILD/tests/spend" "$work/spent")
figures=(loss loss-metric slowdown cpu-per-gb memory)
units=(% % x s MB)

# --- workloads

stacks=(--call-graph "dwarf,1024")

# times N: N scaled
times() {
	awk -v n="$1" -v scale="$scale" 'BEGIN { print int(n * scale) + 1 }'
}

# workload NAME: set what load does, in $load_args, and what is recorded of it, in $what
workload() {
	output=$work/data
	case $1 in
	storm | disk)
		load_args=(calls "$(nproc)" "$(times $((500000 / $(nproc))))")
		what=(-a -e raw_syscalls:sys_enter)
		[ "$1" = storm ] || output=$work/disk/data
		;;
	compute)
		load_args=(compute 128 "$(times 40000)")
		what=(-a -e cpu-clock -c 40000 --switch-events)
		;;
	rings)
		load_args=(calls 272 "$(times 3000)")
		what=(--per-thread -e raw_syscalls:sys_enter)
		;;
	*)
		fatal "WORKLOADS: no workload '$1'"
		;;
	esac
}

load_is_there() {
	local threads=("/proc/$load/task"/*)

	((${#threads[@]} == load_args[1]))
}

# Start the load; it waits for load_run
load_start() {
	"$BUILD/tests/load" "${load_args[@]}" < "$work/go" > "$work/elapsed" &
	load=$!
	started+=("$load")
	wait_until 30 load_is_there || fatal "the load's threads do not start"
}

# Let it do its work; the seconds that took are in $work/elapsed
load_run() {
	printf . >&"$go"		# the one byte that it reads
	wait_until "$time_limit" gone "$load" || kill -KILL "$load"
	wait "$load"
}

# --- a disk that is slow

throttle=/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device

# A loop device whose rate the root of the blkio cgroups limits: so for all, the page cache as well
disk_start() {
	local device rate=$((${DISK_MBPS:-100} * 1000000))

	[ -w "$throttle" ] || { echo "skip: disk: no blkio cgroup (v1) to make a disk slow with"; return 1; }
	truncate -s "$file_limit" "$work/disk.img"
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$work/disk.img" 2> "$work/disk.err" &&
		mkdir -p "$work/disk" && mount -o loop "$work/disk.img" "$work/disk" 2>> "$work/disk.err" ||
		{ echo "skip: disk: no file system on a loop device: $(tail -n 1 "$work/disk.err")"; return 1; }
	device=$(losetup -n -O MAJ:MIN -j "$work/disk.img" | tr -d ' ')
	throttled=$device
	echo "$device $rate" > "$throttle" || { echo "skip: disk: cannot limit its rate"; return 1; }
}

# The limit would be that of the next device with this number
disk_end() {
	[ -z "$throttled" ] || echo "$throttled 0" > "$throttle"
	throttled=
	! mountpoint -q "$work/disk" || umount "$work/disk"
	rm -f "$work/disk.img"
}
throttled=
trap 'disk_end; cleanup' EXIT

# --- one run

# add NAME FIGURE VALUE: what a run says
add() {
	echo "$3" >> "$work/$1.$2"
}

# Start the recorder. Its events are off at first: one that always finds something to read, because others
# are busy, would not look at its commands. False if it does not record.
recorder_begin() {
	recorder_launch --delay=-1 "$@"
	control ping && control enable && return
	echo "skip: $key: $(grep -vi '^warning' "$work/record.err" | head -n 1)"
	kill -KILL "$recorder" 2> /dev/null
	recorder_end
	return 1
}

# For the same reason it is a signal that ends it; that is then its status, too.
recorder_finish() {
	kill -INT "$recorder" 2> /dev/null
	wait_until "$time_limit" gone "$recorder" || kill -KILL "$recorder"
	recorder_end
	[[ $status == 0 || $status == 130 ]] ||
		echo "note: $key: the recorder ended with status $status: $(tail -n 1 "$work/record.err")"
}

# one_run NAME PAGES: record the workload
one_run() {
	local name=$1 bytes lost metric elapsed
	local key=$workload-$name-m$2 target=()

	PERF=$ours
	[[ $name != upstream* ]] || PERF=$UPSTREAM_PERF
	rm -f "$work/spent"
	load_start
	[ "$workload" != rings ] || target=(-p "$load")
	# shellcheck disable=SC2086
	if ! recorder_begin -B -N -m "$2" "${what[@]}" "${stacks[@]}" ${recorders[$name]} "${target[@]}" -o "$output"; then
		load_run
		rm -rf "$output"
		return
	fi
	load_run
	recorder_finish

	bytes=$(find "$output" -type f -printf '%s\n' | statistic sum)
	read -r lost metric <<< "$("$ours" loss --json -i "$output" 2> "$work/loss.err" | python3 -c '
import json, sys
loss = json.load(sys.stdin)
print(100 * loss["lost"] / max(loss["events"], 1), loss["metric_percent"])')"
	elapsed=$(cat "$work/elapsed")
	rm -rf "$output" "$output.old"
	[ -n "$metric" ] || { echo "note: $key: no figures: perf loss says: $(tail -n 1 "$work/loss.err")"; return; }

	add "$key" loss "$lost"
	[ "$metric" = None ] || add "$key" loss-metric "$metric"
	add "$key" slowdown "$(awk -v a="$elapsed" -v b="$unrecorded" 'BEGIN { print a / b }')"
	add "$key" cpu-per-gb "$(awk -v bytes="$bytes" '{ print ($2 + $3) / bytes * 1e9 }' "$work/spent")"
	add "$key" memory "$(awk '{ print $4 / 1024 }' "$work/spent")"
	printf '%s: %.2f %% lost of %d MB, workload %.2f s, recorder %s CPU s\n' "$key" "$lost" $((bytes / 1000000)) \
		"$elapsed" "$(awk '{ print $2 + $3 }' "$work/spent")"
}

one_round() {
	local m name

	load_start
	load_run
	unrecorded=$(cat "$work/elapsed")
	echo "$workload, unrecorded: $unrecorded s"
	for m in $pages; do
		for name in $names; do
			one_run "$name" "$m"
		done
	done
}

# --- results

# value KEY FIGURE HOW: with two digits, or "none"
value() {
	[ -e "$work/$1.$2" ] && printf '%.2f' "$(statistic "$3" < "$work/$1.$2")" || printf none
}

results() {
	local m name i key

	for m in $pages; do
		printf '\n%-24s%12s%12s%12s%12s%12s\n' "$workload, -m $m" 'lost %' 'metric %' 'slowdown x' 'CPU s/GB' MB
		for name in $names; do
			printf '%-24s' "$name"
			for i in "${figures[@]}"; do
				printf '%12s' "$(value "$workload-$name-m$m" "$i" median)"
			done
			echo
		done
		for name in $names; do
			key=$workload-$name-m$m
			for i in "${!figures[@]}"; do
				[ -e "$work/$key.${figures[i]}" ] || continue
				echo "RESULT ${figures[i]}-$key $(value "$key" "${figures[i]}" median) ${units[i]}" \
					"($(value "$key" "${figures[i]}" min)..$(value "$key" "${figures[i]}" max))"
			done
		done
	done
}

mkfifo "$work/go"
exec {go}<> "$work/go"
echo "$rounds rounds, $(nproc) CPUs, load $(cut -d ' ' -f 1 /proc/loadavg)"
for workload in $workloads; do
	workload "$workload"
	if [ "$workload" = disk ]; then
		disk_start || { disk_end; continue; }
	fi
	for ((round = 0; round < rounds; round++)); do
		one_round
	done
	results
	[ "$workload" != disk ] || disk_end
done
