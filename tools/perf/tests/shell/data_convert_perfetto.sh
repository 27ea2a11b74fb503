#!/bin/bash
# perf data convert --to-perfetto: another reader finds what perf script, report and sched print
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 180
# tags: parallel

# shellcheck disable=SC2154 # variables that read_trace() sets

. "$(dirname "$0")/lib/convert.sh"
# shellcheck source=lib/perfetto.sh
. "$(dirname "$0")/lib/perfetto.sh"

format=perfetto
output=$work/trace.pftrace

need_numbered delays sched:sched_switch irq:softirq_entry
need_perfetto_reader

cat > "$work/read.py" <<'END'
"""read.py TRACE [CALL]: check the structure of a trace, print numbers as shell variables, and write
TRACE.events, TRACE.stacks, TRACE.slices, TRACE.tasks and TRACE.annotations."""
import collections
import os
import sys

from perfetto_trace import read_packets

packets = read_packets(sys.argv[1])

interned, names, cleared = {}, {}, set()
tracks, depth, annotations = {}, collections.Counter(), []
events, stacks, slices, tasks, waking = [], [], [], {}, {}
too_long, too_long_ends = [], []
running, count = {}, collections.Counter()
lost = lost_in_all = losses = snapshots = called = 0
call = int(sys.argv[2]) if len(sys.argv) > 2 else -1


def name_of(event):
    kind = [field.name for field, _ in event.ListFields() if field.message_type]
    if len(kind) != 1:
        sys.exit(f'# ERROR: an event has the messages {kind}')
    return kind[0] if kind[0] != 'generic' else event.generic.name


def stack_of(packet):
    table = interned[packet.sequence]
    frames = [table['frame', iid] for iid in table['stack', packet.sample.stack].frame]
    for frame in frames:
        if frame.mapping:
            mapping = table['mapping', frame.mapping]
            table['path', mapping.path[0]]
            if mapping.build_id and len(table['build_id', mapping.build_id].str) not in (16, 20):
                sys.exit('# ERROR: the size of a build-id')
    return [table['function', frame.function].str.decode() for frame in frames]


for packet in packets:
    if packet.flags & 1:
        interned[packet.sequence] = {}
        cleared.add(packet.sequence)
        names[packet.sequence] = packet.defaults.sample.timebase.name
    for kind in 'function', 'frame', 'stack', 'build_id', 'path', 'mapping':
        for value in getattr(packet.interned, kind):
            if interned[packet.sequence].setdefault((kind, value.iid), value) is not value:
                sys.exit(f'# ERROR: {kind} {value.iid} is defined twice')
    for event in packet.bundle.event:
        name = name_of(event)
        count[name] += 1
        called += (name == 'sys_enter' and event.sys_enter.id == call)
        events.append((packet.bundle.cpu, event.time, event.pid, name, event))
    if packet.HasField('sample'):
        if packet.sequence not in cleared or not packet.flags & 2:
            sys.exit('# ERROR: a sample without the state of its sequence')
        count[names[packet.sequence]] += 1
        stack = stack_of(packet) if packet.sample.stack else []
        stacks.append((packet.time, packet.sample.tid, names[packet.sequence], stack))
    for process in packet.tree.process:
        tasks.setdefault(process.pid, {}).update(
            {'ppid': process.ppid} if process.HasField('ppid') else {})
    for thread in packet.tree.thread:
        tasks.setdefault(thread.tid, {}).update(tgid=thread.tgid, name=thread.name)
    if packet.HasField('track'):
        if packet.track.parent and packet.track.parent not in tracks:
            sys.exit('# ERROR: a track without its parent')
        tracks[packet.track.uuid] = packet.track.name
# Tracks nest in the order of time; of two events at one time, the first in the file is first.
for packet in sorted((p for p in packets if p.HasField('event')), key=lambda p: p.time):
    event = packet.event
    if event.track not in tracks:
        sys.exit('# ERROR: an event on a track without a name')
    depth[event.track] += {1: 1, 2: -1, 3: 0}[event.type]
    if depth[event.track] < 0:
        sys.exit('# ERROR: the end of no slice')
    values = {a.name: a.number for a in event.annotation}
    if 'lost' in event.category:
        losses += event.type == 1
        lost += values.get('lost', 0)
        lost_in_all += values.get('lost in all', 0)
    if event.type == 1 and event.category == ['too-long']:
        too_long.append([packet.time, event, values])
    if event.type == 2 and tracks[event.track].startswith('Too long'):
        too_long_ends.append(packet.time)
    if event.type == 3 and tracks[event.track] == 'Snapshots':
        snapshots += 1
        annotations.append(event.name)
