#!/bin/bash
# perf data convert --to-perfetto: the ten questions in SQL have the answers of perf script and timehist
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 240
# tags: parallel

# shellcheck disable=SC2154 # snapshots is set by find_snapshots()

# shellcheck source=lib/convert.sh
. "$(dirname "$0")/lib/convert.sh"
# shellcheck source=lib/perfetto.sh
. "$(dirname "$0")/lib/perfetto.sh"

format=perfetto
output=$work/trace.pftrace
page=${TOP:-$tests_dir/../../..}/Documentation/perf-record-sql.rst

need perf root delays sched:sched_switch
need_numbered
need_perfetto_reader
[ -r "$page" ] || skip "no page of questions: $page"
need_idle_events

cat > "$work/questions.py" <<'END'
"""Read the questions of a page, in its order, and let them name another task and CPU."""
import re


def questions(path, name, cpu):
    with open(path, encoding='utf-8') as file:
        found = re.findall(r'\.\. code-block:: sql\n\n((?:    .*\n|\n)+)', file.read())
    return [re.sub(r'\bcpu = 3\b', f'cpu = {cpu}', text.replace("'postgres'", f"'{name}'"))
            for text in found]
END
export PYTHONPATH="$PYTHONPATH:$work"

# ask NAME: run the program in Python on standard input; its ask(NUMBER, TASK, CPU) returns the rows
# that answer a question, from the database NAME
ask() {
	{
		cat <<-END
			import collections, re, sqlite3, sys
			from questions import questions
			db = sqlite3.connect('$work/$1.db')
			def ask(number, task='', cpu=0):
			    return db.execute(questions('$page', task, cpu)[number - 1]).fetchall()
		END
		cat
	} > "$work/$1.py"
	/usr/bin/python3 "$work/$1.py" > "$work/answer" 2>&1 || error "$(tail -n 4 "$work/answer")"
	sed -n 's/^# //p' "$work/answer" | while read -r line; do note "$line"; done
}

# tables NAME: write $output to the database NAME
tables() {
	/usr/bin/python3 "$tests_dir/shell/lib/perfetto_tables.py" "$output" "$work/$1.db" \
		2> "$work/tables.err" ||
		error "cannot read the trace: $(tail -n 1 "$work/tables.err")"
}

subtest "The page has ten questions"
number=$(grep -c 'code-block:: sql' "$page")
[ "$number" = 10 ] || error "$number questions"

# A thread "WAITERw" waits for CPU 0 for 41 ms, and SLEEPER sleeps for 43 ms.
waiter=dly$$ sleeper=slp$$
ln -s "$BUILD/tests/delays" "$work/$waiter"
ln -s "$BUILD/tests/delays" "$work/$sleeper"
recorder_start -a --keep=60s,128M --switch-output -e sched:sched_switch/call-graph=fp/ \
	-e sched:sched_waking -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit \
	-e sched:sched_process_exec -o "$work/kept"
"$work/$sleeper" syscall 43 7 > "$work/slept"
"$work/$waiter" sched-delay 41 > "$work/waited"
control snapshot || error "no snapshot"
recorder_stop "$work/kept"
convert "${snapshots[0]}" && tables kept
fields "${snapshots[0]}" comm,tid,cpu,time,event,trace --ns -G > "$work/script"
"$PERF" script -f -i "${snapshots[0]}" --ns -F tid,time,event,ip,sym 2> /dev/null > "$work/stacks"
"$PERF" sched timehist -f -i "${snapshots[0]}" --no-call-graph > "$work/timehist" 2> /dev/null
cat > "$work/events.py" <<END
"""What perf script prints: (cpu, ns, comm, tid, event, text) of each sample, in the order of
time."""
import re
LINE = re.compile(r' *(.*?) +(-?\d+) +\[(\d+)\] +(\d+)\.(\d{9}): +(\S+):(?: +(.*))?')
lines = open('$work/script', errors='replace').read().splitlines()
events = sorted((int(m[3]), int(m[4] + m[5]), m[1], int(m[2]), m[6], (m[7] or '').strip())
                for m in map(LINE.fullmatch, lines) if m)
events.sort(key=lambda e: e[1])
SWITCH = re.compile(r'(?:prev_comm=)?(.*?)(?: prev_pid=|:)(\d+)(?: prev_prio=| \[)(\d+)\]?'
                    r'(?: prev_state=| )(\S+) ==> (?:next_comm=)?(.*)(?: next_pid=|:)(\d+)'
                    r'(?: next_prio=| \[)\d+\]?')
# (cpu, from, to, comm, tid, state at the end) of each time on a CPU, and the two switches, with the
# tids: (cpu, ns, from, to)
runs, switches, since, last = [], [], {}, {}
for cpu, time, _, _, event, text in events:
    if event == 'sched:sched_switch':
        m = SWITCH.fullmatch(text)
        switch = cpu, time, int(m[2]), int(m[6])
        if cpu in since:
            begin, comm, tid = since[cpu]
            runs.append((cpu, begin, time, comm, tid, m[4]))
            switches.append((last[cpu], switch))
        since[cpu] = time, m[5], int(m[6])
        last[cpu] = switch
