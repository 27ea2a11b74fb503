#!/bin/bash
# Benchmark: how long --keep reaches back for its memory, and what it costs, beside overwrite rings
# SPDX-License-Identifier: GPL-2.0-only
#
# PERF is this perf, OTHER_PERF (/usr/bin/perf) that of the distribution, NEWEST_PERF that of the
# newest Linux (make newest-perf); recorders whose perf is missing are left out. In each of ROUNDS
# (3) rounds the workload runs for ROUND_SECONDS (8) under each recorder of RECORDERS in turn:
#
#	none		not recorded
#	keep		--keep in MEMORY (64) MB
#	overwrite	overwrite rings of as much memory, all CPUs and the copies of the rings
#			together
#	switch-output	OTHER_PERF --switch-output=1s --switch-max-files=60; TMPDIR says on which
#			disk
#	switch-output-newest	the same with NEWEST_PERF
#	compress	OTHER_PERF -z
#	compress-newest	the same with NEWEST_PERF
#
# The workload reads, compresses and hashes files on all CPUs, as that of make demo. Recorded are
# context switches, wake-ups, and entries and exits of system calls of the whole machine.
#
#	seconds-per-mb	time from the first record on all CPUs to the last one, for a MB of memory,
#			or of files for switch-output
#	bytes-per-record memory, or file, for each sample
#	minutes		that 256 MB hold at 200,000 samples a second: of --keep, less the memory
#			that it takes beside packed records; of files, if they were on a tmpfs
#	cpu		CPU seconds of the recorder for a million samples; not for overwrite, which
#			does not count what it overwrites
#	slowdown	of the workload, compared to the run that was not recorded in the same round
#
# The kept records may not fill the memory within a round: seconds-per-mb is that of the memory
# used. Prints the medians as RESULT lines. Does not judge them.

. "$(dirname "$0")/lib.sh"

need spend sched:sched_switch raw_syscalls:sys_enter

rounds=${ROUNDS:-3}
seconds=${ROUND_SECONDS:-8}
memory=${MEMORY:-64}
other=${OTHER_PERF:-/usr/bin/perf}
events=(sched:sched_switch sched:sched_waking sched:sched_wakeup raw_syscalls:sys_enter
	raw_syscalls:sys_exit)
newest=${NEWEST_PERF:-}
names="none overwrite keep switch-output switch-output-newest compress compress-newest"
names=" ${RECORDERS:-$names} "
for name in switch-output compress; do
	[ -x "$other" ] || names=${names/ $name / }
	[ -x "$newest" ] || names=${names/ $name-newest / }
done
ours=$PERF
wrapper=("$BUILD/tests/spend" "$work/spent")

# Run the workload, and count in $passes how often all CPUs got through its files.
run_workload() {
	local cpu pids=() end=$((SECONDS + seconds))

	rm -f "$work"/passes.*
	for ((cpu = 0; cpu < $(nproc); cpu++)); do
		while ((SECONDS < end)); do
			find /usr/include -name '*.h' -size -20k | head -n 100 | xargs cat |
				gzip -1 | sha256sum
		done > "$work/passes.$cpu" &
		pids+=($!)
	done
	wait "${pids[@]}"
	passes=$(cat "$work"/passes.* | wc -l)
}

# options NAME: set $perf, $options, and $reader, the perf that reads the files
options() {
	local event

	perf=$ours reader=$ours options=()
	for event in "${events[@]}"; do
		[ "$1" != overwrite ] || event+=/overwrite/
		options+=(-e "$event")
	done
	case $1 in
	keep) options+=("--keep=${memory}M") ;;
	# Each ring has two copies; the next lower power of two
	overwrite) options+=(-m "$(awk -v mb="$memory" -v cpus="$(nproc)" '
		BEGIN {
			kb = mb * 1024 / cpus / 3
			for (m = 1024; 2 * m <= kb; m *= 2);
			print m
		}')K") ;;
	switch-output* | compress*)
		perf=$other
		[ "$1" = "${1%-newest}" ] || perf=$newest reader=$newest
		;;
	esac
	case $1 in
	keep) options+=(--summary=json) ;;
	switch-output*) options+=(--switch-output=1s --switch-max-files=60) ;;
	compress*) options+=(-z) ;;
	esac
}