if any(depth.values()):
    sys.exit('# ERROR: a slice without an end')

for cpu, time, pid, name, event in sorted(events, key=lambda e: (e[1], e[0])):
    if name == 'sched_switch':
        if pid and pid != event.sched_switch.prev_pid:
            sys.exit(f'# ERROR: the switch of {event.sched_switch.prev_pid} is one of {pid}')
        begin, tid = running.pop(cpu, (None, None))
        if begin and event.sched_switch.prev_pid:
            known = tid == event.sched_switch.prev_pid
            slices.append((begin if known else None, time, cpu, event.sched_switch.prev_pid))
        running[cpu] = (time, event.sched_switch.next_pid)


def text_of(name, event):
    if name == 'sched_switch':
        e = event.sched_switch
        return f'{e.prev_comm} {e.prev_pid} {e.prev_prio} {e.next_comm} {e.next_pid} {e.next_prio}'
    if name.startswith('sched_wak'):
        e = getattr(event, name)
        return f'{e.comm} {e.pid} {e.prio} {e.target_cpu}'
    if name == 'sys_enter':
        e = event.sys_enter
        return f'NR {e.id} ({", ".join(f"{arg:x}" for arg in e.args)})'
    if name == 'sys_exit':
        return f'NR {event.sys_exit.id} = {event.sys_exit.ret}'
    if name.startswith('softirq'):
        return f'vec={getattr(event, name).vec}'
    return ''


def write(suffix, lines):
    with open(sys.argv[1] + suffix, 'w', encoding='utf-8') as file:
        file.writelines(line + '\n' for line in lines)


def at(time):
    return f'{time // 10**9}.{time % 10**9:09d}'


write('.events', sorted(f'{cpu} {at(time)} {name} {text_of(name, event)}'.rstrip()
                        for cpu, time, _, name, event in events))
write('.stacks', sorted(f'{at(time)} {name} {";".join(stack)}' for time, _, name, stack in stacks))
write('.slices', sorted(f'{cpu} {tid} {at(end)} {(end - begin + 500) // 1000 if begin else "?"}'
                        for begin, end, cpu, tid in slices))
write('.tasks', (f'{tid} {task.get("tgid")} {task.get("ppid")} {task.get("name")}'
                 for tid, task in tasks.items()))
write('.annotations', annotations)
write('.too_long', (f'{begin} {end} {values.get("tid")} {event.name}'
                    for (begin, event, values), end in zip(too_long, too_long_ends)))
write('.counts', (f'{name} {number}' for name, number in sorted(count.items())))
clocks = {c.id: c.time for p in packets for c in p.clocks.clock}
print(f'events={len(events)} samples={len(stacks)} slices={len(slices)} '
      f'size={os.path.getsize(sys.argv[1])}')
print(f'losses={losses} lost={max(lost, lost_in_all)} taken={snapshots} called={called}')
machine = packets[0].system.utsname.machine
print(f'clocks="{" ".join(map(str, sorted(clocks)))}" machine={machine}')
END

# read_trace: read $output, and set the variables that read.py prints. 110 is getppid on x86.
read_trace() {
	/usr/bin/python3 "$work/read.py" "$output" 110 > "$work/counts" 2>&1 && . "$work/counts" &&
		return
	error "$(tail -n 1 "$work/counts")"
	return 1
}

# same WHAT: compare $work/expected and $work/found
same() {
	LC_ALL=C sort -o "$work/expected" "$work/expected"
	LC_ALL=C sort -o "$work/found" "$work/found"
	[ -s "$work/expected" ] || inconclusive "no $1"
	cmp -s "$work/expected" "$work/found" ||
		error "$1 differ: $(diff "$work/expected" "$work/found" | head -n 12)"
}

# same_counts FILE: each event has as many samples as perf script finds
same_counts() {
	fields "$1" event |
		sed -E 's/^ *//; s/: *$//; /^snapshot$/d
			s/^sched:(sched_(switch|waking|wakeup|wakeup_new))$/\1/
			s/^raw_syscalls:(sys_)/\1/; s/^irq:(softirq_|irq_)/\1/' |
		sort | uniq -c | awk '{ print $2, $1 }' > "$work/expected"
	cp "$output.counts" "$work/found"
	same "numbers of samples"
}