END

subtest "1: who held a CPU before the snapshot"
ask kept <<'END'
from events import events, runs
(snapshot,) = [time for _, time, _, _, event, _ in events if event == 'snapshot']
cpus = {run[0] for run in runs}
for cpu in cpus:
    held = collections.Counter()
    for where, begin, end, _, tid, _ in runs:
        if where == cpu and begin < snapshot and end > snapshot - 20000000:
            held[tid] += min(end, snapshot) - max(begin, snapshot - 20000000)
    found = {tid: ns for _, tid, ns in ask(1, cpu=cpu)}
    # The last time on the CPU may have no end.
    assert found == dict(held), (cpu, found, held)
    print(f'# CPU {cpu}: {len(found)} tasks, {sum(found.values()) / 1e6} ms')
assert any(ask(1, cpu=cpu) for cpu in cpus)
END

# timehist takes the switch before for the begin of a time on the CPU. If one between is missing, it
# takes the times of two tasks for one: some kernels do not report all switches of all tasks.
subtest "2: what waited longest for a CPU, and perf sched timehist agrees"
ask kept <<END
from events import switches
(tid, lower, upper, *_), = [map(int, line.split()) for line in open('$work/waited')]
rows = ask(2)
assert [row[3] for row in rows] == sorted((row[3] for row in rows), reverse=True)
every = db.execute(questions('$page', '', 0)[1].replace('LIMIT 10', '')).fetchall()
assert rows == every[:10]
assert any(row[1] == tid and lower <= row[3] <= upper for row in every), (tid, lower, upper, rows)
# timehist prints when the time on the CPU ends, and microseconds.
waits = collections.defaultdict(list)
for wait, run, task in db.execute('''
        SELECT r.dur, r2.ts + r2.dur, thread.tid FROM thread_state AS r JOIN thread USING (utid)
        JOIN thread_state AS r2
        ON r2.utid = r.utid AND r2.ts = r.ts + r.dur AND r2.state = 'Running'
        WHERE r.state IN ('R', 'R+')'''):
    waits[task].append((run, wait))
begun = collections.defaultdict(list)
for (_, _, _, task), (_, time, previous, _) in switches:
    if task == previous:
        begun[task].append(time)
expected = []
for line in open('$work/timehist', errors='replace'):
    m = re.match(r' *(\d+)\.(\d+) \[\d+\].*\[(\d+)(?:/\d+)?\] +[\d.]+ +([\d.]+) +[\d.]+ *\$', line)
    if not m or not float(m[4]):
        continue
    delay, end, task = float(m[4]) * 1e6, int(m[1] + m[2]) * 1000, int(m[3])
    if any(abs(time - end) < 2000 for time in begun[task]):
        expected.append((delay, end, task))
expected.sort(reverse=True)
for delay, end, task in expected[:10]:
    assert any(abs(run - end) < 2000 and abs(wait - delay) < 2000 for run, wait in waits[task]), \
        (delay, end, task, waits[task][:5])
assert len(expected) >= 10, len(expected)
print(f'# {rows[0][0]} waited for {rows[0][3] / 1e6} ms; ten of {len(expected)} delays compared')
END

subtest "3: what ran while a task waited"
ask kept <<END
from events import runs
rows = ask(3, '${waiter}w')
held = {(cpu, tid): ns for cpu, _, tid, ns in rows}
((begin, length),) = db.execute('''SELECT ts, dur FROM thread_state JOIN thread USING (utid) WHERE
    thread.name = '${waiter}w' AND state GLOB 'R' ORDER BY dur DESC LIMIT 1''')
expected = collections.Counter()
for cpu, since, until, _, tid, _ in runs:
    if tid and since < begin + length and until > begin:
        expected[cpu, tid] += min(until, begin + length) - max(since, begin)
assert held == dict(expected), (held, expected)
assert rows[0][1] == '$waiter' and rows[0][0] == 0 and rows[0][3] > 35000000, rows
END

subtest "4: which system calls took longest"
ask kept <<END
lines = [list(map(int, line.split())) for line in open('$work/slept')]
rows = ask(4, '$sleeper')
slept = [row for row in rows if 'nanosleep' in row[0] or '$(uname -m)' != 'x86_64']
for (_, lower, upper, _, _), (_, _, length) in zip(lines, slept):
    assert lower <= length <= upper, (lower, upper, rows)
times = [row[2] for row in rows]
assert len(slept) >= 2 and times == sorted(times, reverse=True), rows
assert len(rows) == 10, rows
END

