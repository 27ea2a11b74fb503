#!/bin/bash
# perf record --bpf-ring: BPF records the tasks of -p, -t, -u, -G and of a command as perf does
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
# tags: parallel

# shellcheck source=lib/bpf_events.sh
. "$(dirname "$0")/lib/bpf_events.sh"
# shellcheck source=lib/cgroups.sh
. "$(dirname "$0")/lib/cgroups.sh"

need_bpf_ring -e "$enter/overwrite/"

existing "${bpf_events[@]}"
both=()
for event in "${events[@]}"; do
	both+=(-e "$event" -e "$event/overwrite/")
done

# The target's workload: processes and threads begin, execute programs, fail, and end.
cat > "$work/busy" <<-'END'
	for i in 1 2 3; do
		ls -l /usr/include | sort -r | head -n 3
		(exit "$i") &
		wait
	done
	/usr/bin/python3 -S "$0.py"
END
cat > "$work/busy.py" <<'END'
import os, threading, time
def run():
    for i in range(53):
        os.getppid()
    time.sleep(0.01)
    if not os.fork():
        os.execv("/bin/true", ["true"])
threads = [threading.Thread(target=run) for i in range(7)]
for thread in threads: thread.start()
for thread in threads: thread.join()
END
chmod 755 "$work"

# start COMMAND...: start it when $go is opened, after the command "${user[@]}"; $task is its
# process
user=()
go=$work/go
mkfifo -m 666 "$go"
start() {
	"${user[@]}" sh -c 'read -r line < "$0"; exec "$@"' "$go" "$@" > /dev/null &
	task=$!
}

# begun: does the recorder run?
begun() {
	grep -q 'perf record has started' "$work/record.err"
}

# record OPTIONS...: record the task with both rings, until it has ended
record() {
	: > "$work/record.err"
	"$PERF" record -v -N -B -m 16M --bpf-ring=yes "${both[@]}" -o "$work/data" "$@" \
		2> "$work/record.err" &
	recorder=$!
	[ "$1" != -- ] || return 0
	wait_until 30 begun || fatal "perf record does not start"
	echo > "$go"
}

# compare: the samples of both rings are equal, and of the same tasks. Fails if that is not known.
compare() {
	wait_until 60 gone "$recorder" || fatal "the recorder does not end with the target"
	wait "$recorder" || error "perf record failed"
	same_samples || return
	note "$(grep -c '^same' "$work/same") events, $(awk -F '[\t ]' '{ n += $3 } END { print n }' "$work/same") samples"
	grep -q "^same.$enter" "$work/same" || error "no system calls"
}

subtest "a command: samples are equal to those of perf, from exec to exit"
record -- sh "$work/busy" > /dev/null
if compare; then
	grep -q "^same.sched:sched_process_exit" "$work/same" || error "no exits"
fi

subtest "-p: later tasks are recorded as well"
start sh "$work/busy"
record -p "$task"
compare

subtest "-p without later tasks (-i)"
start sh "$work/busy"
record -i -p "$task"
compare
others=$(fields "$work/data" tid,event |
	awk -v task="$task" '$1 != task && !/swapper/' | grep -c "$enter")
((others == 0)) || error "$others calls of other tasks"

subtest "-t: only this thread is recorded"
start sh "$work/busy"
record -t "$task"
compare

subtest "-u"
name=news		# an account that nobody uses
if ! id -u "$name" > /dev/null 2>&1; then
	inconclusive "no user $name"
elif "$PERF" record --bpf-ring=yes -u "$name" -e "$enter/overwrite/" -o "$work/data" -- true 2>&1 |
		grep -q "it has a filter"; then
	inconclusive "this perf filters the samples of all tasks"
else
	user=(setpriv --reuid "$name" --clear-groups)
	start sh "$work/busy"
	user=()
	record -u "$name"
	compare
fi

# of_cgroup CPUS COMMAND...: record the command in the cgroup "$box" until it has ended
of_cgroup() {
	start "${@:2}"
	record "$1" -G "$box" -- tail -s 0.1 --pid "$task" -f /dev/null
	compare
}

subtest "-G: tasks of the cgroup and below"
if make_cgroups "" /inner -other; then
	# shellcheck disable=SC2016 # expanded by that shell
	user=(sh -c 'echo 0 > "$0/cgroup.procs" && exec "$@"' "$root/$box/inner")
	of_cgroup -a sh "$work/busy"

	subtest "-G: tasks of the cgroup on the CPUs of -C"
	of_cgroup -C0 taskset -c 0 sh "$work/busy"
	user=()
else
	inconclusive "no cgroup2 that perf counts in"
	box=''
fi

subtest "-G: tasks that move"
cat > "$work/moves.py" <<'END'
import os, sys
def run_in(path, nr_calls):
    with open(path + "/cgroup.procs", "w") as file:
        file.write("0")
    for i in range(nr_calls):
        os.getppid()
for i in range(53):
    run_in(sys.argv[2], 1000 + i)
    run_in(sys.argv[1], i)
