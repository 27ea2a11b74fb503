#!/bin/bash
# perf record --bpf-ring: BPF writes every event once, as perf does
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 400
# tags: parallel long

# shellcheck source=lib/bpf_events.sh
. "$(dirname "$0")/lib/bpf_events.sh"

need_bpf_ring -a -e "$enter/overwrite/"

# record OPTIONS...: record this machine until /bin/true has run
record() {
	"$PERF" record -v -a -o "$work/data" "$@" -- true 2> "$work/record.err"
}

subtest "snapshots at 10 Hz together hold every call once"
# The programs have no filter: what else the machine does is in the rings as well.
numbered_event() {
	event=(--bpf-ring=yes -m 8M -e "$enter/$1/")
}
trace_options=(--comms "$comm")		# other tests may run the workload, too
seconds=${NIGHT:+30}
expect_gapless signal "${seconds:-2}" --switch-output=signal

# Record all events with both rings, while this machine does something that each of them tells.
compare_samples() {
	local both=() event

	for event in "${events[@]}"; do
		both+=(-e "$event" -e "$event/overwrite/")
	done
	"$PERF" record -v -a -N -B -m 16M --no-exclude-perf --bpf-ring=yes "${both[@]}" \
		-o "$work/data" -- sh -c '
			for i in 1 2 3 4 5 6 7; do
				ls -l /usr/include
				sleep 0.01
			done
			dd if=/dev/zero of="$0/file" bs=64k count=16 oflag=direct
			python3 -c "$1"' "$work" '
from socket import socket, AF_INET, SOCK_DGRAM
server, client = socket(AF_INET, SOCK_DGRAM), socket(AF_INET, SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
for i in range(100):
	client.sendto(b"packet", server.getsockname())
	server.recv(100)' > /dev/null 2> "$work/record.err" || fatal "perf record failed"
	"${tests_dir}/shell/lib/same_samples.py" "$work/data" "${context[@]}" "${events[@]}" \
		> "$work/same"
}

subtest "all events are recorded with both rings"
existing "${bpf_events[@]}"
for attempt in 1 2 3; do
	compare_samples
	status=$?
	[ "$status" = 2 ] || break
	note "$attempt: events were lost"
done
if [ "$status" = 2 ]; then
	inconclusive "events were lost"
	: > "$work/same"
fi

while IFS=$'\t' read -r result event text; do
	if [[ $result = '#'* ]]; then
		note "${result#'# '}"
		continue
	fi
	subtest "samples of $event are equal to those of perf"
	note "$text"
	if reason=$(grep -m 1 "^$event is written by perf: this kernel has" \
		"$work/record.err"); then
		inconclusive "$reason"
	elif [ "$result" = none ]; then
		inconclusive "there was none"
	elif [ "$result" = more ]; then
		# perf records nothing of what interrupts it while it wakes a reader.
		inconclusive "perf lacks samples, and all that it has are equal"
	elif [ "$result" != same ]; then
		error "samples differ"
	fi
done < "$work/same"

subtest "an event in the same recording that BPF cannot write"
record --bpf-ring=yes -e "$enter/overwrite/" -e sched:sched_process_exec/overwrite/ ||
	error "perf record failed"
fields "$work/data" event | sort | uniq -c > "$work/counts"
grep -q "$enter" "$work/counts" || error "no $enter"
grep -q sched_process_exec "$work/counts" || error "no sched_process_exec"
fields "$work/data" time | sort -c -n || error "the times of both are not of one clock"

subtest "only the CPUs of -C are recorded"
perf_record -v -C 0 --bpf-ring=yes -e "$enter/overwrite/" \
	-e syscalls:sys_exit_getppid/overwrite/ \
	-o "$work/data" -- taskset -c 0 "$work/$comm" --threads 1 --tag 15 --count 127
fields "$work/data" comm,cpu,event > "$work/samples"
[ "$(grep -o '\[[0-9]*\]' "$work/samples" | sort -u)" = "[000]" ] ||
	error "samples of other CPUs than 0"
grep -q "$comm.*$enter" "$work/samples" || error "no calls of the workload"

subtest "reasons"
# reason TEXT OPTIONS...
reason() {
	local text=$1

	shift
	record --bpf-ring=yes "$@" && error "not refused: $*"
	grep -qF -- "$text" "$work/record.err" || error "the message for '$*' does not say '$text'"
}
reason "cannot evaluate its filter" -e "$enter/overwrite/" --filter 'comm ~ "a*"'
reason "--no-buffering" --no-buffering -e "$enter"
reason "call graphs" -g -e "$enter/overwrite/"
reason "it is in a group" -e "{$enter/overwrite/,sched:sched_switch/overwrite/}"
reason "an event is recorded twice" -e "$enter/overwrite/" -e "$enter/overwrite/"
reason "limited to user space" --all-user -e "$enter/overwrite/"
reason "CLOCK_MONOTONIC" -k CLOCK_BOOTTIME -e "$enter/overwrite/"
reason "none that the programs know" -e page-faults/overwrite/
for mode in auto no; do
	record --bpf-ring=$mode -e "$enter/overwrite/" --filter 'id == 1' || error "$mode failed"
done
record --bpf-ring=no -e "$enter/overwrite/" || error "no failed"
! grep -qF "rings written by BPF" "$work/record.err" || error "'no' lets BPF write"

subtest "events are enabled and disabled by --control"
recorder_start -a -m 4M -D -1 --bpf-ring=yes -e "$enter/overwrite/" -o "$work/data"
numbered_calls 11 101
control enable "$enter" || error "enable: $answer"
numbered_calls 12 103
control disable "$enter" || error "disable: $answer"
numbered_calls 13 107
recorder_stop
found=$(numbered_ranges "$work/data")
[ "$found" = "12:0-102" ] || [ "$found" = "12:1-103" ] || error "found the calls $found"

subtest "-D -1: --control enables one of two events"
recorder_start -a -m 4M -D -1 --bpf-ring=yes -e "$enter/overwrite/" \
	-e raw_syscalls:sys_exit/overwrite/ -o "$work/data"
control enable raw_syscalls:sys_exit || error "enable: $answer"
numbered_calls 18 101
recorder_stop
fields "$work/data" event | sort | uniq -c > "$work/events"
grep -q sys_exit "$work/events" || error "no samples of the event that is enabled"
! grep -q sys_enter "$work/events" || error "samples of the other one: $(xargs < "$work/events")"

subtest "requests during --delay do not begin it"
recorder_start -a -m 4M -D 600000-600001 --bpf-ring=yes -e "$enter/overwrite/" -o "$work/data"
control ping
numbered_calls 19 101
recorder_stop
found=$(numbered_ranges "$work/data")
[ "$found" = "" ] || error "found calls before the first range: $found"

subtest "ranges of --delay"
# in_ranges RANGES MESSAGE TAG: make calls when perf has printed the message for the second time
in_ranges() {
	recorder_start -a -m 4M -D "$1" --bpf-ring=yes -e "$enter/overwrite/" -o "$work/data"
	wait_until 20 printed "$2" 2 || fatal "not printed: $2"
	control ping
	numbered_calls "$3" 101
	recorder_stop
	found=$(numbered_ranges "$work/data")
}
in_ranges 1-2,600000-600001 "Events disabled" 15
[ "$found" = "" ] || error "found calls between the ranges: $found"
in_ranges 1-2,3-600000 "Events enabled" 16
[ "$found" = 16:1-101 ] || error "not all calls in the second range: $found"

subtest "the recorder's own system calls are excluded unless requested"
# own_calls OPTIONS...: set $own to the number of system calls of the recorder in its file
own_calls() {
	recorder_start -a -m 4M --bpf-ring=yes -e "$enter/overwrite/" -o "$work/data" "$@"
	control ping
	numbered_calls 14 109
	recorder_stop
	[ "$(numbered_ranges "$work/data")" ] || error "no calls of the workload"
	own=$(fields "$work/data" pid | grep -cw "$recorder")
}
own_calls
((own == 0)) || error "$own calls of the recorder"
own_calls --no-exclude-perf
((own > 0)) || error "no calls of the recorder with --no-exclude-perf"

finish
