#!/bin/bash
# perf data convert --to-trace-dat: trace-cmd report prints what perf script prints
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 180
# tags: parallel

# shellcheck disable=SC2154 # variables that compare() sets

. "$(dirname "$0")/lib/convert.sh"

format=trace-dat
output=$work/trace.dat

need_numbered sched:sched_switch
command -v trace-cmd > /dev/null || skip "trace-cmd is not installed"

cat > "$work/compare.py" <<'END'
"""Compare the output of perf script and of trace-cmd report; print what they contain as
variables."""
import collections
import re
import sys

def read(path, pattern):
    cpus, events, prints = collections.defaultdict(list), 0, []
    with open(path, encoding='utf-8', errors='replace') as file:
        for line in file:
            match = re.match(pattern, line.rstrip('\n'))
            if match:
                comm, pid, cpu, time, event, text = match.groups()
                if event == 'print':
                    prints.append(f'{pid} {cpu} {time} {text}')
                    continue
                cpus[int(cpu)].append((comm, int(pid), time, event, (text or '').strip()))
                events += 1
    return cpus, events, prints

# The first name, of perf script, has the system of the event. Other events than tracepoints have
# none.
perf, events, _ = read(sys.argv[1],
                    r' *(.*?) +(-?\d+) +\[(\d+)\] +(\d+\.\d{9}): +[^:\s]+:([^:\s]+):(?: (.*))?$')
trace, _, prints = read(sys.argv[2],
                        r' *(.*)-(\d+) +\[(\d+)\] +(\d+\.\d{9}): (\S+):(?: +(.*))?$')
names, last = collections.defaultdict(set), {}
for records in perf.values():
    for comm, pid, time, _, _ in records:
        names[pid].add(comm)
        last[pid] = max(last.get(pid, ('', '')), (time, comm))
faults = []
for cpu in sorted(perf.keys() | trace.keys()):
    if len(perf[cpu]) != len(trace[cpu]):
        faults.append(f'CPU {cpu}: {len(perf[cpu])} events, {len(trace[cpu])} converted')
    for ours, theirs in zip(perf[cpu], trace[cpu]):
        # A task that exits has no pid for perf, trace-cmd reads names in the fields of switches,
        # and the idle task has two names.
        comm, pid = ours[:2]
        if pid == -1:
            same = ours[2:] == theirs[2:]
        elif pid == 0 or comm == f':{pid}':
            same = ours[1:] == theirs[1:]
        elif len(names[pid]) > 1:
            same = ours[1:] == theirs[1:] and theirs[0] in names[pid]
        else:
            same = ours == theirs
        if not same:
            faults.append(f'CPU {cpu}: {ours} is {theirs}')
renamed = [(pid, last[pid][1]) for pid in names if len(names[pid]) > 1 and pid > 0]
with open(sys.argv[2], encoding='utf-8', errors='replace') as file:
    lost = [int(n) for n in re.findall(r'^CPU:\d+ \[(\d+) EVENTS DROPPED\]$', file.read(), re.M)]
counted = [int(text.split()[3]) for text in prints if text.endswith('lost at unknown times')]
with open(sys.argv[2] + '.prints', 'w', encoding='utf-8') as file:
    print('\n'.join(prints), file=file)
print(f'counted={sum(counted)} prints={len(prints)}')
print(f'events={events} cpus={len(trace)} renamed={len(renamed)}',
      f'losses={len(lost)} lost={sum(lost)}')
for fault in faults[:5]:
    print('#   |', fault, file=sys.stderr)
sys.exit(f'# ERROR: {len(faults)} faults' if faults else 0)
END

# compare FILE [script options]: compare $work/trace.dat with the events of the file that do not
# match $left_out, and set the variables that compare.py prints
left_out='^$'
compare() {
	local file=$1

	shift
	fields "$file" comm,tid,cpu,time,event,trace --ns "$@" |
		grep -av "$left_out" > "$work/script.out"
	trace-cmd report -t "$work/trace.dat" > "$work/report.out" 2> "$work/report.err" ||
		error "trace-cmd report: $(tail -n 2 "$work/report.err")"
	python3 "$work/compare.py" "$work/script.out" "$work/report.out" > "$work/counts" \
		2> "$work/compare.err" || error "${file##*/}: $(cat "$work/compare.err")"
	. "$work/counts"
	note "$events events on $cpus CPUs, $renamed tasks renamed, $lost events lost in $losses places"
}

