#!/bin/bash
# perf record --bpf-ring: streams and --keep drain what BPF writes, and count what did not fit
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
# tags: parallel long

# shellcheck source=lib/bpf_events.sh
. "$(dirname "$0")/lib/bpf_events.sh"

# A call that nobody else makes
rare=syscalls:sys_enter_sched_rr_get_interval

need no_lost_counters
need_bpf_ring -a -e "$enter"
has_tracepoint "$rare" || skip "no tracepoint $rare"

trace_options=(--comms "$comm")		# other tests may run the workload, too
seconds=${NIGHT:+30}

lost_events() {
	grep -oE 'Lost [0-9]+ event' "$work/record.err" | grep -oE '[0-9]+'
}

# numbered_recording [OPTIONS...]: record the workload, and with --keep take snapshots of it
numbered_recording() {
	rm -f "$work"/data*
	recorder_start -v -a -m 4M --bpf-ring=yes -e "$enter" -o "$work/data" "$@"
	numbered_start --rate 100000 --duration "${seconds:-2}"
	until gone "$numbered"; do
		pause 0.1
		[[ " $* " != *" --keep"* ]] || control snapshot || fatal "no snapshot: $answer"
	done
	numbered_end
	recorder_stop "$work/data"
	files=("${snapshots[@]}")
	[ ! -e "$work/data" ] || files+=("$work/data")
}

# every_call [OPTIONS...]: no call is missing or repeated
every_call() {
	local lost

	numbered_recording "$@"
	lost=$(lost_events)
	note "${#files[@]} files, lost ${lost:-none}"
	numbered_check "${files[@]}" -- --from-start --expect "$work/issued" && return
	if [ "${lost:-0}" = 0 ]; then
		error "calls are missing or repeated"
	else
		inconclusive "the readers got no CPU for longer than a ring lasts"
	fi
}

subtest "a stream holds every call once"
every_call
subtest "a stream that the main thread drains"
every_call --no-threads
subtest "--keep: snapshots at 10 Hz together hold every call once"
every_call --keep=60s,256M --switch-output

# sizes FILE: count the samples, and print those whose raw data do not end with the record
sizes() {
	python3 - "$1" <<-'END'
		import perf_data, struct, sys
		image, nr = perf_data.load(sys.argv[1]), 0
		for kind, _, at, size in perf_data.records(image):
		    if kind == perf_data.SAMPLE:
		        raw, event = struct.unpack_from('<IH', image, at + 56)
		        nr += 1
		        if size % 8 or size != 60 + raw:
		            print(f'tracepoint {event}: {size} bytes, {raw} of them raw')
		print(f'# {nr} samples')
	END
}

subtest "all events of the table in one stream; records have the size that perf gives them"
there=()
for event in "${bpf_events[@]}"; do
	! has_tracepoint "$event" || there+=(-e "$event")
done
"$PERF" record -v -a -B -N -m 4M --bpf-ring=yes "${there[@]}" -o "$work/data" \
	-- sh -c 'ls -lR "$0"; dd if=/dev/zero of="$1" bs=64k count=16 oflag=direct || :' \
	"$tests_dir" "$work/file" 2> "$work/record.err" > "$work/listing" ||
	error "perf record failed"
note "$(grep -c 'is written by BPF' "$work/record.err") events are written by BPF"
! grep -E 'is written by perf: ' "$work/record.err" | grep -v 'this kernel has' > "$work/others" ||
	error "$(cat "$work/others")"
sizes "$work/data" > "$work/sizes"
note "$(grep '^#' "$work/sizes")"
grep -v '^#' "$work/sizes" | sort | uniq -c > "$work/wrong"
[ ! -s "$work/wrong" ] || error "$(head -n 5 "$work/wrong")"

# rare_calls COUNT: make calls on each CPU; add them to $issued
rare_calls() {
	local cpu

	for cpu in $(taskset -pc $$ | sed 's/.*: //' | tr ',' ' '); do
		taskset -c "${cpu%-*}" python3 -c "
import os
for i in range($1):
	os.sched_rr_get_interval(0)" || fatal "no calls"
		issued=$((issued + $1))
	done
}

# overflow: make more calls than the rings hold, while nobody drains them
overflow() {
	kill -STOP "$recorder"
	wait_until 20 grep -q '^State:.T' "/proc/$recorder/status" || fatal "it does not stop"
	rare_calls 5003
	kill -CONT "$recorder"
}

