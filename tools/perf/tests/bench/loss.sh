#!/bin/bash
# Benchmark: events lost by recorders that stream to a file, and their overhead
# SPDX-License-Identifier: GPL-2.0-only
#
# PERF is this perf, UPSTREAM_PERF an unmodified one, NEWEST_PERF another one. In each of ROUNDS (5)
# rounds each workload of WORKLOADS runs unrecorded, and then under each recorder of RECORDERS in
# turn, with rings of each size of PAGES (16 128). All recorders have the same events, options and
# disk (TMPDIR), except for what their names say. SCALE (1) multiplies the work of all workloads.
#
# The recorder floor keeps the samples in overwrite rings that nobody reads: what they cost without
# their way to the file. It has only a slowdown, and not for compute.
#
#	storm	one thread for each CPU makes system calls without pause; each is a sample with a
#		stack
#	hogs	storm, beside a busy loop for each CPU
#	compute	128 threads multiply matrices; timer samples with stacks, and context switches
#	disk	storm, on a disk that is limited to DISK_MBPS (100) MB/s
#	rings	272 threads make system calls; each has a ring
#
# The amount of work is fixed. It begins when the recorder records; the recorder is stopped when it
# is done.
#
#	loss		share of lost events, as counted by perf loss
#	loss-metric	share of the time in which events were lost, likewise. Not comparable for
#			the workload rings: upstream's files tell the CPU of a record, but not the
#			ring
#	slowdown	of the workload, compared to its unrecorded run in the same round
#	us-per-sample	time of the workload, divided by the number of samples that are in the file:
#			a recorder that loses samples does not look better for it [us]
#	cpu-per-gb	CPU seconds of all threads of the recorder, from start to end, for 10^9
#			bytes of file, without the kernel threads that write it
#	memory		peak resident memory without rings
#
# Prints the medians as a table, and RESULT lines with the median and (smallest..largest). Does not
# judge them. A recording may take 3 GB of disk, and is removed before the next.

. "$(dirname "$0")/lib.sh"

need_peer
need load spend raw_syscalls:sys_enter

workloads=${WORKLOADS:-storm hogs compute disk rings}
pages=${PAGES:-16 128}
rounds=${ROUNDS:-5}
scale=${SCALE:-1}
file_limit=3000000000	# bytes: stops a recorder that records itself
time_limit=120		# seconds, for one run

# Names of the recorders, with their additional options
declare -A recorders=(
	[upstream]='' [upstream-aio1]=--aio=1 [upstream-aio4]=--aio=4 [upstream-threads]=--threads
	[upstream-r50]='-r 50' [upstream-threads-r50]='--threads -r 50'
	[newest]='' [newest-aio4]=--aio=4 [newest-r50]='-r 50'
	[floor]='' [ours]='' [ours-sync]=--io=sync [ours-aio]=--io=aio [ours-uring]=--io=uring
)
# Not upstream-threads-r50: it records its own system calls until a limit ends it.
names=${RECORDERS:-${UPSTREAM_PERF:+upstream upstream-aio1 upstream-aio4 upstream-threads} \
	${UPSTREAM_PERF:+upstream-r50} \
	${NEWEST_PERF:+newest newest-aio4} \
	floor ours ours-sync ours-aio ours-uring}
for name in $names; do
	[ -n "${recorders[$name]+known}" ] ||
		fatal "RECORDERS: no recorder '$name', but: ${!recorders[*]}"
	[[ $name != upstream* || -n $UPSTREAM_PERF ]] ||
		fatal "RECORDERS: $name needs UPSTREAM_PERF"
	[[ $name != newest* || -n ${NEWEST_PERF:-} ]] ||
		fatal "RECORDERS: $name needs NEWEST_PERF"
done
ours=$PERF

wrapper=(prlimit "--fsize=$file_limit" "$BUILD/tests/spend" "$work/spent")
figures=(loss loss-metric slowdown us-per-sample cpu-per-gb memory)
units=(% % x us s MB)

# --- workloads

stacks=(--call-graph "dwarf,1024")

# times N: N scaled
times() {
	awk -v n="$1" -v scale="$scale" 'BEGIN { print int(n * scale) + 1 }'
}

# workload NAME: set $load_args, the arguments of load, and $what, the events to record
workload() {
	output=$work/data
	case $1 in
	storm | hogs | disk)
		load_args=(calls "$(nproc)" "$(times $((500000 / $(nproc))))")
		what=(-a -e raw_syscalls:sys_enter)
		[ "$1" != disk ] || output=$work/disk/data
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

