#!/bin/bash
# perf data convert --to-chrome: everything in the file is drawn, once, and slices nest
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel

# shellcheck disable=SC2154 # variables that check() sets

. "$(dirname "$0")/lib/convert.sh"

format=chrome
output=$work/trace.json

need_numbered sched:sched_switch raw_syscalls:sys_exit

cat > "$work/check.py" <<'END'
"""Check a trace, and print what it contains as shell variables."""
import collections
import json
import sys

with open(sys.argv[1], encoding='utf-8') as file:
    trace = json.load(file)
events = trace['traceEvents']
open_slices = collections.defaultdict(list)
count = collections.Counter()
names, lost, lost_in_all = (collections.Counter() for _ in range(3))
flows, titles = {}, set()
# Viewers sort by time. Events of the same time stay in the order of the file.
for event in sorted((e for e in events if e['ph'] != 'M'), key=lambda e: e['ts']):
    track, time = (event['pid'], event['tid']), event['ts']
    category = event.get('cat', '')
    count[event['ph'], category] += 1
    if event['ph'] == 'B':
        if category == 'syscall':
            names[event['name']] += 1
        open_slices[track].append(event)
    elif event['ph'] == 'E':
        if not open_slices[track]:
            sys.exit(f'# ERROR: {event} ends no slice')
        begin = open_slices[track].pop()
        if event['name'] != begin['name']:
            sys.exit(f'# ERROR: {event} ends {begin}')
        count['ended', begin.get('cat', '')] += 1
        count['returned'] += begin.get('cat') == 'syscall' and 'ret' in event.get('args', {})
    elif event['ph'] in 'sf':
        flows.setdefault(event['id'], []).append(event['ph'])
    if event['ph'] in 'stf' and not open_slices[track]:
        sys.exit(f'# ERROR: {event} is in no slice')
    if category == 'lost':
        lost[track] += event['args'].get('lost', 0)
        lost_in_all[track] += event['args'].get('lost in all', 0)
    count['global'] += event.get('s') == 'g'
    count['cut'] += 'cut' in event.get('args', {})
for track, slices in open_slices.items():
    if slices:
        sys.exit(f'# ERROR: {slices[-1]} has no end')
for flow, phases in flows.items():
    if ''.join(phases) not in ('s', 'sf'):
        sys.exit(f'# ERROR: arrow {flow} is {phases}')
for event in events:
    if event['ph'] == 'M' and event['name'] == 'thread_name':
        titles.add(event['args']['name'])
print('syscalls=%d returned=%d cut=%d' % (count['B', 'syscall'], count['returned'], count['cut']))
print('wakeups=%d' % (count['s', 'wakeup'] + count['t', 'wakeup'] + count['i', 'wakeup']))
print('arrows=%d' % count['f', 'wakeup'])
print('points=%d snapshots=%d' % (count['i', ''] - count['global'], count['global']))
# No record tells of events lost at the end of a ring, only the ring's counter, if it has one.
print('losses=%d lost=%d' % (count['B', 'lost'], sum((lost | lost_in_all).values())))
print('running=%d' % sum(1 for e in events if e['ph'] == 'B' and e['pid'] == 5000000))
print('off_cpu=%d' % sum(1 for e in events
                         if e['ph'] == 'B' and e['pid'] < 5000000 and 'cat' not in e))
print('called=%d' % names[sys.argv[2]] if len(sys.argv) > 2 else '')
with open(sys.argv[1] + '.titles', 'w', encoding='utf-8') as file:
    file.write('\n'.join(sorted(titles)))
END

# draw FILE [options]: convert it, and set the variables that check.py prints
draw() {
	convert "$@" && check "$output"
}

check() {
	python3 "$work/check.py" "$1" getppid > "$work/counts" 2>&1 && . "$work/counts" && return
	error "${1##*/}: $(tail -n 1 "$work/counts")"
	return 1
}

# in_script FILE EVENT: print how many samples of the event perf script finds
in_script() {
	fields "$1" event | grep -c "^ *$2: *$"
}

# expect NAME VALUE WHAT
expect() {
	[ "${!1}" = "$2" ] || error "$3: ${!1} drawn, $2 in the file"
}

