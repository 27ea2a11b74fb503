#!/bin/bash
# Benchmark: what it costs a server to leave a flight recorder on
# SPDX-License-Identifier: GPL-2.0-only
#
# redis-benchmark sends GET requests (REQUESTS, default 400,000) to redis-server over loopback. In
# each of ROUNDS (5) rounds this is measured once without a recorder, and once for each event set of
# SETS and each recorder of RECORDERS, which have been recording for a second by then:
#
#	overwrite	this perf, -e event/overwrite/ -m 4M
#	keep		this perf, --keep
#	perf-overwrite	OTHER_PERF (/usr/bin/perf) --overwrite -m 4M
#	trace-cmd	trace-cmd start: ftrace overwrites its rings, of 4 MB for each CPU
#
#	sched		sched:sched_switch, sched:sched_wakeup
#	syscalls	the same, and raw_syscalls:sys_enter and sys_exit
#
# Prints the median requests per second and the 99th percentile of the latency without a recorder,
# and for each recorder the median of the ratios to the run without one in the same round. Does not
# judge them. Needs the packages redis-server and redis-tools, and trace-cmd for its part.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

need_tracepoint sched:sched_switch
need_tracepoint raw_syscalls:sys_enter
for tool in redis-server redis-benchmark redis-cli; do
	command -v "$tool" > /dev/null || skip "no $tool (Debian: redis-server, redis-tools)"
done

rounds=${ROUNDS:-5}
requests=${REQUESTS:-400000}
ours=$PERF
other=${OTHER_PERF:-/usr/bin/perf}
recorders=${RECORDERS:-overwrite keep perf-overwrite trace-cmd}
[ -x "$other" ] || recorders=${recorders/perf-overwrite/}
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
port=$((20000 + $$ % 10000))

redis-server --port "$port" --save '' --appendonly no --dir "$work" > "$work/redis.log" &
started+=($!)
wait_until 10 redis-cli -p "$port" ping > "$work/pong" 2>&1 ||
	fatal "redis-server does not start: $(cat "$work/redis.log")"

# Set $rps and $p99 [ms].
measure() {
	redis-benchmark -p "$port" -t get -n "$requests" -c 50 --csv > "$work/csv" ||
		fatal "redis-benchmark fails"
	read -r rps p99 < <(tail -n 1 "$work/csv" | tr -d '"' | awk -F, '{ print $2, $7 }')
}

# events SET: set @events
events() {
	events=(sched:sched_switch sched:sched_wakeup)
	[ "$1" = sched ] || events+=(raw_syscalls:sys_enter raw_syscalls:sys_exit)
}

# recorder_on NAME SET
recorder_on() {
	local event perf=$ours options=()

	events "$2"
	case $1 in
	trace-cmd)
		trace-cmd start -b 4096 "${events[@]/#/-e}" > "$work/trace-cmd.log" 2>&1 ||
			fatal "$(cat "$work/trace-cmd.log")"
		recorder=
		return
		;;
	overwrite)
		options=(-m 4M)
		events=("${events[@]/%//overwrite/}")
		;;
	keep) options=(--keep) ;;
	perf-overwrite)
		perf=$other
		options=(-m 4M --overwrite)
		;;
	esac
	for event in "${events[@]}"; do
		options+=(-e "$event")
	done
	"$perf" record -a "${options[@]}" -o "$work/data" > "$work/record.out" 2> "$work/record.err" &
	recorder=$!
	started+=("$recorder")
	pause 1
	kill -0 "$recorder" 2> /dev/null || fatal "$(cat "$work/record.err")"
}

recorder_off() {
	if [ -z "$recorder" ]; then
		trace-cmd stop && trace-cmd reset
		return
	fi
	kill -INT "$recorder"
	wait "$recorder"
}

measure
for ((i = 0; i < rounds; i++)); do
	measure
	none=$rps none_p99=$p99
	echo "$rps" >> "$work/figure-none-requests"
	echo "$p99" >> "$work/figure-none-p99"
	for set in "${sets[@]}"; do
		for name in "${recorders[@]}"; do
			recorder_on "$name" "$set"
			measure
			recorder_off
			echo "# $set $name: $rps requests/s, p99 $p99 ms (without: $none, $none_p99)"
			awk -v a="$rps" -v b="$none" 'BEGIN { print a / b }' >> "$work/figure-$set-$name-requests"
			awk -v a="$p99" -v b="$none_p99" 'BEGIN { print a / b }' >> "$work/figure-$set-$name-p99"
		done
	done
done
echo "$rounds rounds of $requests requests, $(nproc) CPUs, $("$other" --version), Linux $(uname -r)"
for file in "$work"/figure-*; do
	echo "RESULT ${file##*/figure-} $(statistic median < "$file")" \
		"($(statistic min < "$file") to $(statistic max < "$file"))"
done