subtest "The whole system: each event with its fields, as perf script prints them"
odd=$'q"\\<\xff\xc3\xa9'
ln -s "$BUILD/tests/numbered" "$work/$odd"
perf_record -a -o "$work/system" -e sched:sched_switch -e sched:sched_waking \
	-e sched:sched_wakeup -e irq:softirq_entry -e irq:softirq_exit -e raw_syscalls:sys_enter \
	-e raw_syscalls:sys_exit -e sched:sched_process_exec -e timer:hrtimer_start \
	-- "$work/$odd" --threads 2 --count 499 --idle --rate 5000
if convert "$work/system" && read_trace; then
	note "$events events, $slices slices, $size bytes"
	said "Converted $events samples"
	same_counts "$work/system"
	[ "$machine" != x86_64 ] || ((called >= 2 * 499)) ||
		if grep -q 'Lost 0 events' "$work/record.err"; then
			error "$called numbered calls"
		else
			inconclusive "events were lost"
		fi
	fields "$work/system" cpu,time,event,trace --ns | sed 's/^ *//' > "$work/script"
	/usr/bin/python3 - "$work/script" > "$work/expected" <<'END' ||
"""Bring lines of perf script to the form of read.py."""
import re
import sys

SWITCH = (r'prev_comm=(.*) prev_pid=(\d+) prev_prio=(\d+) prev_state=\S+ ==> '
          r'next_comm=(.*) next_pid=(\d+) next_prio=(\d+)',
          r'(.*):(\d+) \[(\d+)\] \S+ ==> (.*):(\d+) \[(\d+)\]')
WAKEUP = (r'comm=(.*) pid=(\d+) prio=(\d+) target_cpu=(\d+)',
          r'(.*):(\d+) \[(\d+)\](?: success=1)? CPU:(\d+)')
for line in open(sys.argv[1], encoding='utf-8', errors='replace'):
    cpu, time, event, text = re.match(r'\[(\d+)\] +(\d+\.\d{9}): +(\S+): ?(.*)', line).groups()
    name = event.partition(':')[2]
    if name.startswith(('sched_switch', 'sched_wak')):
        for pattern in SWITCH if name == 'sched_switch' else WAKEUP:
            match = re.fullmatch(pattern, text)
            if match:
                text = ' '.join(str(int(g)) if g.isdigit() else g for g in match.groups())
                break
    elif name.startswith('softirq'):
        text = text.split()[0]
    elif not name.startswith('sys_'):
        name, text = event, ''
    print(f'{int(cpu)} {time} {name} {text}'.rstrip())
END
		error "cannot read perf script"
	cp "$output.events" "$work/found"
	same events
fi

subtest "Times on a CPU are those of perf sched timehist"
"$PERF" sched timehist "${no_symbols[@]}" -f -i "$work/system" > "$work/timehist" 2> /dev/null
/usr/bin/python3 - "$work/timehist" "$output.slices" <<'END' || error "times on a CPU differ"
import collections
import re
import sys

# timehist prints microseconds. Each slice is found once. If a switch is missing, as those of the
# recorder are, timehist counts the time of one task to the next: us is then "?".
found = collections.defaultdict(list)
for line in open(sys.argv[2], encoding='utf-8'):
    cpu, tid, end, us = line.split()
    found[int(cpu), int(tid)].append((float(end), us != '?' and int(us)))
faults = same = 0
for line in open(sys.argv[1], encoding='utf-8', errors='replace'):
    match = re.match(r' *(\d+\.\d+) \[0*(\d+)\].*\[(\d+)(?:/\d+)?\]'
                     r' +[\d.]+ +[\d.]+ +([\d.]+) *$', line)
    if not match or float(match[4]) == 0:
        continue
    end, task, us = float(match[1]), (int(match[2]), int(match[3])), float(match[4]) * 1000
    near = [slice for slice in found[task]
            if abs(slice[0] - end) < 2e-6 and (slice[1] is False or abs(slice[1] - us) < 2)]
    if near:
        found[task].remove(near[0])
        same += near[0][1] is not False
    else:
        faults += 1
        print(f'# not found: {line.strip()}')
print(f'# {same} times on a CPU are the same')
sys.exit(faults or not same)
END

subtest "Stacks are those of perf script"
perf_record -a -g -o "$work/stacks" -e cpu-clock -c 500000 -e sched:sched_process_exec \
	-- sh -c 'for i in 1 2 3; do sort /etc/services > /dev/null; done'
