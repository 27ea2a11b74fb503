#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare samples of tracepoints that were recorded twice at the same time.

usage: same_samples.py FILE [--without-context] EVENT...

The events of FILE are pairs: event 2n is written by perf, event 2n + 1 by BPF; both are the nth
EVENT.
On each CPU, perf writes its sample of a hit before the program writes the other one, so that each
sample of BPF belongs to the last sample of perf before it. Of system calls, it may be the other way
round: perf calls the program first on kernels that preempt programs. Within the time that the
second ring covers, every sample of perf must have its counterpart, equal in everything that the
format of the tracepoint defines, but identifier, time and instruction pointer (this as well for
samples of user space). --without-context leaves out common_flags and common_preempt_count. Not
compared:

- The bits for NEED_RESCHED of common_flags, which another CPU may set in between.
- The ids of a task that is exiting: perf records -1, BPF the ids that common_pid has as well.
- What is behind the end of the string rwbs, which perf leaves as it was.
- The clock ticks that jiffies may make in between, and the step from EXIT_ZOMBIE to EXIT_DEAD.

perf records no software event while it wakes up a reader (perf_pending_irq() holds the recursion
context). Samples that only BPF has are counted. If a wake-up does not cause such events itself, the
result is "more" instead of "same".

Prints "TAB" separated for each event: the result (same, more, differ, none), its name, and what was
found.
Exit status 1 if samples differ, 2 if events were lost.
"""
import bisect
import collections
import os
import re
import struct
import sys

import perf_data

NEED_RESCHED = 0x26
LOST, LOST_SAMPLES = 2, 13
USER = 2
NOBODY = 0xffffffff
EXIT_STATES = (0x10, 0x20)
MAX_NESTED_NS = 2_000_000
# Of jiffies, between two samples. A virtual machine that did not run catches up several at once.
MAX_TICKS = 10
CAUSED_BY_WAKEUP = {
    'sched:sched_waking', 'sched:sched_wakeup', 'sched:sched_migrate_task',
    'sched:sched_stat_runtime', 'timer:timer_start', 'timer:timer_cancel', 'timer:hrtimer_start',
    'timer:hrtimer_cancel',
    'workqueue:workqueue_queue_work', 'workqueue:workqueue_activate_work', 'irq:softirq_raise',
}
Sample = collections.namedtuple('Sample', 'time ip misc pid tid period raw')
Field = collections.namedtuple('Field', 'name offset size dynamic')


class Format:
    """The fields of a tracepoint."""

    def __init__(self, event):
        self.fields = []
        self.jiffies = event in ('timer:timer_start', 'timer:timer_expire_entry')
        for root in '/sys/kernel/tracing', '/sys/kernel/debug/tracing':
            try:
                with open(f'{root}/events/{event.replace(":", "/")}/format',
                          encoding='ascii') as file:
                    self.parse(file)
                return
            except OSError:
                pass
        sys.exit(f'no format of {event}')

    def parse(self, file):
        for line in file:
            words = line.strip().split(';\t')
            if not words[0].startswith('field:'):
                continue
            name = words[0].split()[-1].split('[')[0]
            offset, size = (int(word.split(':')[1]) for word in words[1:3])
            self.fields.append(Field(name, offset, size, '__data_loc' in words[0]))

    def differing(self, ours, theirs, context):
        """Return the names of the fields that differ."""
        names = []
        for field in self.fields:
            one, other = (raw[field.offset:field.offset + field.size] for raw in (ours, theirs))
            if field.dynamic and one == other:
                location, = struct.unpack('<I', one)
                place = slice(location & 0xffff, (location & 0xffff) + (location >> 16))
                one, other = ours[place], theirs[place]
            if field.name in ('common_flags', 'common_preempt_count'):
                mask = NEED_RESCHED if field.name == 'common_flags' else 0
                if not context or (one[0] | mask) == (other[0] | mask):
                    continue
            if field.name == 'rwbs':
                one, other = (value.split(b'\0')[0] for value in (one, other))
            if one == other:
                continue
            a, b = (int.from_bytes(value, 'little') for value in (one, other))
            if field.name == 'prev_state' and a in EXIT_STATES and b in EXIT_STATES:
                continue
            if field.name == 'now' and self.jiffies and 0 <= a - b <= MAX_TICKS:
                continue
            names.append(f'{field.name} {other.hex()} {one.hex()}')
        if len(ours) != len(theirs):
            names.append('raw size')
        return names


def differing(ours, theirs, form, context):
    names = form.differing(ours.raw, theirs.raw, context)
    for name in 'misc', 'period', 'pid', 'tid':
        one, other = getattr(ours, name), getattr(theirs, name)
        if one != other and not (name in ('pid', 'tid') and other == NOBODY):
            names.append(f'{name} {other:#x} {one:#x}')
    if ours.misc == USER and ours.ip != theirs.ip:
        names.append('ip')
    return names


def events_of_ids(data):
    size, = struct.unpack_from('<Q', data, 16)
    offset, length = struct.unpack_from('<QQ', data, 24)
    ids = {}
    for index in range(length // size):
        where, nr_bytes = struct.unpack_from('<QQ', data, offset + (index + 1) * size - 16)
        for position in range(where, where + nr_bytes, 8):
            ids[struct.unpack_from('<Q', data, position)[0]] = index
    return ids


def read(path):
    """Return {(event, cpu): [Sample]} and whether anything was lost."""
    data = bytes(perf_data.load(path))
    ids, samples, lost = events_of_ids(data), collections.defaultdict(list), False
    for kind, misc, offset, _ in perf_data.records(data):
        lost |= kind in (LOST, LOST_SAMPLES)
        if kind == perf_data.SAMPLE:
            ident, ip, pid, tid, time, cpu, _, period, raw_size = \
                struct.unpack_from('<QQIIQIIQI', data, offset + 8)
            if ids.get(ident) is not None and raw_size >= 8:
                samples[ids[ident], cpu].append(Sample(
                    time, ip, misc, pid, tid, period, data[offset + 60:offset + 60 + raw_size]))
    return samples, lost


def compare(ours, theirs, form, context):
    """Return how many samples are only in ours, only in theirs, and what differs."""
    times = [sample.time for sample in theirs]
    paired, extra, mismatches = {}, 0, []
    for sample in ours:
        last = index = bisect.bisect_left(times, sample.time) - 1
        # An interrupt may have come between the two samples of a hit.
        while index in paired and index > 0 and times[last] - times[index - 1] < MAX_NESTED_NS:
            index -= 1
        if index < 0 or index in paired:
            # Neither ring begins and ends with the other: only what lies between is comparable.
            extra += bool(times) and times[0] < sample.time < times[-1]
            continue
        names = differing(sample, theirs[index], form, context)
        if names:
            # They may be of two hits. If they are of one, that of perf stays without a partner.
            extra += 1
            mismatches.append((index, names))
            continue
        paired[index] = True
    if not paired:
        return extra, 0, [names for _, names in mismatches]
    first, last = min(paired), max(paired)
    # In the rings' order of time, what comes first in ours may have come before theirs began.
    differences = [names for index, names in mismatches if first < index < last and
                   index not in paired]
    return extra, last - first + 1 - len(paired), differences


def reverse(samples):
    return [sample._replace(time=-sample.time) for sample in reversed(samples)]


def preempts_programs():
    return tuple(map(int, re.match(r'(\d+)\.(\d+)', os.uname().release).groups())) >= (6, 19)


def compare_calls(ours, theirs, form, context):
    """Compare system calls in the order in which most agree."""
    return min((compare(ours, theirs, form, context),
                compare(reverse(ours), reverse(theirs), form, context)),
               key=lambda result: (result[1] + len(result[2]), result[0]))


def main():
    context = '--without-context' not in sys.argv
    events = [word for word in sys.argv[2:] if word != '--without-context']
    samples, lost = read(sys.argv[1])
    if lost:
        print('events were lost')
        return 2
    failed = False
    for number, event in enumerate(events):
        total = extra = missing = repeated = 0
        differences = []
        form = Format(event)
        for (index, cpu), ours in samples.items():
            if index != number * 2 + 1:
                continue
            any_order = 'syscalls:' in event and preempts_programs()
            function = compare_calls if any_order else compare
            result = function(ours, samples.get((number * 2, cpu), []), form, context)
            total += len(ours)
            repeated += len(ours) - len({(sample.time, sample.raw) for sample in ours})
            extra += result[0]
            missing += result[1]
            differences += result[2]
        wrong = missing or differences or repeated
        failed |= bool(wrong)
        more = extra and event not in CAUSED_BY_WAKEUP
        print('differ' if wrong else 'more' if more else 'same' if total else 'none', event,
              f'{total} samples of BPF, {len(differences)} differ, {missing} only of perf, '
              f'{extra} only of BPF, {repeated} repeated', sep='\t')
        for names in differences[:3]:
            print('#', 'perf, BPF:', *names)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
