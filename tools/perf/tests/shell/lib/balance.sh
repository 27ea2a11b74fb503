# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # used, and set, by those who source this
# Compare what BPF programs write with what perf counts at the same time.

need perf root raw_syscalls:sys_enter
command -v python3 > /dev/null || skip "no python3"

need_bpf_ring -a -e raw_syscalls:sys_enter/overwrite/
need_idle_events

# count FILE COMMAND...: count the events "${events[@]}" of all CPUs while the command runs
count() {
	"$PERF" stat -a -x , -o "$1" "${events[@]/#/-e}" -- "${@:2}"
}

# counted FILE EVENT: print how often perf stat has counted it
counted() {
	awk -F , -v event="$2" '$3 == event { print $1 }' "$1"
}

# in_file EVENT KIND: print how many SAMPLE or LOST_SAMPLES of an event the file has
in_file() {
	awk -v event="$1" -v kind="$2" '
		/stats:$/ { here = $1 == event }
		here && $1 == kind { print $3; found = 1 }
		END { if (!found) print 0 }' "$work/stats"
}

# balance TERMS "RECORD OPTIONS": record the events while "${command[@]}" runs, which get_command
# sets once perf records. Those that are recorded and those that were lost must be no fewer than
# perf counts while the command runs, and no more than it counts from before the recording until
# after it. Fails if that is not known, as events were overwritten.
balance() {
	local terms=$1 options=$2 event inner outer recorded missed counter

	rm -f "$work"/{begun,end,data}
	# shellcheck disable=SC2016 # expanded by that shell
	count "$work/outer" sh -c '
		: > "$0/begun"
		while [ ! -e "$0/end" ]; do sleep 0.05; done' "$work" &
	counter=$!
	wait_until 20 test -e "$work/begun" || fatal "perf stat does not begin"
	# shellcheck disable=SC2086 # several options
	recorder_start -v -a -N -B --bpf-ring=yes --no-exclude-perf $options \
		-e "$(IFS=,; echo "${events[*]/%//$terms/}")" -o "$work/data"
	[ -z "$terms" ] || control snapshot || fatal "no snapshot: $answer"
	get_command
	count "$work/inner" "${command[@]}" || error "the command fails: ${command[*]}"
	recorder_stop
	: > "$work/end"
	wait "$counter" || fatal "perf stat fails"
	! grep 'is written by perf' "$work/record.err" || error "BPF does not write an event"
	if grep -oE '[0-9]+ bytes overwritten before' "$work/record.err" | grep -qv '^0 '; then
		inconclusive "the rings were too small for what this machine does"
		return 1
	fi

	lost=0
	"$PERF" report --stats -i "$work/data" > "$work/stats" 2> "$work/stats.err"
	for event in "${events[@]}"; do
		inner=$(counted "$work/inner" "$event") outer=$(counted "$work/outer" "$event")
		recorded=$(in_file "$event" SAMPLE) missed=$(in_file "$event" LOST_SAMPLES)
		note "$event: recorded $recorded, lost $missed; counted $inner of $outer"
		((recorded + missed >= inner && recorded + missed <= outer)) ||
			error "it does not add up"
		lost=$((lost + missed))
	done
	[ "$(grep -oE 'Lost [0-9]+ event' "$work/record.err")" = "Lost $lost event" ] ||
		error "the summary says otherwise"
	"$PERF" loss --json "$work/data" > "$work/loss.json" 2> "$work/loss.err" ||
		error "perf loss fails"
	python3 -c 'import json, sys
sys.exit(json.load(open(sys.argv[1]))["lost"] != int(sys.argv[2]))' \
		"$work/loss.json" "$lost" ||
		error "perf loss says otherwise: $(< "$work/loss.json")"
}