if convert "$work/stacks" && read_trace; then
	"$PERF" script -f -i "$work/stacks" --ns -F time,event,ip,sym 2> /dev/null | awk '
		function flush() { if (head != "") print head stack; head = stack = "" }
		/^ *[0-9]+\.[0-9]+: / {
			flush()
			sub(":", "", $1)
			sub(/:$/, "", $2)
			head = $1 " " $2 " "
			next
		}
		NF { sub(/^[ \t]*[0-9a-f]+ /, ""); stack = $0 (stack == "" ? "" : ";" stack) }
		END { flush() }' > "$work/expected"
	# perf script prints nothing of a sample whose stack is empty; the trace has its place.
	awk 'NR == FNR { if (NF == 2) empty[$1]; next } !($1 in empty)' "$work/expected" \
		"$output.stacks" > "$work/found"
	sed -i '/^[^ ]* [^ ]* $/d' "$work/expected"
	same stacks
	note "$samples stacks"
fi

subtest "Tasks have their names, processes and parents"
perf_record -o "$work/tasks" -e sched:sched_process_exec -e sched:sched_process_exit \
	-- sh -c 'echo $$; /bin/true & echo $!; wait'
{ read -r parent && read -r child; } < "$work/issued"
if convert "$work/tasks" && read_trace; then
	grep -qx "$child $child $parent true" "$output.tasks" ||
		error "no process $child of $parent: $(grep "^$child " "$output.tasks")"
	grep -qx "$parent $parent [^ ]* sh" "$output.tasks" || error "no process $parent"
fi

subtest "A time span has the names that tasks got before"
exit_time=$(fields "$work/tasks" pid,time,event --ns |
	awk -v pid="$child" '$1 == pid && /_exit/ { sub(":", "", $2); print $2 }')
if convert "$work/tasks" --time "$exit_time," && read_trace; then
	grep -q "^sched:sched_process_exec" "$output.counts" && error "samples before the time span"
	grep -qx "$child $child $parent true" "$output.tasks" ||
		error "no process $child of $parent: $(grep "^$child " "$output.tasks")"
fi

subtest "System calls of their own tracepoints: the number and the arguments"
perf_record -o "$work/calls" -e syscalls:sys_enter_getppid -e syscalls:sys_exit_getppid \
	-- "$work/$comm" --threads 2 --count 211 --idle
if convert "$work/calls" && read_trace; then
	grep -qx "sys_exit 422" "$output.counts" || error "$(cat "$output.counts")"
	[ "$machine" != x86_64 ] || [ "$called" = 422 ] || error "$called numbered calls"
fi

subtest "Events that Perfetto does not know: arrays, probes, and what BPF programs write"
probes=/sys/kernel/tracing/uprobe_events
# perf probe refuses a name that an event of another group has, as those of other tests may.
group=perfetto$$ call=call$$ begin=begin$$
delays=$(readlink -f "$BUILD/tests/delays")
"$PERF" probe -x "$delays" "$group:$call=delayed" > /dev/null 2> "$work/probe.err"
usdt=$(readelf -n "$delays" | awk \
	'$1 == "Name:" && $2 == "begin" { getline; sub(",", "", $2); print $2; exit }')
echo "p:$group/$begin $delays:$usdt" 2>> "$work/probe.err" >> $probes
if [ -d "/sys/kernel/tracing/events/$group/$call" ] &&
	[ -d "/sys/kernel/tracing/events/$group/$begin" ]; then
	recorder_start -a -e sock:inet_sock_set_state -e ipi:ipi_send_cpumask -e "$group:$call" \
		-e "$group:$begin" -e bpf-output/no-inherit/ -o "$work/unknown"
	bash -c ': < /dev/tcp/127.0.0.1/1' 2> /dev/null
	"$delays" recursive 1 > /dev/null
	"$delays" request 1 > /dev/null
	"$BUILD/tests/bpf_output" "$recorder" && bpf=yes || bpf=
	recorder_stop
	if convert "$work/unknown" && read_trace; then
		same_counts "$work/unknown"
		for name in "$group:$call" "$group:$begin" sock:inet_sock_set_state \
			${bpf:+bpf-output/no-inherit/}; do
			grep -qF "$name " "$output.counts" ||
				error "no $name: $(< "$output.counts")"
		done
		"$PERF" script -f -i "$work/unknown" --ns -F time,event,trace,bpf-output \
			2> /dev/null > "$work/script"
		cat > "$work/generic.py" <<'END'
"""generic.py TRACE SCRIPT: numbers, addresses and data of generic events are those of perf
script."""
import re
import sys

from perfetto_trace import read_packets

