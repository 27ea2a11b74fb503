#!/bin/bash
# perf record --bpf-ring: one recording with rings of BPF and rings of perf is complete and in order
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 200
# tags: parallel long

# shellcheck source=lib/bpf_events.sh
. "$(dirname "$0")/lib/bpf_events.sh"

need_bpf_ring -a -e "$enter/overwrite/"

other=numo$$
ln -s "$(realpath -m "$BUILD/tests/numbered")" "$work/$other"
nr=$("$work/$comm" --print-nr)
# The programs cannot evaluate a pattern.
by_bpf="id == $nr && comm == \"$comm\"" by_perf="id == $nr && comm ~ \"$other*\""

seconds=${NIGHT:+30}

# mixed SECONDS TERMS [OPTIONS...]: record two workloads, one with rings of BPF, one with those of
# perf, and take snapshots at 10 Hz, to "${files[@]}"
mixed() {
	local seconds=$1 terms=$2 workloads=()

	shift 2
	rm -f "$work"/data*
	recorder_start -v -a -m 4M --bpf-ring=yes -e "$enter/$terms/" --filter "$by_perf" \
		-e "$enter/$terms/" --filter "$by_bpf" -o "$work/data" "$@"
	"$work/$comm" --rate 30000 --duration "$seconds" > "$work/issued" &
	workloads+=($!)
	"$work/$other" --rate 30000 --duration "$seconds" --tag 51 > "$work/issued.other" &
	workloads+=($!)
	until gone "${workloads[0]}" && gone "${workloads[1]}"; do
		pause 0.1
		[[ "$terms $*" != *overwrite* && "$*" != *--keep* ]] || control snapshot ||
			fatal "no snapshot: $answer"
	done
	wait "${workloads[@]}" || fatal "a workload failed"
	cat "$work/issued.other" >> "$work/issued"
	recorder_stop "$work/data"
	files=("${snapshots[@]}")
	[ ! -e "$work/data" ] || files+=("$work/data")
	reports "$enter is written by BPF"
	reports "$enter is written by perf"
}

# in_order: each file can be read without warnings, in order of time; samples of both events have
# the fields of the workload
in_order() {
	local file read samples

	for file in "${files[@]}"; do
		fields "$file" trace:comm,time,event,trace --ns > "$work/text" ||
			error "${file##*/} cannot be read"
		[ ! -s "$work/script.err" ] || error "${file##*/}: $(head -n 3 "$work/script.err")"
		sed -nE "s/.* ([0-9]+\.[0-9]{9}): .*$enter:.*/\1/p" "$work/text" | sort -c -n ||
			error "${file##*/} is not in order"
		read=$(grep -cE "^ *($comm|$other) .*: $enter: NR $nr \\(.*, 6e756d62, 0, 0, 0\\)\$" \
			"$work/text")
		samples=$("$PERF" report --stats -i "$file" 2> /dev/null | awk -v event="$enter" '
			/stats:$/ { here = $1 == event }
			here && $1 == "SAMPLE" { n += $3 }
			END { print n + 0 }')
		[ "$read" = "$samples" ] ||
			error "${file##*/}: $read samples are right, of $samples"
	done
}

# lost: were events, also those that name tasks, lost or overwritten between snapshots?
lost() {
	! grep -q 'Lost 0 events' "$work/record.err" || overwritten_between | grep -qv '^0$'
}

# complete TERMS [OPTIONS...]: no call of either workload is missing or repeated. If something was
# lost, missing calls and names prove nothing: up to three runs.
complete() {
	local attempt

	for attempt in 1 2 3; do
		mixed "${seconds:-2}" "$@"
		note "${#files[@]} files"
		if ! lost; then
			in_order
			all_there "${files[@]}"
			return
		fi
		note "attempt $attempt: events were lost"
		numbered_check "${files[@]}" -- --from-start --expect "$work/issued" && return
	done
	inconclusive "events were lost in three runs"
}

subtest "overwritten: snapshots at 10 Hz together hold every call of both once"
complete overwrite --switch-output=signal
subtest "the same, appended to one file"
complete overwrite
subtest "--keep: snapshots at 10 Hz together hold every call of both once"
complete "" --keep=60s,256M --switch-output
subtest "a stream, and one that the main thread drains"
complete ""
complete "" --no-threads

record_chains() {
	perf_record -v -a -m 4M --bpf-ring=yes -e "$enter/overwrite/" \
		-e sched:sched_switch/overwrite,call-graph=fp/ -o "$work/data" \
		-- "$work/$comm" --threads 1 --count 1009
}

subtest "events with other fields"
lossless record_chains
grep -q "$enter is written by BPF" "$work/record.err" || error "BPF does not write $enter"
fields "$work/data" trace --comms "$comm" |
	"$BUILD/tests/numbered_check" --from-start --expect "$work/issued" ||
	if lost; then
		inconclusive "events were lost in three runs"
	else
		error "calls are missing"
	fi
"$PERF" script -F event,ip,sym -i "$work/data" 2> "$work/script.err" |
	grep -A 3 sched_switch: > "$work/chains"
grep -q '__schedule\|schedule' "$work/chains" ||
	error "no call graphs: $(head -n 5 "$work/chains") $(< "$work/script.err")"

finish
