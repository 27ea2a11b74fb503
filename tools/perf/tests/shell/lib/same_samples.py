#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare samples of tracepoints that were recorded twice at the same time.

usage: same_samples.py FILE [--without-context]

The events of FILE are pairs: event 2n is written by perf, event 2n + 1 by BPF; both are the same
tracepoint. On each CPU, the samples of the second must be a contiguous part of those of the first,
equal in all fields but identifier, time and instruction pointer. --without-context leaves out
common_flags and common_preempt_count. In common_flags, NEED_RESCHED alone is not compared: it may be
set by another CPU between the two.

Prints one line for each event. Exit status 1 if samples differ, 2 if an event has no samples.
"""
import collections
import struct
import sys

NEED_RESCHED = 0x24
SAMPLE, LOST = 9, 2
Sample = collections.namedtuple('Sample', 'time key')


def events_of_ids(data):
    size, = struct.unpack_from('<Q', data, 16)
    offset, length = struct.unpack_from('<QQ', data, 24)
    ids = {}
    for index in range(length // size):
        where, nr_bytes = struct.unpack_from('<QQ', data, offset + (index + 1) * size - 16)
        for position in range(where, where + nr_bytes, 8):
            ids[struct.unpack_from('<Q', data, position)[0]] = index
    return ids


def read(path, context):
    """Return {(event, cpu): [Sample]} and whether anything was lost."""
    with open(path, 'rb') as file:
        data = file.read()
    ids, samples, lost = events_of_ids(data), collections.defaultdict(list), False
    offset, length = struct.unpack_from('<QQ', data, 40)
    end = offset + length
    while offset < end:
        kind, misc, size = struct.unpack_from('<IHH', data, offset)
        lost |= kind == LOST
        if kind == SAMPLE:
            ident, _, pid, tid, time, cpu, _, period, raw_size = \
                struct.unpack_from('<QQIIQIIQI', data, offset + 8)
            if ids.get(ident) is not None and raw_size >= 8:
                raw = bytearray(data[offset + 60:offset + 60 + raw_size])
                raw[2] &= ~NEED_RESCHED
                if not context:
                    raw[2:4] = b'\0\0'
                samples[ids[ident], cpu].append(
                    Sample(time, (misc, pid, tid, period, bytes(raw))))
        offset += size
    return samples, lost


def differences(ours, theirs):
    """Return the number of samples of ours that are not in theirs, in the same order."""
    first = min((index for index, sample in enumerate(theirs) if sample.key == ours[0].key),
                key=lambda index: abs(theirs[index].time - ours[0].time), default=None)
    if first is None:
        return len(ours)
    part = theirs[first:first + len(ours)]
    return sum(a.key != b.key for a, b in zip(ours, part)) + len(ours) - len(part)


def main():
    samples, lost = read(sys.argv[1], '--without-context' not in sys.argv)
    if lost:
        print('events were lost')
        return 2
    status = 0
    for event in range(1, max(event for event, _ in samples) + 1, 2):
        total = wrong = 0
        for (index, cpu), ours in samples.items():
            if index == event:
                total += len(ours)
                wrong += differences(ours, samples[event - 1, cpu])
        print(f'event {event // 2}: {total} samples, {wrong} differ')
        status = max(status, 1 if wrong else 0 if total else 2)
    return status


if __name__ == '__main__':
    sys.exit(main())
