#!/bin/bash
# Benchmark: what it costs a server to leave a flight recorder on
# SPDX-License-Identifier: GPL-2.0-only
#
# Each workload of WORKLOADS (servers.sh) takes SCALE (5) seconds, more or less. In each of ROUNDS
# (5) rounds it is measured once for each event set of SETS and each recorder of RECORDERS, which
# have been recording for a second by then, and without a recorder before and after each:
#
#	overwrite	this perf, -e event/overwrite/ -m 4M: BPF writes the events
#	overwrite-perf	the same with --bpf-ring=no
#	keep		this perf, --keep
#	keep-when	the same, with conditions of --switch-output-when that nothing meets
#	when		these conditions alone: the set of events is not recorded
#	perf-overwrite	OTHER_PERF (/usr/bin/perf) --overwrite -m 4M
#	perf-overwrite-newest	the same with NEWEST_PERF, that of the newest Linux (make
#				newest-perf)
#	count		this perf stat, which counts the events: what they cost without records
#	trace-cmd	trace-cmd start: ftrace overwrites its rings, of 4 MB for each CPU
#
#	sched		sched:sched_switch, sched:sched_wakeup
#	syscalls	the same, and raw_syscalls:sys_enter and sys_exit
#
# RECORDERS lacks keep-when and when by default. What conditions cost:
#
#	make bench-cost WORKLOADS=redis SETS=syscalls RECORDERS="keep keep-when when" ROUNDS=15
#
# Prints the median requests (transactions, calls, builds) per second, the 99th percentile of the
# latency, and the CPU time that the server takes for a request, without a recorder, and for each
# recorder the median of the ratios to the mean of the two runs without one beside it. Does not
# judge them. A workload or recorder whose packages are not installed is left out.

. "$(dirname "$0")/lib.sh"

need load sched:sched_switch raw_syscalls:sys_enter
rounds=${ROUNDS:-5}
scale=${SCALE:-5}
ours=$PERF
other=${OTHER_PERF:-/usr/bin/perf}
newest=${NEWEST_PERF:-}
recorders="count overwrite overwrite-perf keep perf-overwrite perf-overwrite-newest trace-cmd"
recorders=" ${RECORDERS:-$recorders} "
[ -x "$other" ] || recorders=${recorders/ perf-overwrite / }
[ -x "$newest" ] || recorders=${recorders/ perf-overwrite-newest / }
if [[ $recorders == *trace-cmd* ]]; then
	if trace-cmd start -e sched:sched_switch > "$work/trace-cmd.log" 2>&1; then
		trace-cmd stop && trace-cmd reset
	else
		echo "note: without trace-cmd: $(tail -n 1 "$work/trace-cmd.log")"
		recorders=${recorders/trace-cmd/}
	fi
fi
read -r -a recorders <<< "$recorders"
read -r -a sets <<< "${SETS:-sched syscalls}"

. "$(dirname "$0")/servers.sh"

# events SET: set @events
events() {
	events=(sched:sched_switch sched:sched_wakeup)
	[ "$1" = sched ] || events+=(raw_syscalls:sys_enter raw_syscalls:sys_exit)
}

# recorder_on NAME SET
recorder_on() {
	local event command=(record -a -o "$work/data") perf=$ours options=()

	events "$2"
	case $1 in
	trace-cmd)
		trace-cmd start -b 4096 "${events[@]/#/-e}" > "$work/trace-cmd.log" 2>&1 ||
			fatal "$(cat "$work/trace-cmd.log")"
		recorder=
		return
		;;
	overwrite*)
		options=(-m 4M)
		[ "$1" = overwrite ] || options+=(--bpf-ring=no)
		events=("${events[@]/%//overwrite/}")
		;;
	count) command=(stat -a) ;;
	keep) options=(--keep) ;;
	keep-when | when)
		options=(--keep --switch-output-when='sched-delay>100s'
			--switch-output-when='syscall>100s')
		[ "$1" = keep-when ] || events=(sched:sched_process_exec)
		;;
	perf-overwrite*)
		perf=$other
		[ "$1" = perf-overwrite ] || perf=$newest
		options=(-m 4M --overwrite)
		;;
	esac
	for event in "${events[@]}"; do
		options+=(-e "$event")
	done
	"$perf" "${command[@]}" "${options[@]}" > "$work/record.out" 2> "$work/record.err" &
	recorder=$!
	pause 1
	kill -0 "$recorder" 2> /dev/null || fatal "$(cat "$work/record.err")"
}

recorder_off() {
	if [ -z "$recorder" ]; then
		trace-cmd stop && trace-cmd reset
		return
	fi
	kill -TERM "$recorder"		# SIGINT is ignored in the background, until perf is ready
	wait "$recorder"
}

# measure: run the workload; set $figures to "rate p99 CPU-time", with - for what it lacks
measure() {
	"${workload}_measure"
	figures="$rate ${p99:--} ${cpu:--}"
}

# add NAME FIGURES [TO]: append the figures that there are, or their ratios to those of TO
add() {
	local names=(rate p99 cpu) values to i

	read -r -a values <<< "$2"
	read -r -a to <<< "${3:-1 1 1}"
	for i in 0 1 2; do
		[ "${values[i]}" = - ] ||
			awk -v a="${values[i]}" -v b="${to[i]}" 'BEGIN { print a / b }' \
			>> "$work/figure-$workload-$1-${names[i]}"
	done
}

# between FIGURES FIGURES: print their means
between() {
	paste -d ' ' <(tr ' ' '\n' <<< "$1") <(tr ' ' '\n' <<< "$2") |
		awk '{ print $1 == "-" ? $1 : ($1 + $2) / 2 }' | paste -s -d ' '
}

one_round() {
	local before recorded set name

	measure
	add none "$figures"
	for set in "${sets[@]}"; do
		for name in "${recorders[@]}"; do
			before=$figures
			recorder_on "$name" "$set"
			measure
			recorded=$figures
			recorder_off
			measure
			add none "$figures"
			add "$set-$name" "$recorded" "$(between "$before" "$figures")"
			echo "# $workload $set $name: $recorded (without: $before, $figures)"
		done
	done
}

echo "$rounds rounds, $(nproc) CPUs, $("$other" --version)${newest:+, newest: $("$newest" --version)}, Linux $(uname -r)"
for workload in ${WORKLOADS:-redis nginx pgbench calls build}; do
	needs=$("${workload}_needs")
	if [ -n "$needs" ]; then
		echo "skip: $workload: not installed: $needs"
		continue
	fi
	"${workload}_start"
	"${workload}_measure"
	for ((i = 0; i < rounds; i++)); do
		one_round
	done
	for file in "$work/figure-$workload"-*; do
		echo "RESULT ${file##*/figure-} $(statistic median < "$file")" \
			"($(statistic min < "$file") to $(statistic max < "$file"))"
	done
done