fields = {}
for packet in read_packets(sys.argv[1]):
    for event in packet.bundle.event:
        fields.setdefault((event.time, event.generic.name), []).append(
            {f.name: f.text if f.HasField('text') else f.int if f.HasField('int') else f.uint
             for f in event.generic.field})
checked = dict.fromkeys(('saddr', 'ip', 'bpf', 'mask'), 0)
at = None
for line in open(sys.argv[2], errors='replace'):
    head = re.match(r'.* (\d+)\.(\d{9}): +(\S+):(?: +(.*))?$', line)
    if head:
        at, text = (int(head[1] + head[2]), head[3]), head[4] or ''
        found = fields.get(at) or sys.exit(f'# ERROR: no event for {line}')
        if head[3].startswith('sock:'):
            saddr = bytes(int(n) for n in re.search(r'saddr=([\d.]+)', text)[1].split('.')).hex()
            port = int(re.search(r'dport=(\d+)', text)[1])
            if not any(f['saddr'] == saddr and f['dport'] == port and len(f['saddr_v6']) == 32
                       for f in found):
                sys.exit(f'# ERROR: {line}: {found}')
            checked['saddr'] += port == 1
        elif head[3].startswith('ipi:'):
            if not all('cpumask' in f or 'cpumask[0]' in f for f in found):
                sys.exit(f'# ERROR: no mask: {line}: {found}')
            checked['mask'] += 1
        elif head[3].startswith('perfetto'):
            ip = int(re.match(r'\(([0-9a-f]+)', text)[1], 16)
            if not any(f['__probe_ip'] & (1 << 64) - 1 == ip for f in found):
                sys.exit(f'# ERROR: {line}: {found}')
            checked['ip'] += 1
    data = re.search(r'BPF output: 0000: ((?:[0-9a-f]{2} )+)', line)
    if data:
        found = [f for (_, name), all in fields.items() if name == 'bpf-output/no-inherit/'
                 for f in all]
        if not any(f.get('data', '').startswith(data[1].replace(' ', '')) for f in found):
            sys.exit(f'# ERROR: {line}: {found}')
        checked['bpf'] += 1
print(' '.join(f'{name}={number}' for name, number in checked.items()))
END
		if /usr/bin/python3 "$work/generic.py" "$output" "$work/script" \
			> "$work/checked"; then
			note "compared: $(< "$work/checked")"
			grep -q 'saddr=0\|ip=[01] ' "$work/checked" && error "too few are compared"
			[ -z "$bpf" ] || ! grep -q 'bpf=0' "$work/checked" ||
				error "no data of BPF is compared"
		else
			error "$(tail -n 1 "$work/checked")"
		fi
	fi
else
	inconclusive "no uprobe: $(tail -n 1 "$work/probe.err")"
fi
for name in "$call" "$begin"; do
	echo "-:$group/$name" >> $probes 2> /dev/null
done

subtest "Addresses in fields that are no pointers are not negative numbers"
if record_addresses && convert "$work/addresses"; then
	/usr/bin/python3 - "$output" <<'END' || error "call_site is another number"
import sys

from perfetto_trace import read_packets

numbers = [field for packet in read_packets(sys.argv[1]) for event in packet.bundle.event
           for field in event.generic.field if field.name == 'call_site']
sys.exit(not numbers or not all(field.uint >> 63 for field in numbers))
END
fi

subtest "The clock"
perf_record -k mono -o "$work/mono" -e dummy -- true
convert "$work/mono" && read_trace && [ "$clocks" != "1 3 6" ] && error "the clocks are $clocks"

subtest "--time selects a span"
if convert "$work/system" && read_trace; then
	whole=$events
	convert "$work/system" --time 40%-60% && read_trace
	((events > 0 && events < whole)) || error "$events of $whole events"
fi

subtest "Lost events"
record_losses
if convert "$work/losses" && read_trace; then
	note "$called calls recorded, $lost lost in $losses places"
	[ "$losses" = "$records" ] || error "$losses places, $records records of losses"
	[ "$lost" = "$in_all" ] || error "$lost lost events, not $in_all"
	[ "$events" = $((2 * 1009 - in_all)) ] || error "$events events"
fi

subtest "A snapshot of --keep says why it exists"
record_kept
if convert "${snapshots[0]}" && read_trace; then
	same_counts "${snapshots[0]}"
	[ "$taken" = 1 ] && grep -q '^snapshot: control' "$output.annotations" ||
		error "$taken snapshots: $(< "$output.annotations")"