subtest "Tasks: system calls, page faults, switches and wake-ups of a workload"
odd=$'q"\\<\t\xff\xc3\xa9'
ln -s "$BUILD/tests/numbered" "$work/$odd"
perf_record -o "$work/tasks" -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit \
	-e sched:sched_wakeup -e page-faults --switch-events --sample-cpu -c 1 \
	-- "$work/$odd" --threads 2 --count 1009 --idle --rate 20000
if draw "$work/tasks"; then
	enters=$(in_script "$work/tasks" raw_syscalls:sys_enter)
	exits=$(in_script "$work/tasks" raw_syscalls:sys_exit)
	note "$enters system calls, $returned returned, $cut cut; $running times on a CPU, $off_cpu off"
	expect syscalls $((enters + cut)) "system calls"
	expect returned "$exits" "system calls that return"
	expect called $((2 * 1009)) "numbered calls"
	expect points "$(in_script "$work/tasks" page-faults)" "page faults"
	expect wakeups "$(in_script "$work/tasks" sched:sched_wakeup)" "wake-ups"
	ins=$(fields "$work/tasks" comm,event --show-switch-events |
		grep -c 'PERF_RECORD_SWITCH.* IN')
	((running >= ins)) || error "$running slices on CPUs, $ins switches"
	((off_cpu > 0)) || error "no thread is ever off the CPU"
	grep -qF $'q"\\<\t\xef\xbf\xbd\xc3\xa9' "$work/trace.json.titles" ||
		error "no such name: $(grep '^q' "$work/trace.json.titles" | od -c | head -n 3)"
fi

subtest "A snapshot, which has no EXIT records: tasks that exit are not drawn to its end"
perf_record -o "$work/kept" --keep -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit \
	-- sh -c '/bin/true; sleep 0.2; /bin/true'
if draw "$work/kept"; then
	python3 - "$work/trace.json" <<-'END' || error "a task that exits is drawn for longer"
		import json
		import sys
		begins, exits, longer = {}, 0, 0
		with open(sys.argv[1], encoding='utf-8') as file:
		    for event in json.load(file)['traceEvents']:
		        track = (event['pid'], event.get('tid'))
		        if event['ph'] == 'B':
		            begins[track] = event
		        elif event['ph'] == 'E' and track in begins:
		            begin = begins.pop(track)
		            if begin['name'] in ('exit', 'exit_group'):
		                exits += 1
		                longer += event['ts'] > begin['ts']
		print(f'# {exits} tasks exit, {longer} are drawn for longer')
		sys.exit(exits < 3 or longer)
	END
fi

subtest "The whole system: arrows from wake-ups to tasks that run"
ours="comm == \"$comm\""
perf_record -a -o "$work/system" -e sched:sched_switch \
	--filter "prev_comm == \"$comm\" || next_comm == \"$comm\"" \
	-e sched:sched_waking --filter "$ours" -e sched:sched_wakeup --filter "$ours" \
	-e raw_syscalls:sys_enter --filter "$ours" -e raw_syscalls:sys_exit --filter "$ours" \
	-- "$work/$comm" --threads 2 --count 211 --idle --rate 5000
if draw "$work/system"; then
	wakings=$(in_script "$work/system" sched:sched_waking)
	note "$wakings wake-ups, $arrows arrows that arrive, $running times on a CPU"
	expect wakeups $((wakings + $(in_script "$work/system" sched:sched_wakeup))) "wake-ups"
	expect syscalls $(($(in_script "$work/system" raw_syscalls:sys_enter) + cut)) "system calls"
	expect called $((2 * 211)) "numbered calls"
	((arrows <= wakings && off_cpu > 0)) || error "$arrows arrows, $off_cpu times off the CPU"
fi
whole=$syscalls

subtest "Addresses in fields that are no pointers are not negative numbers"
if record_addresses && draw "$work/addresses"; then
	((points > 0)) || error "no point"
	addresses=$(grep -c '"call_site":"0x[89a-f][0-9a-f]\{15\}"' "$work/trace.json")
	expect points "$addresses" "samples with an address"