subtest "5: where a task blocked"
ask kept <<END
rows = ask(5, '$sleeper')
((begin, tid),) = db.execute('''SELECT ts, tid FROM thread_state JOIN thread USING (utid) WHERE
    thread.name = '$sleeper' AND state = 'S' ORDER BY dur DESC LIMIT 1''')
expected, reading = [], False
for line in open('$work/stacks', errors='replace'):
    if re.match(r' *\d+ +\d+\.\d+:', line):
        time = rf'{begin // 10**9}\.{begin % 10**9:09d}'
        reading = re.match(rf' *{tid} +{time}: +sched:sched_switch', line)
    elif reading and line.strip():
        expected.append(re.sub(r'^\s*[0-9a-f]+ ', '', line).strip())
assert [row[0] for row in rows] == expected and len(expected) > 3, (rows, expected)
assert any('nanosleep' in name for name in expected) or '[unknown]' in expected, expected
print(f'# {" < ".join(expected[:5])}')
END

subtest "6: who wakes a task"
ask kept <<END
from events import events
rows = ask(6, '${waiter}w')
expected = collections.Counter(tid for _, _, _, tid, event, text in events
                               if event == 'sched:sched_waking'
                               and re.match('(?:comm=)?${waiter}w[: ]', text))
assert {tid: times for _, tid, times in rows}.keys() <= expected.keys(), (rows, expected)
assert any(name == '$waiter' for name, _, _ in rows), rows
assert all(times <= expected[tid] for _, tid, times in rows), (rows, expected)
END

subtest "7: times on a CPU, asleep and ready"
ask kept <<END
from events import runs
rows = ask(7, '$sleeper')
for tid in {row[0] for row in rows}:
    ran = sum(end - begin for _, begin, end, _, task, _ in runs if task == tid)
    assert [ns for task, state, _, ns in rows if (task, state) == (tid, 'Running')] == [ran], \
        (rows, ran)
slept = sum(ns for _, state, _, ns in rows if state == 'S')
assert slept >= 49000000, rows
END

subtest "8: how often each event happened"
ask kept <<'END'
from events import events
short = {'sched:sched_' + name: 'sched_' + name for name in ('switch', 'waking')} | {
    'raw_syscalls:' + name: name for name in ('sys_enter', 'sys_exit')}
expected = collections.Counter(short.get(event, event) for *_, event, _ in events
                               if event != 'snapshot')
assert dict(ask(8)) == dict(expected), (ask(8), expected)
print(f'# {dict(expected)}')
END

subtest "9: which programs were executed"
ask kept <<END
from events import events
expected = [(time, tid, re.match(r'filename=(.*) pid=', text)[1])
            for _, time, _, tid, event, text in events if event == 'sched:sched_process_exec']
assert ask(9) == expected, (ask(9), expected)
assert {'$work/$waiter', '$work/$sleeper'} <= {row[2] for row in expected}, expected
END

subtest "10: what was lost"
record_losses
convert "$work/losses" && tables losses
"$PERF" script -f -i "$work/losses" --show-lost-events 2> /dev/null |
	sed -n 's/.*PERF_RECORD_LOST lost \([0-9]*\).*/\1/p' | sort -n > "$work/lost"
[ -s "$work/lost" ] || inconclusive "no event was lost"
[ ! -s "$work/lost" ] || ask losses <<END
expected = sorted(int(line) for line in open('$work/lost'))
rows = ask(10)
assert sorted(row[3] for row in rows if row[2] > 0) == expected, (rows, expected)
assert all(re.match('Records of CPU [0-9]', row[0]) for row in rows if row[2] > 0), rows
print(f'# {sum(expected)} lost in {len(expected)} places')
END

subtest "trace_processor has the same answers, and no error"
processor=$(command -v "${TRACE_PROCESSOR:-trace_processor_shell}") ||
	inconclusive "no trace_processor_shell in PATH: neither Debian 12, sid's perfetto 56 nor npm has it"
if [ -n "$processor" ]; then
	convert "${snapshots[0]}"
	cat > "$work/compare.py" <<-END
		import csv, sqlite3, subprocess
		from questions import questions
		db = sqlite3.connect('$work/kept.db')
		def run(text):
		    open('$work/q.sql', 'w').write(text)
		    lines = subprocess.run(['$processor', '-q', '$work/q.sql', '$output'],
		                           check=True, capture_output=True,
		                           text=True).stdout.splitlines()
		    return [row for row in csv.reader(lines) if row][1:]
		for text in questions('$page', '$sleeper', 0)[:9]:
		    expected = [['[NULL]' if v is None else str(v) for v in row]
		                for row in db.execute(text)]
		    assert sorted(run(text)) == sorted(expected), (text, run(text), expected)
		bad = run("SELECT name, idx, value FROM stats "
		          "WHERE severity != 'info' AND value != 0;")
		assert not bad, bad
	END
	/usr/bin/python3 "$work/compare.py" || error "trace_processor has other answers"
fi

finish
