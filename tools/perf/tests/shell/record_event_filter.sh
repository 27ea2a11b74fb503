#!/bin/bash
# perf record --filter: BPF filters of other events than tracepoints, together with --exclude-perf
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
# tags: parallel long

. "$(dirname "$0")/lib/recorder.sh"

need perf root
"$PERF" version --build-options | grep -q 'bpf_skeletons: \[ on' ||
	skip "this perf has no BPF skeletons"

out=$work/data

# record EVENT FILTER: record all CPUs for half a second; $work/recorder has the process id of perf
# record. Skip the test if the first recording fails.
record() {
	subtest "$1 with filter $2"
	rm -f "$out"
	"$PERF" record -a -m 4M -c 100000 -e "$1" --filter "$2" -o "$out" -- \
		sh -c 'echo $PPID
			for i in 1 2 3 4 5 6 7 8 9 10; do date > /dev/null; sleep 0.05; done' \
		> "$work/recorder" 2> "$work/record.err" || {
		((results)) || skip "no BPF filters: $(tail -n 1 "$work/record.err")"
		error "perf record exits with status $?"
	}
	fields "$out" pid,cpu > "$work/samples"
	sort -k 2 "$work/samples" | uniq -c | sort -rn | head -n 3
}

# no_recorder EVENT: overwritten events, and those of clocks, record the recorder as well
no_recorder() {
	[[ $1 = *overwrite* ]] && return
	grep -q "^ *$(< "$work/recorder") " "$work/samples" &&
		error "there are samples of perf record itself"
}

# Samples dropped by the filter are counted, and are not counted as lost.
counts_dropped() {
	local filtered

	filtered=$("$PERF" report -f -i "$out" --stats 2> /dev/null |
		sed -n 's/.*LOST_SAMPLES (BPF) events: *//p')
	note "$filtered samples dropped by the filter"
	((filtered > 0)) || error "perf report --stats has no count of dropped samples"
	"$PERF" loss -i "$out" | grep -qE '^Events lost +0 ' ||
		error "perf loss counts dropped samples as lost"
}

passes_cpu_0() {
	record "$1" 'cpu == 0'
	grep -q '\[000\]' "$work/samples" || error "no sample of CPU 0"
	grep -v '\[000\]' "$work/samples" && error "samples of other CPUs"
	no_recorder "$1"
	[ "$(getconf _NPROCESSORS_ONLN)" = 1 ] || counts_dropped
}

# The second alternative always holds.
passes_all() {
	record "$1" 'cpu == 0 || ip > 0'
	no_recorder "$1"
	[ -s "$work/samples" ] || error "no samples"
}

passes_none() {
	record "$1" 'ip < 2'
	[ ! -s "$work/samples" ] || error "there are samples"
	counts_dropped
}

# The kernel needs 10 s or more to verify the program of a filter.
switches=context-switches/period=1/
passes_cpu_0 "$switches"
passes_all cpu-clock/overwrite/
if [ -n "${NIGHT-}" ]; then
	passes_none "$switches"
	passes_cpu_0 cpu-clock/overwrite/
	passes_all "$switches"
	passes_none cpu-clock/overwrite/
fi

subtest "an ordinary user is told how to get filters"
if as_nobody_ready && [ ! -e /sys/fs/bpf/perf_filter ]; then
	"${as_nobody[@]}" "$PERF" record -e cpu-clock:u --filter 'pid > 1' -o "$public/data" \
		-- true 2> "$work/record.err" &&
		error "the filter is accepted"
	reports 'setup-filter pin'
else
	inconclusive "${reason:-filters are pinned}"
fi

finish