fi

subtest "--time selects a span, and slices are cut at its ends"
if draw "$work/system" --time 40%-60%; then
	note "$syscalls of $whole system calls"
	((syscalls < whole)) || error "--time leaves nothing out"
fi

subtest "--time ends at the record of a new name, which is newer than the last sample"
perf_record -a -o "$work/exec" -e sched:sched_switch \
	-- sh -c 'for i in 1 2 3 4 5; do /bin/true; done'
fields "$work/exec" time,event --ns --show-task-events |
	awk '/PERF_RECORD_COMM exec: true/ { sub(":", "", $1); print $1 }' > "$work/execs"
# Other tasks may execute programs meanwhile, which are recorded, too.
note "$(wc -l < "$work/execs") programs are executed"
(($(wc -l < "$work/execs") >= 5)) || error "not 5 programs are executed"
while read -r time; do
	draw "$work/exec" --time ",$time"
done < "$work/execs"

subtest "Lost records"
record_losses
if draw "$work/losses"; then
	note "$called calls recorded, $lost lost in $losses places"
	expect losses "$records" "records of losses"
	expect lost "$in_all" "lost events"
	expect called $((2 * 1009 - in_all)) "recorded calls"
fi

subtest "Snapshots of --keep: compressed files, which say why they exist"
record_kept
if draw "${snapshots[0]}"; then
	expect snapshots 1 "samples that say why"
	expect called 997 "numbered calls"
	grep -q '"name":"snapshot: control' "$work/trace.json" || error "the trace does not say why"
fi

subtest "Pipes"
if convert_pipe; then
	check "$output" && expect called 499 "numbered calls"
fi

subtest "--to-html: the page contains the same trace"
"$PERF" data convert -f -i "$work/system" --to-chrome=- > "$work/trace.json" 2> "$work/convert.err"
"$PERF" data convert -f -i "$work/system" --to-html=- > "$work/trace.html" 2>> "$work/convert.err"
python3 - "$work/trace.html" "$work/trace.json" <<'END' || error "the page has another trace"
import re
import sys

page, trace = (open(path, encoding='utf-8').read() for path in sys.argv[1:])
scripts = re.findall('<script[^>]*>(.*?)</script>', page, re.S)
sys.exit(len(scripts) != 2 or scripts[0] != trace or page.count('</html>') != 1)
END

subtest "Stacks of tasks that have exited: their samples have the tid -1"
perf_record -o "$work/exited" -g -e page-faults -c 1 -- /bin/true
python3 - "$work/exited" <<'END' || error "cannot change the tids"
import struct
import sys
import perf_data

image = perf_data.load(sys.argv[1])
samples = [at for kind, _, at, _ in perf_data.records(image) if kind == perf_data.SAMPLE]
for at in samples:
    struct.pack_into('<ii', image, at + perf_data.pid_offset(image), -1, -1)
perf_data.save(sys.argv[1], image)
sys.exit(not samples)
END
faults=$(in_script "$work/exited" page-faults)
if draw "$work/exited"; then
	expect points "$faults" "page faults"
	[ "$(grep -c '"stack":\["' "$work/trace.json")" = "$faults" ] || error "some have no stack"
fi

subtest "A damaged file: the host's name has no end"
cp "$work/exited" "$work/endless"
python3 - "$work/endless" <<'END' || error "cannot change the name"
import struct
import sys
import perf_data

HOSTNAME, SIZE = 3, 56	# malloc() reserves no byte more than these
image = perf_data.load(sys.argv[1])
at, _ = perf_data.feature(image, HOSTNAME)
image[at:at + 4 + SIZE] = struct.pack('<I', SIZE) + SIZE * b'H'
perf_data.save(sys.argv[1], image)
END
if draw "$work/endless"; then
	python3 -c "
import json, sys
sys.exit(json.load(open(sys.argv[1]))['otherData']['hostname'] != 56 * 'H')
" "$work/trace.json" || error "the trace has $(grep -ao '"hostname":[^,]*' "$work/trace.json")"
fi

subtest "Errors"
common_failures

finish