# span FILE...: print the time from the first record that is followed by records of all CPUs to the
# last [s], and the number of samples
span() {
	local file

	for file; do
		"$reader" script -f -i "$file" -F cpu,time --ns 2> "$work/script.err"
	done | tr -d '[]:' | awk '
		!($1 in first) || $2 < first[$1] { first[$1] = $2 }
		$2 > last { last = $2 }
		{ nr++ }
		END {
			for (cpu in first)
				if (first[cpu] > begin)
					begin = first[cpu]
			print last - begin, nr
		}'
}

# summary MEMBER: print the last value of this member of the objects of --summary=json
summary() {
	sed -nE "s/.*\"$1\":([0-9]+).*/\1/p" "$work/record.err" | tail -n 1
}

# minutes NAME MB SAMPLES: print how long 256 MB last if SAMPLES took MB
minutes() {
	local packed

	packed=$([ "$1" != keep ] || summary compressed_bytes)
	awk -v keep="$packed" -v mb="$2" -v nr="$3" 'BEGIN {
		packed = keep ? keep / 1048576 : mb
		print (256 - (mb - packed)) / packed * nr / 200000 / 60
	}'
}

add() {
	echo "$2" >> "$work/figure-$1"
}

has_begun() {
	[ -n "$(find "$work" -name 'data*' -size +64k)" ]
}

# Start $perf, and return when it records. Perfs that record their own system calls answer no
# command.
start() {
	if [ "$perf" = "$ours" ]; then
		recorder_start -a "${options[@]}" -o "$work/data"
		return
	fi
	"${wrapper[@]}" "$perf" record -a "${options[@]}" -o "$work/data" \
		> "$work/record.out" 2> "$work/record.err" &
	recorder=$!
	wait_until 60 has_begun || fatal "$perf does not begin"
}

stop() {
	if [ "$perf" = "$ours" ]; then
		recorder_stop
		return
	fi
	kill -INT "$recorder"
	wait "$recorder"
}

one_round() {
	local name=$1 held nr bytes recorded

	if [ "$name" = none ]; then
		run_workload
		base=$passes
		return
	fi
	options "$name"
	rm -rf "$work"/data*
	start
	run_workload
	stop
	mapfile -t files < <(ls "$work"/data.2* 2> /dev/null || ls "$work/data")
	read -r held nr < <(span "${files[@]}")
	case $name in
	keep) bytes=$(($(summary memory_bytes) >> 20)) ;;
	overwrite) bytes=$memory ;;
	switch-output* | compress*) bytes=$(du -cm "${files[@]}" | awk 'END { print $1 }') ;;
	esac
	recorded=$nr
	[ "$name" != keep ] ||
		recorded=$((nr + $(summary dropped_samples)))
	echo "$name: $held s, $nr samples, $bytes MB, $passes passes (not recorded: $base), $(awk '{ print $2 + $3 }' "$work/spent") s of CPU"
	grep -E 'Snapshot|Lost' "$work/record.err" | tail -n 2 | sed 's/^/    /'
	add "$name-seconds-per-mb" "$(awk -v s="$held" -v mb="$bytes" 'BEGIN { print s / mb }')"
	add "$name-bytes-per-record" \
		"$(awk -v n="$nr" -v mb="$bytes" 'BEGIN { print mb * 1048576 / n }')"
	add "$name-minutes" "$(minutes "$name" "$bytes" "$nr")"
	[ "$name" = overwrite ] ||
		add "$name-cpu" \
			"$(awk -v n="$recorded" '{ print ($2 + $3) / n * 1e6 }' "$work/spent")"
	add "$name-slowdown" \
		"$(awk -v base="$base" -v passes="$passes" 'BEGIN { print base / passes }')"
}

for ((i = 0; i < rounds; i++)); do
	for name in none ${names/ none / }; do
		one_round "$name"
	done
done
echo "$rounds rounds of $seconds s, $memory MB, $(nproc) CPUs, $("$other" --version)${newest:+, newest: $("$newest" --version)}"
for file in "$work"/figure-*; do
	echo "RESULT ${file##*/figure-} $(statistic median < "$file")"
done
