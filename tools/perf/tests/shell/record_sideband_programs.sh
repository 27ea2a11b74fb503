#!/bin/bash
# perf record: files have the code of each BPF program that they may refer to, and of few others
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 240
# tags: parallel

. "$(dirname "$0")/lib/recorder.sh"

need perf root bpf_load
"$BUILD/tests/bpf_load" 1 probe > "$work/probe" || skip "$(cat "$work/probe")"

batch=71		# perf looks for unloaded programs when it has more than 64 (bpf_progs.h)

# hold NAME NUMBER: load programs; set $held to their process, $end to what unloads them
hold() {
	rm -f "$work/hold"
	mkfifo "$work/hold"
	"$BUILD/tests/bpf_load" --hold "$2" "$1" < "$work/hold" > "$work/hold.out" &
	held=$!
	exec {end}> "$work/hold"
}

release() {
	local fd=$1

	exec {fd}>&-
	wait "$2" || fatal "bpf_load: $(cat "$work/hold.out")"
}

# take: take a snapshot; $work/programs lists the programs of its file
take() {
	rm -f "$work"/data.[0-9]*
	control snapshot || fatal "no snapshot: $answer"
	find_snapshots "$work/data"
	[ ${#snapshots[@]} = 1 ] || fatal "${#snapshots[@]} files of one snapshot"
	"$PERF" report --header-only -I -i "${snapshots[0]}" 2> "$work/report.err" |
		grep '^# bpf_prog_info' > "$work/programs"
	[ ! -s "$work/report.err" ] || error "perf report: $(tail -n 1 "$work/report.err")"
}

# has NAME NUMBER: does the last file have this number of programs of this name?
has() {
	[ "$(grep -c "_$1 addr" "$work/programs")" = "$2" ]
}

takes() {
	take
	has "$@"
}

# Load and unload batches until the first one is dropped.
next_batch() {
	local name=b${run}_$nr

	hold "$name" $batch
	wait_until 20 takes "$name" $batch || fatal "programs are missing that are loaded"
	release "$end" "$held"
	take
	has "$name" $batch || fatal "programs are missing that were loaded after the last snapshot"
	nr=$((nr + 1))
	has "b${run}_0" 0
}

mode=0
for options in '-e cpu-clock --keep=60s,64M' '-e cpu-clock/overwrite/' '-e cpu-clock'; do
	subtest "record $options"
	run=$$_$((mode++))
	nr=0
	# shellcheck disable=SC2086 # several words
	recorder_start -a $options --switch-output -o "$work/data"
	hold "live$run" 1
	live=$held live_end=$end
	wait_until 20 takes "live$run" 1 || error "a program is missing that is loaded"
	wait_until 30 next_batch || error "of $nr batches of unloaded programs none is dropped"
	take
	has "live$run" 1 || error "a program is missing that is loaded all the time"
	note "$nr batches, $(grep -c . "$work/programs") programs in the last file"
	readable "${snapshots[0]}" || error "the file cannot be read"
	release "$live_end" "$live"
	recorder_stop
done

finish