load_started() {
	local threads=("/proc/$load/task"/*)

	((${#threads[@]} == load_args[1]))
}

# Start the workload; it waits for load_run.
load_start() {
	"$BUILD/tests/load" "${load_args[@]}" < "$work/go" > "$work/elapsed" &
	load=$!
	wait_until 30 load_started || fatal "the threads of the workload do not start"
}

# Run the workload to its end; the seconds are in $work/elapsed.
load_run() {
	local hogs=() i

	if [ "$workload" = hogs ]; then
		for ((i = 0; i < $(nproc); i++)); do
			while :; do :; done &
			hogs+=($!)
		done
	fi
	printf . >&"$go"		# the byte that load waits for
	wait_until "$time_limit" gone "$load" || kill -KILL "$load"
	wait "$load"
	[ ${#hogs[@]} = 0 ] || { kill "${hogs[@]}"; wait "${hogs[@]}" 2> /dev/null; }
}

# --- a disk that is slow

throttle=/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device

# Create a loop device whose rate is limited by the root of the blkio cgroups, which includes
# writeback.
disk_start() {
	local device rate=$((${DISK_MBPS:-100} * 1000000))

	[ -w "$throttle" ] || { echo "skip: disk: no blkio cgroup (v1) to limit a disk"; return 1; }
	truncate -s "$file_limit" "$work/disk.img"
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$work/disk.img" \
		2> "$work/disk.err" &&
		mkdir -p "$work/disk" &&
		mount -o loop "$work/disk.img" "$work/disk" 2>> "$work/disk.err" ||
		{ echo "skip: disk: no file system on a loop device: $(tail -n 1 "$work/disk.err")"; return 1; }
	device=$(losetup -n -O MAJ:MIN -j "$work/disk.img" | tr -d ' ')
	throttled=$device
	echo "$device $rate" > "$throttle" ||
		{ echo "skip: disk: cannot limit its rate"; return 1; }
}

# Remove the limit: it would apply to the next device with this number.
disk_end() {
	[ -z "$throttled" ] || echo "$throttled 0" > "$throttle"
	throttled=
	! mountpoint -q "$work/disk" || umount "$work/disk"
	rm -f "$work/disk.img"
}
throttled=
trap 'disk_end; cleanup' EXIT

# --- one run

# add NAME FIGURE VALUE: append a figure of a run
add() {
	echo "$3" >> "$work/$1.$2"
}

# Start the recorder, with events disabled: a recorder that always finds records would not read its
# control fifo. Fail if it does not record.
recorder_begin() {
	recorder_launch --delay=-1 "$@"
	control ping && control enable && return
	echo "skip: $key: $(grep -vi '^warning' "$work/record.err" | head -n 1)"
	kill -KILL "$recorder" 2> /dev/null
	recorder_end
	return 1
}

# Stop the recorder by a signal, for the same reason; its exit status may be that of the signal.
recorder_finish() {
	kill -INT "$recorder" 2> /dev/null
	wait_until "$time_limit" gone "$recorder" || kill -KILL "$recorder"
	recorder_end
	[[ $status == 0 || $status == 130 ]] ||
		echo "note: $key: exit status $status of the recorder: $(tail -n 1 "$work/record.err")"
}

# one_run NAME PAGES: record the workload
one_run() {
	local name=$1 bytes lost metric saved elapsed
	local key=$workload-$name-m$2 target=() events=("${what[@]}")

	if [ "$name" = floor ]; then
		[ "$workload" != compute ] || return 0
		events=("${what[@]/%sys_enter/sys_enter/overwrite/}")
	fi
	PERF=$ours
	[[ $name != upstream* ]] || PERF=$UPSTREAM_PERF
	[[ $name != newest* ]] || PERF=$NEWEST_PERF
	rm -f "$work/spent"
	load_start
	[ "$workload" != rings ] || target=(-p "$load")
	# shellcheck disable=SC2086
	if ! recorder_begin -B -N -m "$2" "${events[@]}" "${stacks[@]}" ${recorders[$name]} \
		"${target[@]}" -o "$output"; then
		load_run
		rm -rf "$output"
		return
	fi
	load_run
	recorder_finish

	bytes=$(find "$output" -type f -printf '%s\n' | statistic sum)
	read -r lost metric saved \
		<<< "$("$ours" loss --json -i "$output" 2> "$work/loss.err" | python3 -c '
import json, sys
loss = json.load(sys.stdin)
print(100 * loss["lost"] / max(loss["events"], 1), loss["metric_percent"],
      loss["events"] - loss["lost"])')"
	elapsed=$(cat "$work/elapsed")
	rm -rf "$output" "$output.old"
	add "$key" slowdown "$(awk -v a="$elapsed" -v b="$unrecorded" 'BEGIN { print a / b }')"
	if [ "$name" = floor ]; then
		printf '%s: workload %.2f s\n' "$key" "$elapsed"
		return
	fi
	[ "${saved:-0}" -gt 0 ] ||
		{ echo "note: $key: no figures: perf loss says: $(tail -n 1 "$work/loss.err")"; return; }

	add "$key" loss "$lost"
	[ "$metric" = None ] || add "$key" loss-metric "$metric"
	add "$key" us-per-sample \
		"$(awk -v s="$elapsed" -v n="$saved" 'BEGIN { print s / n * 1e6 }')"
	add "$key" cpu-per-gb \
		"$(awk -v bytes="$bytes" '{ print ($2 + $3) / bytes * 1e9 }' "$work/spent")"
	add "$key" memory "$(awk '{ print $4 / 1024 }' "$work/spent")"
	printf '%s: %.2f %% lost of %d MB, workload %.2f s, recorder %s CPU s\n' "$key" "$lost" \
		$((bytes / 1000000)) "$elapsed" "$(awk '{ print $2 + $3 }' "$work/spent")"
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

# value KEY FIGURE HOW: print it with two digits, or "none"
value() {
	[ -e "$work/$1.$2" ] && printf '%.2f' "$(statistic "$3" < "$work/$1.$2")" || printf none
}

results() {
	local m name i key

	for m in $pages; do
		printf '\n%-24s%12s%12s%12s%12s%12s%12s\n' "$workload, -m $m" 'lost %' 'metric %' \
			'slowdown x' 'us/sample' 'CPU s/GB' MB
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
				range=$(value "$key" "${figures[i]}" min)
				range+=..$(value "$key" "${figures[i]}" max)
				echo "RESULT ${figures[i]}-$key $(value "$key" "${figures[i]}" median)" \
					"${units[i]} ($range)"
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
