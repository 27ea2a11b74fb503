#!/bin/bash
# perf record --keep: time and memory are met, nothing newer than the oldest kept record is missing
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 180
# tags: parallel long

. "$(dirname "$0")/lib/numbered.sh"

need_numbered
numbered_event

# keep "WORKLOAD OPTIONS" [record options]: record the calls, and the recorder's
# memory in $anonymous [kB]
keep() {
	local options=$1

	shift
	rm -f "$work"/data*
	recorder_start -a "${event[@]}" -o "$work/data" "$@"
	# shellcheck disable=SC2086 # several options
	numbered_start $options
	numbered_end
	anonymous=$(recorder_anonymous)
	recorder_stop
	note "$(grep Snapshot "$work/record.err")"
}

# keep_running SECONDS "WORKLOAD OPTIONS" [record options]: likewise, but stop after this time,
# while the calls go on
keep_running() {
	local seconds=$1 options=$2

	shift 2
	rm -f "$work"/data*
	recorder_start -a "${event[@]}" -o "$work/data" "$@"
	# shellcheck disable=SC2086 # several options
	numbered_start $options --duration 600
	pause "$seconds"
	recorder_stop
	kill "$numbered"
	wait "$numbered" 2> /dev/null
	note "$(grep Snapshot "$work/record.err")"
}

# reported FIELD: print a number of the summary
reported() {
	sed -nE "s/.*$1.*/\\1/p" "$work/record.err"
}

# held: print the time between the first and the last record of the file [s]
held() {
	fields "$work/data" time --ns |
		awk 'NR == 1 { first = $1 } { last = $1 } END { print last - first }'
}

# has_all_calls: check that none between two others is missing
has_all_calls() {
	numbered_check "$work/data" && return
	if grep -q 'Lost 0 events' "$work/record.err"; then
		error "calls are missing"
	else
		inconclusive "the recorder got no CPU in time in three runs"
	fi
}

# check WHY: the file has not all calls, but all of the time that is reported
check() {
	local held seconds

	grep -q "$1" "$work/record.err" || error "the summary does not say: $1"
	has_all_calls > "$work/checked"
	cat "$work/checked"
	grep -q 'first 1 ' "$work/checked" && inconclusive "nothing was dropped"
	seconds=$(reported 'all of the ([0-9.]*) s')
	held=$(held)
	note "held: $held s, reported: $seconds s"
	awk -v held="$held" -v said="$seconds" '
		BEGIN { exit !(held > said - 0.01 && held < said + 1) }' ||
		error "the file holds $held s"
	readable "$work/data" || error "the file cannot be read"
}

subtest "the last second"
lossless keep_running 4 "--threads 2 --rate 20000" --keep=1s
check 'dropped because of their age'
# On a busy machine, the recorder reads and drops late.
awk -v seconds="$(reported 'all of the ([0-9.]*) s')" '
	BEGIN { exit !(seconds > 0.5 && seconds < 3) }' ||
	error "not 1 s"

# No ring fills up in this time.
subtest "the last second of rare events"
for mode in no auto; do
	keep_running 4 "--rate 100" --keep=1s --bpf-ring=$mode
	held=$(held)
	note "--bpf-ring=$mode: $held s"
	awk -v held="$held" 'BEGIN { exit !(held > 0.5 && held < 3) }' || error "not 1 s"
done

subtest "40 MB, not compressed"
lossless keep "--rate 300000 --count 300000" --keep=60s,40M -z0
check 'dropped because the memory was full'
reports -E 'needs some [0-9]+ MB'
note "anonymous memory: $anonymous kB"
((anonymous <= 40 << 10)) || error "the recorder uses $anonymous kB"

if [ -n "${NIGHT-}" ]; then
	subtest "40 MB, compressed"
	lossless keep "--rate 1000000 --duration 10" --keep=40M --write-buffer=1M
	note "anonymous memory: $anonymous kB"
	((anonymous <= 40 << 10)) || error "the recorder uses $anonymous kB"
	has_all_calls
