#!/bin/bash
# perf record: tasks have names and binaries have build-ids, in every file
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 180

. "$(dirname "$0")/lib/recorder.sh"

need perf

# names FILE: print the names of the tasks that have samples
names() {
	fields "$1" comm | awk '{ print $1 }' | sort -u
}

busy='while ((SECONDS < 4)); do :; done'
spin='i=0; while [ $i -lt 900000 ]; do i=$((i+1)); done'

subtest "build-ids of binaries of tasks that have exited, streamed and overwritten"
for event in cpu-clock:u cpu-clock/overwrite/u; do
	"$PERF" record -N -o "$work/data" -e $event -- sh -c "$spin" 2> "$work/record.err" ||
		error "$event: perf record fails"
	"$PERF" buildid-list -i "$work/data" > "$work/ids"
	for binary in "$(readlink -f "$(command -v sh)")" libc.so; do
		grep -q "$binary" "$work/ids" || error "$event: no build-id of $binary"
	done
done

subtest "names of the command and its children with --switch-output"
perf_record --switch-output=1s -o "$work/data" -e cpu-clock:u -- sh -c "bash -c '$busy'; true"
find_snapshots "$work/data"
((${#snapshots[@]} >= 3)) || error "only ${#snapshots[@]} files"
# Not the last file: the command may have exited before it was begun.
for file in "${snapshots[@]:0:${#snapshots[@]}-1}"; do
	[ "$(names "$file" | grep -vc '^\(bash\|sh\|perf-exec\)$')" = 0 ] ||
		error "${file##*/} has samples of $(names "$file" | tr '\n' ' ')"
done

subtest "the name after exec, with a ring for each thread, too"
for option in -i --per-thread; do
	"$PERF" record -N -o "$work/data" $option -e cpu-clock:u -- sh -c "$spin" \
		2> "$work/record.err" ||
		error "$option: perf record fails"
	[ "$(names "$work/data" | grep -vc '^\(sh\|perf-exec\)$')" = 0 ] ||
		error "$option: $(names "$work/data")"
	"$PERF" script -i "$work/data" -F comm,ip,dso > "$work/script" 2> "$work/script.err"
	"$PERF" evlist -v -i "$work/data" | grep -v 'sample_type: [A-Z|]*TIME' &&
		error "$option: samples have no time, and cannot be sorted"
	grep -q "^ *sh .*$(readlink -f "$(command -v sh)")" "$work/script" ||
		error "$option: no sample of sh"
done

subtest "in a PID namespace, tasks outside have no names, and not that of another"
if [ "$(id -u)" = 0 ] && unshare -pf --mount-proc true 2> "$work/unshare.err"; then
	bash -c "exec -a outsider bash -c 'while :; do /bin/true; done'" &
	outsider=$!
	for event in cpu-clock cpu-clock/overwrite/; do
		unshare -pf --mount-proc "$PERF" record -a -N -B -o "$work/data" -e $event -- \
			sh -c "$spin" 2> "$work/record.err" || error "$event: perf record fails"
		fields "$work/data" comm,tid |
			awk '$NF == 0 { print $1 }' | sort | uniq -c > "$work/comms"
		grep -q . "$work/comms" || error "$event: there is no sample of a task outside"
		grep -vE ' (:0|:-1|swapper)$' "$work/comms" &&
			error "$event: a name is given to all tasks outside"
		names "$work/data" | grep -qx sh || error "$event: the task inside has no name"
	done
	kill "$outsider"
else
	inconclusive "cannot unshare a PID namespace: $(cat "$work/unshare.err")"
fi

# A process that fills the tracking ring of its CPU with its names when it gets SIGUSR1, and then
# starts a child there. At SIGUSR2, it gets another name.
cat > "$work/parent.py" << 'EOF'
import os, signal, subprocess, sys

program, started, waits = sys.argv[1:]
children = []

def rename(name):
    with open("/proc/self/comm", "w") as comm:
        comm.write(name)

def fill(*_):
    for i in range(100000):
        rename(f"name{i}")
    children.append(subprocess.Popen([program, "-c", "while :; do :; done"]))
    open(started, "w").close()

os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
signal.signal(signal.SIGUSR1, fill)
signal.signal(signal.SIGUSR2, lambda *_: rename("renamed"))
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
open(waits, "w").close()
try:
    while True:
        signal.pause()
finally:
    for child in children:
        child.kill()
EOF
ln -s "$(command -v bash)" "$work/late"

# child_after_loss: record the process; check that its child, of whose start the records are lost,
# has a name. With an argument, a record follows the loss: the kernel tells of it in the ring.
child_after_loss() {
	rm -f "$work"/data* "$work"/{waits,started}
	python3 "$work/parent.py" "$work/late" "$work/started" "$work/waits" &
	parent=$!
	wait_until 20 test -e "$work/waits" || fatal "the process does not start"
	recorder_start -N -p "$parent" -o "$work/data" -e cpu-clock/overwrite/u
	recorder_suspend
	kill -USR1 "$parent"
	wait_until 60 test -e "$work/started" || fatal "the process does not start a child"
	kill -CONT "$recorder"
	control ping || fatal "no answer to 'ping': $answer"
	[ -z "${1-}" ] || kill -USR2 "$parent"
	pause 0.5
	recorder_stop
	kill "$parent"
	wait "$parent"
	"$PERF" report -D -i "$work/data" 2> "$work/report.err" > "$work/dump"
	grep -q 'PERF_RECORD_LOST' "$work/dump" || inconclusive "no tracking record was lost"
	note "names: $(names "$work/data" | grep -v "^name" | xargs)"
	names "$work/data" | grep -qx late || error "the child has no name"
	names "$work/data" | grep '^:' && error "a task has no name"
}

subtest "a child of an attached process after a loss of tracking records has a name"
child_after_loss renamed
subtest "the same if no record follows the loss"
child_after_loss

subtest "the recorder does not spin after a thread has exited"
# A process with two threads, one of which exits soon
python3 -c 'import threading, time
thread = threading.Thread(target=time.sleep, args=(1.5,))
thread.start()
time.sleep(6)' &
pause 0.5
"$PERF" record -o "$work/data" -e cpu-clock:u -p $! -- sleep 4 2> "$work/record.err" &
recorder=$!
pause 3.5
# User and system time, in ticks of 10 ms
ticks=$(awk '{ print $14 + $15 }' "/proc/$recorder/stat")
note "CPU time of the recorder: $ticks ticks"
((ticks < 100)) || error "the recorder used $ticks ticks of CPU time in 3.5 s"
wait "$recorder" || error "perf record fails"

finish
