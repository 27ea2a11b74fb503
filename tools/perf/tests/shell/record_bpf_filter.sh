#!/bin/bash
# perf record: filters of events that are no tracepoints (BPF), beside what leaves the recorder out
# SPDX-License-Identifier: GPL-2.0-only

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_perf
need_root
"$PERF" version --build-options | grep -q 'bpf_skeletons: \[ on' || skip "this perf has no BPF skeletons"
"$PERF" record -q -e cpu-clock --filter 'period > 1' -o /dev/null -- true > "$work/said" 2>&1 ||
	skip "no BPF filters here: $(tail -n 1 "$work/said")"

out=$work/data

# record EVENT FILTER: of all CPUs, for a while, and of the recorder, who is named
record() {
	echo "--- $*"
	rm -f "$out"
	"$PERF" record -a -m 4M -c 100000 -e "$1" --filter "$2" -o "$out" -- \
		sh -c 'echo $PPID; for i in 1 2 3 4 5 6 7 8 9 10; do date > /dev/null; sleep 0.05; done' \
		> "$work/recorder" 2> "$work/record.err" || wrong "it ends with status $?"
	"$PERF" script -f -i "$out" -F pid,cpu > "$work/samples" 2> "$work/script.err"
	sort -k 2 "$work/samples" | uniq -c | sort -rn | head -n 3
}

# Those of the recorder are not recorded, and what is dropped is told, and not called lost
leaves_out() {
	local filtered

	grep -q "^ *$(< "$work/recorder") " "$work/samples" && wrong "the recorder is recorded"
	filtered=$("$PERF" report -f -i "$out" --stats 2> /dev/null | sed -n 's/.*LOST_SAMPLES (BPF) events: *//p')
	echo "$filtered dropped by the filter"
	((filtered > 0)) || wrong "what the filter dropped is not told"
	"$PERF" loss -i "$out" | grep -qE '^Events lost +0 ' || wrong "it is said to be lost"
}

for event in cpu-clock cpu-clock/overwrite/; do
	record "$event" 'cpu == 0'
	grep -q '\[000\]' "$work/samples" || wrong "no sample of CPU 0"
	grep -v '\[000\]' "$work/samples" && wrong "samples of other CPUs"
	[ "$(getconf _NPROCESSORS_ONLN)" = 1 ] || leaves_out

	# Alternatives, of which one holds always, and the other for none
	record "$event" 'cpu == 0 || ip > 0'
	grep -q "^ *$(< "$work/recorder") " "$work/samples" && wrong "the recorder is recorded"
	[ -s "$work/samples" ] || wrong "no samples"
	record "$event" 'ip < 2'
	[ ! -s "$work/samples" ] || wrong "there are samples"
	leaves_out
done

finish
