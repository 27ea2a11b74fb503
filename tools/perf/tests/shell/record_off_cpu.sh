#!/bin/bash
# perf record --off-cpu: off-CPU samples are written to files and pipes, and are counted
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel

. "$(dirname "$0")/lib/files.sh"

need perf root
"$PERF" version --build-options | grep -q 'bpf_skeletons: \[ on' ||
	skip "perf is built without BPF skeletons"
"$PERF" record -q --off-cpu -e dummy -o /dev/null -- true > "$work/probe" 2>&1 ||
	skip "the off-CPU program cannot be loaded: $(tail -n 1 "$work/probe")"

out=$work/data

# asleep FILE: check that it has an off-CPU sample of half a second
asleep() {
	fields "$1" event,period > "$work/samples"
	awk '/offcpu-time/ && $1 >= 500000000 { found++ } END { exit !found }' "$work/samples"
}

# record [options]
record() {
	subtest "$*"
	rm -rf "$out"*
	perf_record --off-cpu -o "$out" "$@" -- sleep 0.5
}

# Check the number of samples in the summary, perf script and perf loss. These samples have no real
# timestamps, so that they must not count for the recorded time.
counted() {
	local samples

	samples=$(wc -l < "$work/samples")
	note "$samples samples"
	grep -q "($samples samples)" "$work/record.err" ||
		error "the summary does not report $samples samples"
	"$PERF" loss -i "$out" > "$work/loss" 2>&1
	grep -qE "^Samples +$samples\$" "$work/loss" ||
		error "perf loss: $(grep Samples "$work/loss")"
	awk '$1 == "Recorded" && $2 > 1000 { exit 1 }' "$work/loss" ||
		error "perf loss: $(grep Recorded "$work/loss")"
}

# Upstream also writes records about BPF programs that an older perf refuses.
older_reads() {
	[ -z "$old_perf" ] ||
		(($("$old_perf" script -f -i "$out" -F event,period 2> "$work/script.err" |
			wc -l) ==
		$(wc -l < "$work/samples")))
}

for options in '-e dummy' '-a -e cpu-clock' '-z -a -e cpu-clock' '-a -e cpu-clock/overwrite/' \
	'--io=sync -p 1 -e dummy'; do
	# shellcheck disable=SC2086 # several words
	record $options
	[[ $options = *-p* ]] || asleep "$out" || error "no off-CPU sample"
	fields "$out" event,period > "$work/samples"
	counted
	older_reads ||
		error "$("$old_perf" --version) finds other samples: $(tail -n 1 "$work/script.err")"
done

record -a -e cpu-clock --timestamp-boundary
asleep "$out" || error "no off-CPU sample"
"$PERF" script -f -i "$out" --header-only |
	awk '/time of last sample/ { exit $NF > 18000000000 }' ||
	error "the time of an off-CPU sample is in the header: $("$PERF" script -f -i "$out" --header-only | grep 'last sample')"

subtest "--delay"
perf_record --off-cpu -a -e dummy -D 60000 -o "$out" -- sleep 0.5
! asleep "$out" || error "a sample of the time before the delay is over"

subtest "a pipe"
"$PERF" record --off-cpu -e dummy -o - -- sleep 0.5 > "$out" 2> "$work/record.err"
asleep - < "$out" || error "no off-CPU sample"

subtest "the last file with --switch-output"
rm -rf "$out"*
# shellcheck disable=SC2016 # $PPID of the inner shell
perf_record --off-cpu -e dummy -o "$out" --switch-output -- sh -c 'kill -USR2 $PPID; sleep 0.5'
find_snapshots "$out"
((${#snapshots[@]} == 2)) || error "${#snapshots[@]} files, not 2"
asleep "${snapshots[-1]}" || error "no off-CPU sample"

# A sleep longer than the threshold is a sample of its own, with the time at which it ends. Shorter
# ones are summed up until the recording ends; these samples have no real time.
subtest "--off-cpu-thresh"
# real_times: print how many off-CPU samples of 0.4 s or more have a real time, and how many
# not
real_times() {
	fields "$out" time,event,period | awk '
		/offcpu-time/ && $2 >= 400000000 { real += $1 + 0 < 1e9; summed += $1 + 0 >= 1e9 }
		END { print real + 0, summed + 0 }'
}
rm -rf "$out"*
if "$PERF" record --off-cpu --off-cpu-thresh 100 -e dummy -o "$out" -- sleep 0.5 \
	2> "$work/record.err"; then
	[ "$(real_times)" = "1 0" ] ||
		error "samples with and without a time: $(real_times), not 1 0"
	record -e dummy --off-cpu-thresh 60000
	[ "$(real_times)" = "0 1" ] ||
		error "samples with and without a time: $(real_times), not 0 1"
else
	grep -q -e '--off-cpu-thresh.*6\.12' "$work/record.err" || error "no reason is given"
fi
"$PERF" record --off-cpu --off-cpu-thresh 1x -o "$out" -- true 2> "$work/record.err" &&
	error "1x is accepted"
grep -q -e '--off-cpu-thresh=1x: not a number' "$work/record.err" || error "1x: no reason is given"

finish
