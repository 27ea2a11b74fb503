#!/bin/bash
# perf record --off-cpu: what was summed up comes into the file, however that is written, and is counted
# SPDX-License-Identifier: GPL-2.0-only

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_perf
need_root
"$PERF" version --build-options | grep -q 'bpf_skeletons: \[ on' || skip "this perf has no BPF skeletons"
"$PERF" record -q --off-cpu -e dummy -o /dev/null -- true > "$work/said" 2>&1 ||
	skip "no off-cpu program here: $(tail -n 1 "$work/said")"

out=$work/data

# asleep FILE: the sleep of half a second is in it
asleep() {
	"$PERF" script -f -i "$1" -F event,period > "$work/samples" 2> "$work/script.err"
	awk '/offcpu-time/ && $1 >= 500000000 { found++ } END { exit !found }' "$work/samples"
}

# record [options]
record() {
	echo "--- $*"
	rm -rf "$out"*
	"$PERF" record --off-cpu -o "$out" "$@" -- sleep 0.5 2> "$work/record.err" || wrong "it ends with status $?"
}

# What the summary, script and perf loss count, and the time that passed; not the time that such samples have
counted() {
	local samples

	samples=$(wc -l < "$work/samples")
	echo "$samples samples"
	grep -q "($samples samples)" "$work/record.err" || wrong "the summary does not say $samples samples"
	"$PERF" loss -i "$out" > "$work/loss" 2>&1
	grep -qE "^Samples +$samples\$" "$work/loss" || wrong "perf loss: $(grep Samples "$work/loss")"
	awk '$1 == "Recorded" && $2 > 1000 { exit 1 }' "$work/loss" || wrong "perf loss: $(grep Recorded "$work/loss")"
}

for options in '-e dummy' '-a -e cpu-clock' '-z -a -e cpu-clock' '-a -e cpu-clock/overwrite/' '--io=sync -p 1 -e dummy'; do
	# shellcheck disable=SC2086 # several words
	record $options
	[[ $options = *-p* ]] || asleep "$out" || wrong "it did not sleep"
	"$PERF" script -f -i "$out" -F event,period > "$work/samples" 2> "$work/script.err"
	counted
done

record -a -e cpu-clock --timestamp-boundary
asleep "$out" || wrong "it did not sleep"
"$PERF" script -f -i "$out" --header-only | awk '/time of last sample/ { exit $NF > 18000000000 }' ||
	wrong "such samples have a time: $("$PERF" script -f -i "$out" --header-only | grep 'last sample')"

echo "--- into a pipe"
"$PERF" record --off-cpu -e dummy -o - -- sleep 0.5 > "$out" 2> "$work/record.err"
asleep - < "$out" || wrong "it did not sleep"

echo "--- the last one of several files"
rm -rf "$out"*
# shellcheck disable=SC2016 # its own parent
"$PERF" record --off-cpu -e dummy -o "$out" --switch-output -- sh -c 'kill -USR2 $PPID; sleep 0.5' \
	2> "$work/record.err" || wrong "it ends with status $?"
find_snapshots "$out"
((${#snapshots[@]} == 2)) || wrong "${#snapshots[@]} files"
asleep "${snapshots[-1]}" || wrong "it did not sleep"

finish