# same_snapshots REASON: check that the files that were compared say why and when one snapshot was
# taken
same_snapshots() {
	sed -n 's/.* \([0-9]*\) \[\([0-9]*\)\] *\([0-9.]*\): *snapshot: .*/\1 \2 \3/p' \
		"$work/script.out" > "$work/said"
	[ "$(sed "s/ snapshot: $1; .*//" "$work/report.out.prints")" = "$(< "$work/said")" ] ||
		error "$(< "$work/report.out.prints") is not $(< "$work/said")"
	[ "$(wc -l < "$work/said")" = 1 ] || error "$(wc -l < "$work/said") snapshots"
}

subtest "The whole system: switches, wake-ups and system calls"
perf_record -a -o "$work/system" -e sched:sched_switch -e sched:sched_wakeup \
	-e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -e page-faults \
	-- sh -c "'$work/$comm' --threads 2 --count 499 --idle --rate 5000; exec /bin/true"
if convert "$work/system"; then
	compare "$work/system"
	((events > 4 * 499 && renamed)) || error "$events events, $renamed tasks renamed"
	said "Converted $events samples"
	left=$(fields "$work/system" event | grep -c page-faults)
	said "Left out $left samples of events that are not tracepoints"
	trace-cmd report --stat "$work/trace.dat" > "$work/stat.out" 2>&1
	[ "$(awk '$1 == "read" { n += $3 } END { print n + 0 }' "$work/stat.out")" = "$events" ] ||
		error "trace-cmd report --stat: $(< "$work/stat.out")"
	trace-cmd report -l "$work/trace.dat" > "$work/latency.out" 2>&1
	[ "$(grep -c ': sched_switch: ' "$work/latency.out")" = \
		"$(grep -c ': sched_switch: ' "$work/report.out")" ] ||
		error "trace-cmd report -l has not all switches"
fi

subtest "--time selects a span"
if convert "$work/system" --time 40%-60%; then
	whole=$events
	compare "$work/system" --time 40%-60%
	((events > 0 && events < whole)) || error "$events of $whole events"
fi

subtest "Symbols"
perf_record -a -o "$work/symbols" -e 'timer:hrtimer_*' -- sleep 0.1
if convert "$work/symbols"; then
	compare "$work/symbols" --kallsyms /proc/kallsyms
	grep -q ' function=[a-z_]' "$work/report.out" ||
		inconclusive "/proc/kallsyms has no addresses, or no timer has started"
fi
perf_record -B -a -o "$work/no-build-ids" -e 'timer:hrtimer_*' -- sleep 0.1
if convert "$work/no-build-ids"; then
	compare "$work/no-build-ids"
	said "not shown as symbols: the file has no build-id"
fi

subtest "The name of a task that was renamed is that of its last sample"
perf_record -o "$work/renamed" -e raw_syscalls:sys_enter -- sh -c 'exec /bin/true'
if convert "$work/renamed"; then
	compare "$work/renamed"
	trace-cmd report "$work/trace.dat" 2> /dev/null | grep ': sys_enter:' |
		grep -qv '^ *true-' &&
		error "another name: $(grep ': sys_enter:' "$work/report.out" | head -n 3)"
fi

subtest "Lost events"
record_losses
if convert "$work/losses"; then
	compare "$work/losses"
	[ "$((events + in_all))" = $((2 * 1009)) ] || error "$events events, $in_all lost"
	((lost == 0)) || said "$lost lost events are marked"
	((lost == in_all)) || said "$((in_all - lost)) lost events are not"
	[ "$counted" = $((in_all - lost)) ] || error "$counted of $((in_all - lost)) are printed"
fi

subtest "A snapshot of --keep, which is compressed"
record_kept
if convert "${snapshots[0]}"; then
	compare "${snapshots[0]}"
	((events >= 997)) || error "$events events"
	same_snapshots control
fi

subtest "Snapshots of overwrite rings"
numbered_event overwrite
recorder_start "${event[@]}" -e sched:sched_switch/overwrite/ -a -m 64 -o "$work/overwritten"
numbered_calls 2 997
control snapshot || error "no snapshot"
numbered_calls 3 499
recorder_stop "$work/overwritten"
for file in "${snapshots[@]}" "$work/overwritten"; do
	[ -e "$file" ] || continue
	convert "$file" && compare "$file"
done
same_snapshots control

subtest "Pipes"
if convert_pipe; then
	compare "$work/piped"
	[ "$events" = 499 ] || error "$events events"
fi

cat > "$work/make.py" <<'END'
"""Write a perf.data file of any machine.

usage: make.py FILE little|big LONG_SIZE PAGE_SIZE [no-cpu|no-formats|bad-formats|directory]
"""
import struct
import sys

path, order, long_size, page_size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
fault = sys.argv[5] if len(sys.argv) > 5 else ''
e = '<' if order == 'little' else '>'
CPU, TYPE = 1 << 7, 1 << 1 | 1 << 2 | 1 << 8 | 1 << 10	# and TID, TIME, PERIOD, RAW
sample_type = TYPE | (0 if fault == 'no-cpu' else CPU)
LARGEST = page_size - 8 - long_size - 8 - long_size

def pack(form, *values):
    return struct.pack(e + form, *values)

def block(form, text):
    return pack(form, len(text)) + text

def identity(pid, time, cpu):
    return pack('IIQ', pid, pid, time) + (pack('II', cpu, 0) if sample_type & CPU else b'')

def record(kind, body):
    return pack('IHH', kind, 0, 8 + len(body)) + body

def sample(number, pid, time, cpu, size):
    raw = pack('HBBiI', 4242, 0, 0, pid, number).ljust(size, b'\xa5')
    raw = block('I', raw)
    return record(9, identity(pid, time, cpu) + pack('Q', 1) + raw + bytes(-len(raw) % 8))

commit_end = 8 + long_size
formats = b'\x17\x08\x44tracing0.6\0' + pack('BBI', order == 'big', long_size, 4096)
formats += (b'damaged' if fault == 'bad-formats' else b'header_page\0') + block('Q', b'''\
	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:%d;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:%d;	size:%d;	signed:1;
''' % (long_size, commit_end, page_size - commit_end))
formats += b'header_event\0' + block('Q', b'''\
# compressed entry header
	type_len    :    5 bits
	time_delta  :   27 bits
	array       :   32 bits

	padding     : type == 29
	time_extend : type == 30
	time_stamp : type == 31
	data max type_len  == 28
''')
formats += pack('II', 0, 1) + b'made\0' + pack('I', 1) + block('Q', b'''\
name: up
ID: 4242
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:u32 number;	offset:8;	size:4;	signed:0;

print fmt: "number=%u", REC->number
''')
formats += pack('IIQ', 0, 0, 0)

data = record(3, pack('II', 71, 71) + b'one two\0' + identity(71, 1, 0))
data += record(3, pack('II', 73, 73) + b'with-7\0\0' + identity(73, 1, 0))
number, time, lost, lost_on_cpu_1 = 0, 10 ** 15, 0, 0
steps = (0, 1, 999, (1 << 27) - 1, 1 << 27, (1 << 27) + 1, 1 << 45, 3)
sizes = (12, 20, 100, 108, 116, 124, 1004, 12)
for i in range(1009):
    time += steps[i * i % 8 if i % 11 else i % 8] or 1
    number += 1
    # Of lost events, those are shown that an event of their CPU follows.
    if i % 101 == 100:
        lost += i
        lost_on_cpu_1 += i * (i % 3 == 1)
        data += record(2, pack('QQ', 0, i) + identity(71, time - 1, i % 3))
    data += sample(number, 71 + 2 * (i % 2), time, i % 3, sizes[i * 5 % 8])
data += sample(number + 1, 71, time + 1, 0, LARGEST - (LARGEST - 4) % 8)
data += sample(number + 2, 71, time + 2, 0, LARGEST + 8 - (LARGEST - 4) % 8)
data += record(68, b'') * 3
data += sample(number + 3, 71, time - 10 ** 9, 1, 12)
data += record(2, pack('QQ', 0, 5) + identity(71, time + 3, 2))
data += record(13, pack('Q', lost_on_cpu_1 + 7) + identity(71, time + 4, 1))

flags = 1 << 18		# sample_id_all
if order == 'big':
    flags = int(f'{flags:064b}'[::-1], 2)
attr = pack('IIQQQQQ', 2, 112, 4242, 1, sample_type, 0, flags).ljust(112, b'\0')
data_at = 104 + 112 + 16
# perf finds the byte order of this word by the bit for the name of the host.
features = {3: block('I', b'made-up\0')}
if fault != 'no-formats':
    features[1] = formats
if fault == 'directory':
    features[24] = pack('Q', 1)
header = b'PERFILE2' if order == 'little' else b'2ELIFREP'
header += pack('QQQQQQQQQQQQ', 104, 128, 104, 128, data_at, len(data), 0, 0,
               sum(1 << i for i in features), 0, 0, 0)
with open(path, 'wb') as file:
    file.write(header + attr + pack('QQ', 0, 0) + data)
    at = data_at + len(data) + 16 * len(features)
    for _, feature in sorted(features.items()):
        file.write(pack('QQ', at, len(feature)))
        at += len(feature)
    for _, feature in sorted(features.items()):
        file.write(feature)
print(f'made={number + 2} lost_made={lost} too_large={number + 2}')
END

# made FILE ARGUMENTS: write a file, convert it and compare
made() {
	local file=$1

	shift
	python3 "$work/make.py" "$file" "$@" > "$work/made" || fatal "cannot make a file"
	. "$work/made"
	convert "$file" || return
	left_out="number=$too_large"
	compare "$file"
	left_out='^$'
	[ "$events" = "$made" ] || error "$events events, not $made"
	[ "$lost" = $((lost_made + 5)) ] || error "$lost events lost, not $((lost_made + 5))"
	grep -q "^0 002 .* 5 events lost" "$work/report.out.prints" ||
		error "the last loss is not printed"
	[ "$counted" = 7 ] || error "$counted events lost at unknown times, not 7"
	# Event N + 1 follows the loss of N events.
	awk '/EVENTS DROPPED/ { lost = substr($2, 2); next }
		/: print: / && $(NF - 2) == lost { next }
		lost && $NF != "number=" lost + 1 { exit 1 }
		{ lost = 0 }' "$work/report.out" || error "a loss is not before its event"
	said "Left out 1 samples with more than"
}

for machine in "little 8 4096" "little 8 16384" "little 4 4096" "big 8 4096" "big 4 8192"; do
	subtest "Gaps, sizes and losses of a made-up machine: $machine"
	# shellcheck disable=SC2086 # three words
	made "$work/made.data" $machine
done

subtest "Errors"
common_failures
for dir in "$work/none" "${mounted[@]}"; do
	[ -d "$dir" ] && reason='No space' || reason='No such file'
	TMPDIR=$dir fails "temporary file to $dir: $reason.*Set TMPDIR" --to-trace-dat=-
done
rm -f "$work/new.dat"
python3 "$work/make.py" "$work/bad" little 8 4096 no-cpu > /dev/null
fails 'no CPU: record with -a or --sample-cpu' -i "$work/bad" --to-trace-dat="$work/new.dat"
python3 "$work/make.py" "$work/bad" little 8 4096 no-formats > /dev/null
fails 'Cannot read .*, or has no formats of tracepoints' -i "$work/bad" \
	--to-trace-dat="$work/new.dat"
python3 "$work/make.py" "$work/bad" little 8 4096 bad-formats > /dev/null
fails 'Cannot read .*, or has no formats of tracepoints' -i "$work/bad" \
	--to-trace-dat="$work/new.dat"
"$PERF" record -a -o "$work/clock" -e cpu-clock -- true 2> "$work/record.err"
fails 'none of its events is a tracepoint' -i "$work/clock" --to-trace-dat="$work/new.dat"
[ ! -e "$work/new.dat" ] || error "a failed conversion leaves a file"
mkdir "$work/dir"
python3 "$work/make.py" "$work/dir/data" little 8 4096 directory > /dev/null
echo records > "$work/dir/data.0"
fails 'Cannot write to .*/data.0: it is the input' -i "$work/dir" \
	--to-trace-dat="$work/dir/data.0" --force
[ "$(< "$work/dir/data.0")" = records ] || error "a file of the input is overwritten"

subtest "A truncated file"
fails 'no formats of tracepoints.*perf inject' -i "$work/truncated" --to-trace-dat="$work/new.dat"
if "$PERF" inject -i "$work/truncated" -o "$work/completed" > /dev/null 2> "$work/inject.err"; then
	convert "$work/completed" && compare "$work/completed"
else
	error "perf inject fails: $(< "$work/inject.err")"
fi

finish
