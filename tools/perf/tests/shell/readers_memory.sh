#!/bin/bash
# perf report, script and record --keep: reading compressed records takes no memory for all of them
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 180
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered
command -v python3 > /dev/null || skip "no python3 to measure memory with"
numbered_event

# More than 100 bytes of memory for each call, if all are in memory at once
calls=600011
many=(--threads 1 --count "$calls")
max_more=$((48 << 10))

# memory COMMAND...: set $memory to the largest resident size that the command had [kB]
memory() {
	memory=$(python3 -c '
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)' "$@") || error "exit status $?: $*"
}

# compare FILE COMMAND...: the command needs no more memory for the file than for one with few calls
compare() {
	local file=$1 few

	shift
	memory "$@" -f -i "$work/few"
	few=$memory
	memory "$@" -f -i "$file"
	note "${file##*/}: $memory kB, $few kB for a file with few calls"
	((memory < few + max_more)) || error "$2 takes $memory kB"
}

subtest "a command records calls"
"$PERF" record -q -B -N "${event[@]}" -z -o "$work/few" -- "$work/$comm" --threads 1 --count 11 \
	2> "$work/record.err" &&
	"$PERF" record -q -B -N "${event[@]}" -z -o "$work/stream" -- "$work/$comm" "${many[@]}" \
		2> "$work/record.err" &&
	"$PERF" record -q -B -N "${event[@]}" --keep=60s,256M -o "$work/kept" -- "$work/$comm" \
		"${many[@]}" 2> "$work/record.err" || error "$(cat "$work/record.err")"
for file in stream kept; do
	(($(samples "$work/$file") >= calls)) || inconclusive "not all calls are in the file"
done

for file in stream kept; do
	subtest "perf report and script read $file"
	compare "$work/$file" "$PERF" report --stats
	compare "$work/$file" "$PERF" script "${no_symbols[@]}" -F comm,tid,time,event
done

subtest "perf record reads back what it kept"
memory "$PERF" record -B -N "${event[@]}" --keep=60s,64M -o "$work/again" -- "$work/$comm" \
	"${many[@]}"
without=$memory
memory "$PERF" record -N "${event[@]}" --keep=60s,64M -o "$work/again" -- "$work/$comm" "${many[@]}"
note "$memory kB, $without kB without reading back"
((memory < without + max_more)) || error "reading back takes $memory kB"

finish