# each_ring: set $sideband to the number of records that the rings of side-band lost. The ring of
# each CPU has the same number of events, issued or lost.
each_ring() {
	"$PERF" loss --json "$work/data" > "$work/loss.json" 2> "$work/loss.err" ||
		error "perf loss fails"
	sideband=$(python3 - "$work/loss.json" "$issued" <<-'END'
		import json, sys
		rings = json.load(open(sys.argv[1]))['rings']
		print(sum(ring['lost'] for ring in rings if ring['sideband']))
		rings = [ring for ring in rings if not ring['sideband']]
		events = {ring['cpu']: ring['events'] for ring in rings}
		print('# events of each CPU:', events, file=sys.stderr)
		sys.exit(len(events) != len(rings) or
		         any(nr * len(rings) != int(sys.argv[2]) for nr in events.values()))
	END
	) || error "not the same number of events on each CPU"
}

# overrun OPTIONS...: record calls, more than fit, and calls again
overrun() {
	local dump

	issued=0
	rm -f "$work"/data*
	recorder_start -a -m 16 --bpf-ring=yes -e "$rare" -o "$work/data" "$@"
	rare_calls 101
	control ping
	overflow
	control ping
	[ -z "${last-}" ] || rare_calls "$last"
	recorder_stop
	dump=$("$PERF" script "${no_symbols[@]}" -f -i "$work/data" \
		--show-lost-events 2> "$work/script.err") ||
		error "the file cannot be read: $(cat "$work/script.err")"
	recorded=$(grep -c "$rare:" <<< "$dump")
	marked=$(grep -oE 'PERF_RECORD_LOST .*' <<< "$dump" |
		awk '{ n += $NF } END { print n + 0 }')
	counted=$("$PERF" script -D -i "$work/data" 2> /dev/null |
		grep -oE 'PERF_RECORD_LOST_SAMPLES.*' | awk -F : '{ n += $NF } END { print n + 0 }')
	# While the recorder was stopped, the rings of side-band may have been full as well.
	each_ring
	lost=$(($(lost_events) - sideband))
	((${#wrapper[@]})) || counted=$((counted - sideband))	# or only PERF_RECORD_LOST tells
	note "issued $issued, recorded $recorded, lost $lost, PERF_RECORD_LOST $marked, LOST_SAMPLES $counted"
	((lost > 0)) || error "nothing was lost"
	((recorded + lost == issued)) || error "recorded and lost are not what was issued"
	((counted == lost)) || error "the counters in the file differ"
}

for options in "" "--keep=60s,64M" "--filter=common_pid>0"; do
	subtest "a ring that was full: recorded and lost are what was issued${options:+ ($options)}"
	last=103 overrun $options
	((sideband)) || ((marked == lost)) || error "PERF_RECORD_LOST differs"
done
subtest "likewise if nothing was recorded after the loss"
overrun
subtest "likewise on a kernel without counters of lost events"
wrapper=(env "LD_PRELOAD=$(realpath "$BUILD/tests/no_lost_counters")")
overrun
wrapper=()

subtest "readers sleep while nothing happens"
recorder_start -a --bpf-ring=yes -e "$rare" -o "$work/data"
for attempt in 1 2 3; do
	! recorder_idle || break
	[ "$attempt" != 3 ] || error "the recorder uses CPU time"
done
recorder_stop

subtest "overwritten events take precedence"
"$PERF" record -v -a --bpf-ring=yes -e "$rare" -e "$enter/overwrite/" -o "$work/data" \
	-- true 2> "$work/record.err" ||
	error "perf record failed"
reports -F "$rare is written by perf: other events are in overwrite mode"
grep -qF "$enter is written by BPF" "$work/record.err" || error "BPF does not write $enter"

subtest "the recorder's own events are excluded, but for those of the scheduler"
events=("$enter" exceptions:page_fault_user sched:sched_switch)
for option in default --no-exclude-perf; do
	options=()
	[ "$option" = default ] || options=("$option")
	recorder_start -a --bpf-ring=yes "${events[@]/#/-e}" -o "$work/data" "${options[@]}"
	control ping
	numbered_calls 14 10007
	recorder_stop
	fields "$work/data" pid,event |
		awk -v pid="$recorder" '$1 == pid { print $2 }' | sort | uniq -c > "$work/own"
	note "$(xargs < "$work/own")"
	if [ "$option" = default ]; then
		! grep -qE "$enter|page_fault" "$work/own" ||
			error "calls or faults of the recorder"
	else
		grep -q "$enter" "$work/own" || error "no calls of the recorder with $option"
	fi
	grep -q sched_switch "$work/own" || error "no switches of the recorder"
done

finish