run_in(sys.argv[2], 1)
END
if [ -n "$box" ]; then
	# Other events may come while the kernel has moved the task and has not told perf.
	both=(-e "$enter" -e "$enter/overwrite/" -e syscalls:sys_enter_getppid
		-e syscalls:sys_enter_getppid/overwrite/)
	events=("$enter" syscalls:sys_enter_getppid)
	if of_cgroup -a /usr/bin/python3 -S "$work/moves.py" "$root/$box/inner" "$root/$box-other"
	then
		grep -qP '^same\tsyscalls:sys_enter_getppid\t1378 ' "$work/same" ||
			error "not 1378 calls"
	fi
	wait_until 10 remove_cgroups || error "cgroups are in use"
else
	inconclusive "no cgroup2 that perf counts in"
fi

subtest "a stream holds every call of the target once, and no other"
recorder_launch -v -m 4M --bpf-ring=yes -e "$enter" -o "$work/data" -- "$work/$comm" --threads 3 \
	--tag 21 --count 10007
recorder_end
fields "$work/data" comm | sort | uniq -c > "$work/comms"
note "$(xargs < "$work/comms"), $(numbered_ranges "$work/data")"
[ "$(awk '{ print $2 }' "$work/comms" | sort -u)" = "$comm" ] || error "calls of other tasks"

subtest "a task that has many other events, pinned ones among them"
start sh -c 'for i in 1 2 3; do /bin/true; done'
printf -v others '%s,' dummy{,}{,}{,}{,}{,}{,}{,}{,}{,} dummy:D{,}{,}{,}
"$PERF" stat -p "$task" -e "${others%,}" -o "$work/stat" &
others=$!
has_events() {
	(("$(find "/proc/$others/fd" -lname '*perf_event*' | wc -l)" == 520))
}
wait_until 30 has_events || fatal "perf stat does not open its events"
: > "$work/record.err"
"$PERF" record -v -i --bpf-ring=yes -e "$enter" -p "$task" -o "$work/data" 2> "$work/record.err" &
recorder=$!
wait_until 30 begun || fatal "perf record does not start"
echo > "$go"
wait_until 60 gone "$recorder" || fatal "the recorder does not end with the target"
((($(fields "$work/data" event | grep -c "$enter")) > 10)) || error "no calls"
kill "$others" 2> /dev/null
wait "$others"

subtest "an event that follows children otherwise than the marker of the tasks does"
# left_to_perf NR OPTIONS...: perf writes the event, which has samples of NR tasks
left_to_perf() {
	local nr

	perf_record -v "${@:2}" -o "$work/data" -- sh -c '/bin/true; /bin/true; :'
	grep -q 'is written by perf: it .* children' "$work/record.err" || error "${*:2}: no reason"
	nr=$(fields "$work/data" tid | sort -u | wc -l)
	((nr == $1)) || error "${*:2}: samples of $nr tasks, not $1"
}
for term in "" "overwrite,"; do
	left_to_perf 1 -e "$enter/${term}no-inherit/"
	left_to_perf 3 -i -e "$enter/${term}inherit/"
done

subtest "no marker, where BPF writes no event"
# events_of MODE: set $opened to the number of events that the recorder has opened
events_of() {
	recorder_start -e page-faults/overwrite/u --bpf-ring="$1" -p "$task" -o "$work/data"
	opened=$(find "/proc/$recorder/fd" -lname '*perf_event*' | wc -l)
	recorder_stop
}
start true
events_of no
expected=$opened
events_of auto
echo > "$go"
((opened == expected)) || error "$opened events, not $expected"

subtest "several recorders of one task"
start sh -c 'for i in 1 2 3 4 5; do /bin/true; done'
recorders=()
for i in 1 2 3 4 5; do
	: > "$work/record.err"		# begun() must not read that of the last one
	"$PERF" record -v --bpf-ring=yes -e "$enter" -e sched:sched_switch -p "$task" \
		-o "$work/data$i" 2> "$work/record.err" &
	recorders+=($!)
	wait_until 30 begun || fatal "perf record $i does not start"
done
echo > "$go"
for i in 1 2 3 4 5; do
	wait_until 60 gone "${recorders[i - 1]}" || fatal "recorder $i does not end"
	fields "$work/data$i" tid,event,trace > "$work/calls$i"
	grep -q "$enter" "$work/calls$i" || error "recorder $i has no calls"
	cmp "$work/calls1" "$work/calls$i" || error "recorder $i has other samples"
done
note "$(wc -l < "$work/calls1") samples each"

subtest "--control and --delay"
numbered_start --rate 1000 --duration 600
recorder_start -v -D -1 --bpf-ring=yes -e "$enter" -p "$numbered" -o "$work/data"
control enable || error "enable: $answer"
pause 0.5
control disable || error "disable: $answer"
kill "$numbered"
recorder_end
((($(fields "$work/data" event | grep -c "$enter")) > 10)) || error "no calls while it was enabled"

subtest "--per-thread is left to perf"
! "$PERF" record --per-thread --bpf-ring=yes -e "$enter" -o "$work/data" \
	-- true 2> "$work/record.err" ||
	error "not refused"
reports -F "a ring of its own (--per-thread)"

finish
