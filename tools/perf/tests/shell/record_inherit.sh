#!/bin/bash
# perf record: -p, -u and a command include the tasks that are started later, -t and -i do not
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 240
# tags: parallel
# needs: upstream-perf

# The recorded process starts a child with two threads, waits for it, and executes another program,
# which starts two threads. The threads issue numbered calls; the process itself calls execve().

. "$(dirname "$0")/lib/numbered.sh"

need_numbered sched:sched_process_exec

program=$work/$comm
child="$program --threads 2 --tag 10 --count 101 --rate 0"
later="$program --threads 2 --tag 20 --count 211 --rate 0"
all="10:1-101 11:1-101 20:1-211 21:1-211"
user=games
other=			# a process that is recorded as well

# select_events [TERMS]: set $events to the options that record the workload's calls and execs, with
# any perf
select_events() {
	numbered_event "${1-}"
	events=("${event[@]:0:4}" -e "sched:sched_process_exec${1:+/$1/}"
		--filter "filename == \"$program\"")
}

# target_start [COMMAND...]: start the process by COMMAND, waiting for target_go; set $target
target_start() {
	rm -f "$work"/go "$work"/data*
	mkfifo "$work/go"
	"$@" bash -c "read -r; $child; exec $later" < "$work/go" > /dev/null &
	target=$!
	exec {go}> "$work/go"
}

target_go() {
	echo >&"$go"
	exec {go}>&-
	wait "$target" || fatal "the recorded process failed"
}

# holds NAME CALLS EXECS: check the numbered calls and the number of execs in the file
holds() {
	local calls execs

	calls=$(numbered_ranges "$work/data")
	execs=$(fields "$work/data" event,trace | grep -c "sched_process_exec.*filename=$program ")
	[ "$calls" = "$2" ] || error "$1 records the calls '$calls', not '$2'"
	[ "$execs" = "$3" ] || error "$1 records $execs execs, not $3"
}

# attached PERF CALLS EXECS OPTIONS...: record the running process until it ends. Upstream's perf
# exits with an error if a task of the user ends while perf starts, and aborts while another
# recorder uses --buildid-mmap (patches/6.12/perf-build-id-ignore-long.patch).
attached() {
	local perf=$1 calls=$2 execs=$3

	shift 3
	PERF=$perf recorder_start "${events[@]}" -o "$work/data" "$@"
	target_go
	[ -z "$other" ] || kill "$other"
	other=
	recorder_end
	if [ "$status" != 0 ] && [ "$perf" != "$PERF" ]; then
		inconclusive "upstream's perf record $* exits with status $status"
		return
	fi
	[ "$status" = 0 ] || error "$perf record $* exits with status $status"
	holds "$perf $*" "$calls" "$execs"
}

# launched PERF CALLS EXECS OPTIONS...: record the process as a command
launched() {
	local perf=$1 calls=$2 execs=$3

	shift 3
	"$perf" record "${events[@]}" -o "$work/data" "$@" -- bash -c "$child; exec $later" \
		> /dev/null 2> "$work/record.err" || error "$perf record $* exits with status $?"
	holds "$perf $*" "$calls" "$execs"
}

# check_attached PERF [OPTIONS...]: check the ways to attach to processes and threads
check_attached() {
	local perf=$1

	shift
	target_start
	attached "$perf" "$all" 2 -p "$target" "$@"
	target_start
	attached "$perf" '' 1 -p "$target" -i "$@"
	target_start
	attached "$perf" '' 1 -t "$target" "$@"
	target_start
	attached "$perf" "$all" 2 -t "$target" --inherit "$@"
	target_start
	attached "$perf" '' 1 -p "$target" --per-thread "$@"
	sleep 1000 &
	other=$!
	target_start
	attached "$perf" "$all" 2 -p "$other,$target" "$@"
}

check_launched() {
	launched "$@" "$all" 2
	launched "$@" '' 1 -i
	launched "$@" '' 1 --per-thread
}

select_events
for perf in "$PERF" "${UPSTREAM_PERF:-}"; do
	subtest "attach to processes and threads${perf:+ by $perf}"
	[ "$perf" ] || inconclusive "no UPSTREAM_PERF to compare with"
	[ "$perf" ] && check_attached "$perf"

	subtest "start a command${perf:+ by $perf}"
	[ "$perf" ] || inconclusive "no UPSTREAM_PERF to compare with"
	[ "$perf" ] && check_launched "$perf"
done

subtest "keep the last records"
check_attached "$PERF" --keep=60s,32M

subtest "overwrite"
select_events overwrite
check_attached "$PERF"
check_launched "$PERF"

subtest "--switch-output-event"
on_call=(--switch-output-event raw_syscalls:sys_enter --filter "${event[3]}" --keep-first=1)
for expected in "2 --inherit" "1 --no-inherit"; do
	target_start
	recorder_start -e sched:sched_process_exec "${on_call[@]}" -o "$work/data" -p "$target" \
		"${expected#* }"
	target_go
	recorder_end
	find_snapshots "$work/data"
	[ "${#snapshots[@]}" = "${expected% *}" ] ||
		error "${expected#* }: ${#snapshots[@]} files, not ${expected% *}"
done

subtest "-u"
select_events
if ! id -u $user > /dev/null 2>&1 || ! command -v setpriv > /dev/null; then
	inconclusive "no user $user, or no setpriv to become that user with"
else
	chmod 711 "$work"
	for perf in "$PERF" ${UPSTREAM_PERF:+"$UPSTREAM_PERF"}; do
		target_start setpriv --reuid "$(id -u $user)" --clear-groups
		attached "$perf" "$all" 2 -u $user
	done
fi

finish
