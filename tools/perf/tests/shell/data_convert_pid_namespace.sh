#!/bin/bash
# perf data convert: in a file of a PID namespace, each task has one id and its own name
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered sched:sched_switch
unshare --pid --fork --mount-proc true 2> /dev/null ||
	skip "this machine allows no new PID namespace"

inside=in$$ outside=out$$ calls=101
ln -s "$(realpath "$work/$comm")" "$work/$inside"
ln -s "$(realpath "$work/$comm")" "$work/$outside"

of_tasks="comm == \"$inside\" || comm == \"$outside\""
switches="prev_$of_tasks"
switches=${switches// comm/ prev_comm}
switches="$switches || ${switches//prev_/next_}"

cat > "$work/check.py" <<'END'
"""check.py TRACE INSIDE OUTSIDE: check who calls getppid() in a trace, and print both tids."""
import collections
import json
import sys

with open(sys.argv[1], encoding='utf-8') as file:
    events = json.load(file)['traceEvents']
tids, titles = collections.defaultdict(set), collections.defaultdict(set)
for event in events:
    if event['ph'] == 'M' and event['name'] == 'thread_name':
        tids[event['args']['name']].add(event['tid'])
        titles[event['tid']].add(event['args']['name'])
for name in sys.argv[2:]:
    # What runs on a CPU has its id in the arguments.
    tids[name] |= {e['args']['tid'] for e in events
                   if e['ph'] == 'B' and e['pid'] == 5000000 and e['name'] == name}
    print(*sorted(tids[name]))
END

# The command in the namespace calls, and waits until the task outside has called as well.
cat > "$work/command" <<'END'
"$work/$inside" --threads 1 --tag 1 --count "$calls" --rate 1000 > "$work/issued_inside" || exit
: > "$work/called"
i=0
until [ -e "$work/called_outside" ] || [ $((i += 1)) -gt 300 ]; do sleep 0.1; done
END
export PERF work inside outside calls
unshare --pid --fork --mount-proc "$PERF" record -a -o "$work/data" \
	-e sched:sched_switch --filter "$switches" -e raw_syscalls:sys_enter --filter "$of_tasks" \
	-e cpu-clock:u -c 1000000 -- sh "$work/command" > "$work/record.out" 2> "$work/record.err" &
wait_until 60 test -e "$work/called" || fatal "the command in the namespace does not run"
"$work/$outside" --threads 1 --tag 2 --count $calls --rate 1000 > "$work/issued" ||
	fatal "no calls outside"
: > "$work/called_outside"
wait $! || fatal "perf record fails"

# The ids of the threads in the fields of the switches, which are those of the initial namespace
field_pids() {
	fields "$work/data" trace |
		grep -oE "(^|[ =])$1(:| (prev|next)_pid=)[0-9]+" | grep -oE '[0-9]+$' | sort -un |
		xargs
}
inside_pids=$(field_pids "$inside")
outside_pids=$(field_pids "$outside")
[ "$inside_pids" ] && [ "$outside_pids" ] ||
	skip "no switches of the tasks were recorded: '$inside_pids', '$outside_pids'"

subtest "--to-chrome"
"$PERF" data convert -i "$work/data" --to-chrome="$work/trace.json" 2> "$work/convert.err" ||
	fatal "cannot convert: $(< "$work/convert.err")"
grep -q 'PID namespace' "$work/convert.err" || error "the namespace is not mentioned"
python3 "$work/check.py" "$work/trace.json" "$inside" "$outside" > "$work/tids" ||
	fatal "cannot check the trace"
{ read -r inside_tids; read -r outside_tids; } < "$work/tids"
[ "$inside_tids" = "$inside_pids" ] || error "the threads inside: $inside_tids, not $inside_pids"
[ "$outside_tids" = "$outside_pids" ] ||
	error "the threads outside: $outside_tids, not $outside_pids"

subtest "--to-chrome of a pipe says that it cannot know"
unshare --pid --fork --mount-proc "$PERF" record -o - -e raw_syscalls:sys_enter \
	-- "$work/$inside" --threads 1 --tag 1 --count $calls 2> /dev/null |
	"$PERF" data convert -i - --to-chrome="$work/pipe.json" 2> "$work/convert.err" &&
	error "the pipe is converted"
grep -q 'recorded in a PID namespace' "$work/convert.err" ||
	error "message: $(< "$work/convert.err")"

subtest "--to-trace-dat"
"$PERF" data convert -i "$work/data" --to-trace-dat="$work/trace.dat" 2> "$work/convert.err" ||
	fatal "cannot convert: $(< "$work/convert.err")"
grep -q 'PID namespace' "$work/convert.err" || error "the namespace is not mentioned"
if command -v trace-cmd > /dev/null; then
	trace-cmd report -i "$work/trace.dat" > "$work/report" 2> /dev/null
	grep -qE "^ *$inside-(${inside_pids// /|}) " "$work/report" ||
		error "the task inside has no name"
	grep -E '^ *swapper(/[0-9]+)?-[1-9]' "$work/report" | head -n 3 | grep . &&
		error "a task has the name of the idle task"
else
	inconclusive "trace-cmd is not installed"
fi

finish
