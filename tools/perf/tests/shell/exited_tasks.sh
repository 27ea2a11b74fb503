#!/bin/bash
# perf script, sched, data convert: the last samples of a task that exits have its tid and its name
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel

. "$(dirname "$0")/lib/harness.sh"

need perf sched:sched_switch

# Print "NAME PID TID" of 23 threads and of 23 children that nobody waits for. Each one sleeps once.
cat > "$work/workload.py" <<'END'
import os
import signal
import threading
import time

def task(name):
    tid = threading.get_native_id()
    with open(f'/proc/self/task/{tid}/comm', 'w', encoding='ascii') as file:
        file.write(name)
    os.write(1, f'{name} {os.getpid()} {tid}\n'.encode())
    time.sleep(0.001)

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for i in range(23):
    thread = threading.Thread(target=task, args=('xthread',))
    thread.start()
    thread.join()
    child = os.fork()
    if not child:
        task('xchild')
        os._exit(0)
    try:
        os.waitpid(child, 0)
    except ChildProcessError:
        pass
END

# Print how many samples have the tid -1 in the file.
cat > "$work/exited.py" <<'END'
import struct
import sys
import perf_data

image = perf_data.load(sys.argv[1])
tid = perf_data.pid_offset(image) + 4
print(sum(kind == perf_data.SAMPLE and struct.unpack_from('<i', image, at + tid) == (-1,)
          for kind, _, at, _ in perf_data.records(image)))
END

# Record the switches of the workload's tasks only. The tasks are in $work/tasks.
filter='prev_comm == "xthread" || prev_comm == "xchild"'

# record FILE [command]: record the workload with perf run by a command
record() {
	local file=$1

	shift
	"$@" "$PERF" record -a -o "$file" -e "$event" --filter "$filter" \
		-- python3 "$work/workload.py" > "$work/tasks" 2> "$work/record.err"
}

# same_tasks FILE: check that all samples have name, pid and tid of a task, and that none is missing
same_tasks() {
	local name samples

	exited=$(python3 "$work/exited.py" "$1") || { error "$exited"; return; }
	note "the tid of $exited samples is -1 in the file"
	fields "$1" comm,pid,tid,event |
		awk '/sched_switch/ { sub("/", " "); print $1, $2, $3 }' > "$work/samples"
	samples=$(wc -l < "$work/samples")
	sort -u "$work/samples" | diff - <(sort -u "$work/tasks") > "$work/diff" ||
		error "samples (<) of other tasks than those of the workload (>): $(head -n 4 "$work/diff")"
	for name in xthread xchild; do
		[ "$(grep -c "^$name" "$work/tasks")" = 23 ] || error "the workload is incomplete"
	done
	((samples >= 2 * 46)) || error "$samples switches of 46 tasks that sleep and exit"
	((exited)) || inconclusive "this kernel writes the tid of a task that has exited"
}

subtest "A file"
event=sched:sched_switch
record "$work/file" || fatal "perf record fails"
same_tasks "$work/file"

subtest "perf sched timehist and replay, perf report"
"$PERF" sched timehist "${no_symbols[@]}" -i "$work/file" > "$work/timehist" 2> /dev/null ||
	error "perf sched timehist fails"
grep -q 'xthread\[' "$work/timehist" || error "perf sched timehist prints no thread"
! grep -m 1 -e ':-1' -e '\[-1' "$work/timehist" || error "perf sched timehist prints this"
"$PERF" sched replay -r 1 -i "$work/file" > "$work/replay" 2>&1 ||
	error "perf sched replay fails: $(tail -n 1 "$work/replay")"
"$PERF" report "${no_symbols[@]}" -i "$work/file" --stdio -s pid 2> /dev/null > "$work/report"
grep -q ':xthread\|:xchild\|:python3' "$work/report" || error "perf report prints no name"
! grep -m 1 -e '-1:' "$work/report" || error "perf report prints this"

# Give the tid of a thread that has exited to a later sample of a child. Print its pid and tid.
cat > "$work/reuse.py" <<'END'
import struct
import sys
import perf_data

image = perf_data.load(sys.argv[1])
pid_offset = perf_data.pid_offset(image)
exits, samples = [], []
for kind, _, at, _ in perf_data.records(image):
    if kind == perf_data.EXIT:
        pid, tid, time = struct.unpack_from('<i4xi4xQ', image, at + 8)
        exits.append((time, pid, tid))
    if kind == perf_data.SAMPLE:
        pid, tid, time = struct.unpack_from('<2iQ', image, at + pid_offset)
        samples.append((time, at, pid, tid))
for exit_time, exit_pid, exit_tid in sorted(exits):
    later = [sample for sample in samples if sample[0] > exit_time and sample[2] == sample[3] > 0]
    if exit_pid != exit_tid and later:
        _, at, pid, tid = min(later)
        common_pid = image.index(struct.pack('<i', tid), at + pid_offset + 8)
        for place in (at + pid_offset + 4, common_pid):
            struct.pack_into('<i', image, place, exit_tid)
        perf_data.save(sys.argv[2], image)
        print(f'{pid}/{exit_tid}')
        break
END

subtest "A tid that another task has got, whose FORK record is lost"
again=$(python3 "$work/reuse.py" "$work/file" "$work/again")
[ "$again" ] || error "no thread has exited before a child ran"
fields "$work/again" pid,tid,event |
	grep "^ *$again " > "$work/reused" || error "no sample with pid/tid $again"

subtest "perf data convert"
for format in json chrome trace-dat; do
	"$PERF" data convert -i "$work/file" --to-$format="$work/file.$format" \
		2> "$work/convert.err" ||
		error "--to-$format: $(< "$work/convert.err")"
done
! grep -a -m 1 '"tid": *-1' "$work/file.json" "$work/file.chrome" || error "this is converted"

subtest "A snapshot of an overwritten event"
event=sched:sched_switch/overwrite/
record "$work/snapshot" || fatal "perf record fails"
same_tasks "$work/snapshot"

subtest "A recorder in a pid namespace: tids are those of the namespace"
event=sched:sched_switch
if unshare -pf --mount-proc true 2> "$work/unshare.err"; then
	record "$work/namespace" unshare -pf --mount-proc || fatal "perf record fails"
	same_tasks "$work/namespace"
else
	inconclusive "no pid namespace: $(< "$work/unshare.err")"
fi

finish