fi

subtest "the recording is stopped long after the last record"
keep "--rate 1000 --duration 1" --keep=1s
numbered_check "$work/data" -- --expect "$work/issued" || error "calls are missing"

subtest "no memory for another block: the file has what was kept until then"
rm -f "$work"/data*
recorder_start -a "${event[@]}" -o "$work/data" --keep=60s,1G -z0
size=$(awk '$1 == "VmSize:" { print $2 }' "/proc/$recorder/status")
prlimit --pid "$recorder" --as=$(((size + (24 << 10)) << 10)) || fatal "cannot limit the memory"
numbered_start --rate 300000 --count 600011
recorder_end
numbered_end
[ "$status" = 255 ] || error "exit status $status, not 255"
reports 'memory to keep more records'
numbered_trace "$work/data" | sort | uniq -d | grep . && error "calls are repeated"
(($(samples "$work/data") > 10007)) || error "$(samples "$work/data") samples are saved"

# memory_cgroup: create a cgroup with a memory limit; set $cgroup, and $limit_file
memory_cgroup() {
	local mount root

	while read -r mount root; do
		cgroup=$root/perf-test-$$
		[[ $mount == cgroup2 ]] && limit_file=$cgroup/memory.max ||
			limit_file=$cgroup/memory.limit_in_bytes
		mkdir "$cgroup" 2> /dev/null || continue
		[ -w "$limit_file" ] && return
		rmdir "$cgroup"
	done < <(awk '$2 ~ "^/sys/fs/cgroup(/unified|/memory)?$" && $3 ~ "^cgroup2?$" \
			{ print $3, $2 }' /proc/mounts)
	return 1
}

# keep_in_limit LIMIT [record options]: start and end a recorder in the cgroup
keep_in_limit() {
	local limit=$1

	shift
	echo "$limit" > "$limit_file" &&
		sh -c 'echo $$ > "$0" && exec "$@"' "$cgroup/cgroup.procs" "$PERF" record -a \
			"${event[@]}" -o "$work/limited" "$@" -- true 2> "$work/record.err" ||
		error "$limit $*: $(< "$work/record.err")"
}

subtest "a cgroup that may use less memory than --keep"
if memory_cgroup; then
	keep_in_limit 256M --keep
	reports "keep: perf needs up to 2[67]. MB, .* may use 256 MB ($limit_file)"
	keep_in_limit 400M --keep
	grep 'may use' "$work/record.err" && error "a warning without reason"
	keep_in_limit 100M --advise
	grep 'may use' "$work/record.err" && error "--advise warns"
	rmdir "$cgroup"
else
	inconclusive "no cgroup with a limit of memory can be created"
fi

subtest "the file has marks of rounds, which keep their promise"
need storm
mkdir "$work/code"
recorder_start -a -e raw_syscalls:sys_enter -e sched:sched_switch -o "$work/marked" --keep=60s,256M
for ((i = 0; i < 6; i++)); do
	"$BUILD/tests/storm" "$work/code" 100 > "$work/storm" || fatal "the workload failed"
	numbered_calls 1 20011
	pause 0.5
done
recorder_stop
marks=$("$PERF" report -f -i "$work/marked" --stats 2> "$work/script.err" |
	awk '$1 == "FINISHED_ROUND" { n = $3 } END { print n + 0 }')
note "$marks marks"
((marks > 2)) || error "$marks marks"
for perf in "$PERF" ${old_perf:+"$old_perf"}; do
	"$perf" script "${no_symbols[@]}" -f -i "$work/marked" -F time > "$work/script.out" \
		2> "$work/script.err" &&
		[ -s "$work/script.out" ] || error "$perf cannot read the file"
	grep -i 'out of order' "$work/script.err" && error "a mark promises too much"
done

finish
