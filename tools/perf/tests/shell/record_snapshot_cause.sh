#!/bin/bash
# perf record: each snapshot has a record that says what requested it, and how far back it reaches
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel

. "$(dirname "$0")/lib/recorder.sh"

need perf root sched:sched_process_exec

marker=$work/marker$$
ln -s /bin/sleep "$marker"
filter="filename == \"$marker\""

# start [record options]: record executions of $marker
start() {
	rm -f "$work"/data*
	recorder_start -a -e sched:sched_process_exec --filter "$filter" -o "$work/data" "$@"
}

nr_snapshots() {
	(($(grep -c 'Snapshot [0-9]* (' "$work/record.err") >= $1))
}

nr_refused() {
	(($(grep -c 'Cannot take a snapshot' "$work/record.err") >= $1))
}

# record_of PERF FILE NR: set $task and $text of the NRth snapshot in the file
record_of() {
	"$1" script -f -i "$2" 2> "$work/script.err" | awk -v nr="$3" '
		$6 == "snapshot:" && ++n == nr {
			print $1, $2
		}
		/BPF string:/ && n == nr {
			sub(/.*BPF string: /, "")
			print
		}' > "$work/cause"
	task='' text=''
	{ read -r task; read -r text; } < "$work/cause"
	note "$task: $text"
}

# expect TASK REGEXP: check what record_of() has found; TASK is "comm pid", or "comm"
expect() {
	[[ $task = "$1" || ${task% *} = "$1" ]] || error "the task is '$task', not '$1'"
	[[ $text =~ ^\"$2\"$ ]] || error "the text is '$text', not '$2'"
}

# seconds_to_exec FILE: print the time between the first execution and the first snapshot [s]
seconds_to_exec() {
	fields "$1" time,event --ns | awk '
		/snapshot:/ && !snapshot { snapshot = $1 + 0 }
		/exec:/ && !exec { exec = $1 + 0 }
		END {
			if (!exec || !snapshot)
				exit 1
			print (snapshot > exec ? snapshot - exec : exec - snapshot)
		}'
}

for mode in "--keep=60s,64M" "-e sched:sched_switch/overwrite/"; do
	reach='kept [0-9.]+ s, nothing dropped'
	[[ $mode = --keep* ]] ||
		reach='rings [0-9.]+ s, (nothing overwritten|limited by CPU [0-9]+)'

	subtest "a signal, an event and a command, in files of their own: $mode"
	# shellcheck disable=SC2086 # several options
	start $mode --switch-output-event sched:sched_process_exec --filter "$filter"
	kill -USR2 "$recorder"
	wait_until 20 nr_snapshots 1 || error "no snapshot for the signal"
	# Perf record reads the task's name after the event, and perf script names only tasks that
	# live.
	"$marker" 60 &
	wait_until 20 nr_snapshots 2 || error "no snapshot for the event"
	kill $!
	wait $! 2> /dev/null
	control snapshot || error "no snapshot for the command"
	recorder_stop "$work/data"
	[ "${#snapshots[@]}" = 4 ] || fatal "${#snapshots[@]} files, not 4"
	for perf in "$PERF" ${old_perf:+"$old_perf"} ${NEWEST_PERF:+"$NEWEST_PERF"}; do
		record_of "$perf" "${snapshots[0]}" 1
		expect "$(cat /proc/$$/comm) $$" "signal by $(cat /proc/$$/comm); $reach"
		record_of "$perf" "${snapshots[1]}" 1
		expect "${marker##*/}" "sched:sched_process_exec by ${marker##*/}; $reach"
		record_of "$perf" "${snapshots[2]}" 1
		expect "perf $recorder" "control; $reach"
		record_of "$perf" "${snapshots[3]}" 1
		[ -z "$text" ] || error "a record at the end, which nothing requested: $text"
		# Fields that samples of a software event need not have
		"$perf" script -f -i "${snapshots[1]}" -F comm,tid,cpu,time,period,event,ip,sym \
			> "$work/script.out" 2> "$work/script.err" || error "-F fails"
	done
	readable "${snapshots[@]}" || error "a file cannot be read"
	seconds=$(seconds_to_exec "${snapshots[1]}") || error "the execution is not in the file"
	note "$seconds s between the event and the record"
	awk -v s="${seconds:-9}" 'BEGIN { exit s > 5 }' ||
		error "the record has the time of another clock"

	subtest "several snapshots in one file: $mode"
	# shellcheck disable=SC2086 # several options
	start $mode
	kill -USR2 "$recorder"
	wait_until 20 nr_snapshots 1 || error "no snapshot for the signal"
	control snapshot || error "no snapshot for the command"
	recorder_stop
	record_of "$PERF" "$work/data" 1
	expect "$(cat /proc/$$/comm) $$" "signal by .*"
	record_of "$PERF" "$work/data" 2
	expect "perf $recorder" "control; .*"
	grep -i 'out of order' "$work/script.err" && error "records are out of order"
	readable "$work/data" || error "the file cannot be read"
done

subtest "no such event without snapshots"
perf_record -e cpu-clock -o "$work/stream" true
"$PERF" evlist -i "$work/stream" | grep snapshot && error "the event is in the file"

subtest "a request that is refused is not the reason of the file"
for option in --timestamp-filename --switch-output=1G; do
	start $option --exec-snapshot "echo \$PERF_SNAPSHOT_REASON > $work/reason; :"
	for ((nr = 1; nr <= 2; nr++)); do
		kill -USR2 "$recorder"
		wait_until 20 nr_refused $nr || error "a signal is not refused"
	done
	recorder_stop
	[ "$(< "$work/reason")" = exit ] || error "$option: the reason is $(< "$work/reason")"
	grep 'The same snapshot' "$work/record.err" && error "$option: there is no snapshot"
done

finish