fi

subtest "What was too long is a slice of its own"
ln -s "$BUILD/tests/delays" "$work/dly$$"
recorder_start -a -k mono -e sched:sched_switch --keep=60s,32M --switch-output \
	--switch-output-when "syscall>23ms if comm==dly$$" --cooldown=1h -o "$work/slow"
"$work/dly$$" syscall 41 > "$work/truth"
recorder_stop "$work/slow"
if grep -q 'Cannot judge durations' "$work/record.err"; then
	inconclusive "$(grep -m 1 'Cannot judge' "$work/record.err")"
elif convert "${snapshots[0]}" && read_trace; then
	read -r tid lower _ begin end < "$work/truth"
	note "$(< "$output.too_long")"
	awk -v begin="$begin" -v end="$end" -v lower="$lower" -v tid="$tid" '
		NR == 1 { exit !($1 >= begin - 100000 && $2 <= end + 100000 &&
			$2 - $1 > 23000000 && $3 == tid) }
		END { if (NR != 1) exit 1 }' "$output.too_long" &&
		grep -qF " syscall>23ms if comm==dly$$: dly$$ (pid " "$output.too_long" ||
		error "another slice than the delay: $(< "$work/truth")"
fi

subtest "A PID namespace: tasks have their ids of the initial one"
if unshare --pid --fork --mount-proc true 2> /dev/null; then
	unshare --pid --fork --mount-proc "$PERF" record -a -o "$work/inside" \
		-e sched:sched_switch \
		-- "$work/$comm" --threads 2 --count 101 --idle --rate 1000 > /dev/null \
		2> "$work/record.err" || fatal "perf record fails"
	if convert "$work/inside" && read_trace; then
		said 'PID namespace'
		awk -v comm="$comm" \
			'$3 == "sched_switch" && $4 == comm { print $5 }' "$output.events" |
			sort -u > "$work/tids"
		[ -s "$work/tids" ] || inconclusive "no thread was seen to leave a CPU"
		while read -r tid; do
			grep -q "^$tid [0-9]* .* $comm$" "$output.tasks" ||
				error "no name of the task $tid"
		done < "$work/tids"
	fi
else
	inconclusive "this machine allows no new PID namespace"
fi

subtest "Pipes"
convert_pipe && read_trace && [ "$events" != 499 ] && error "$events events"

subtest "A part of a trace of several machines: times are shifted, tracks and names are its own"
cat > "$work/parts.py" <<'END'
"""parts.py TRACE PART: PART is the same trace as that of node7, number 7, 1,234,567 ns later."""
import sys

from perfetto_trace import read_packets

whole, part = (read_packets(path) for path in sys.argv[1:])
assert all(packet.machine == 7 and packet.sequence >> 20 == 7 for packet in part)


def facts(packets, shift):
    return sorted((p.time and p.time + shift, p.event.type, p.event.name, p.track.name,
                   p.sample.tid,
                   sorted((p.bundle.cpu, e.time + shift, e.pid) for e in p.bundle.event),
                   [thread.name for thread in p.tree.thread]) for p in packets
                  if not p.HasField('clocks') and p.track.uuid & 0xffffff != 3 and
                  p.event.track & 0xffffff != 3)


assert facts(whole, 1234567) == facts(part, 0)
uuids = {p.track.uuid: p.track for p in part if p.HasField('track')}
assert all(uuid >> 56 == 7 for uuid in uuids)
assert [t.name for t in uuids.values() if not t.parent] == ['node7']
assert {p.event.track for p in part if p.HasField('event')} <= set(uuids)
names = [[c for p in packets for t in p.tree.process for c in t.cmdline]
         for packets in (whole, part)]
assert names[1] == ['node7: ' + name for name in names[0]] and names[0]
(bound,) = [p.event for p in part if p.event.name.startswith('clock within')]
assert bound.name == 'clock within 0.089 us' and bound.annotation[0].number == 89, bound
END
if convert "$work/system" && mv "$output" "$work/whole" &&
	convert "$work/system" --machine=7:1234567:89:node7; then
	/usr/bin/python3 "$work/parts.py" "$work/whole" "$output" || error "the part differs"
fi

subtest "Errors"
common_failures
for machine in 0:1:1:x 256:1:1:x 1:1:1: 1:a:1:x 1:1:x; do
	fails 'Cannot use --machine=' "--to-$format=$work/new" "--machine=$machine"
done
fails 'specify --machine only with' "--to-chrome=$work/new" --machine=1:1:1:x

finish
