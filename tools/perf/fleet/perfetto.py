# SPDX-License-Identifier: GPL-2.0-only
"""Merge the files of all machines to one trace of Perfetto, on the clock of the collector.

perf data convert --to-perfetto --machine writes the part of each machine, with times of the
collector. The parts are not trusted: packets that have anything else than what perf data convert
writes, or the number or a track of another machine, are left out.
"""
import os
import zlib

from . import merge, sandbox
from .merge import Limited, TraceError

CHUNK = 1 << 18
MAX_PACKET = 64 << 20
MAX_RATIO = 1000                # of packets to a file: 5 is usual, more if the file is compressed
SEQUENCE_SHIFT = 20             # a machine has this many bits of the number of a sequence
UUID_SHIFT = 56                 # the number of a machine is above these bits of a track's uuid
PACKET, COMPRESSED, SEQUENCE, CLOCKS, TIME, MACHINE = 1, 50, 10, 6, 8, 98
EVENT, DEFAULTS, TRACK = 11, 59, 60
# What perf data convert writes, but for SEQUENCE and MACHINE, which are replaced: samples of
# tracepoints, tasks, times, events of tracks, interned data, flags, the system, defaults, tracks,
# and samples. PARTS are the fields of those that may refer to tracks, of which one is required:
# an event without a track would be in the track that the defaults name.
ALLOWED = {1, 2, TIME, EVENT, 12, 13, 45, DEFAULTS, TRACK, 66}
PARTS = {EVENT: {4, 9, 11, 22, 23}, DEFAULTS: {12}, TRACK: {1, 2, 5}}
UUIDS = {EVENT: {11}, DEFAULTS: set(), TRACK: {1, 5}}
REQUIRED = {EVENT: 11, DEFAULTS: 12, TRACK: 1}


def varint(value):
    """Return a number as protobuf encodes it."""
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    data.append(value)
    return bytes(data)


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def read_varint(data, at):
    """Return a number, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError('a number is too long')


def fields(data):
    """Yield each field of a message: its number, its value, and where it begins and ends."""
    at = 0
    while at < len(data):
        begin = at
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        elif tag & 7 == 2:
            size, at = read_varint(data, at)
            value, at = (at, at + size), at + size
            if at > len(data):
                raise ValueError('a field is cut off')
        else:
            raise ValueError('perf data convert writes no such type')
        yield tag >> 3, value, begin, at


def has_own_tracks(packet, kind, place, machine):
    """Check that a track event, a descriptor or defaults refer to no track of another machine."""
    found = set()
    for field, value, _, _ in fields(packet[slice(*place)]):
        if field not in PARTS[kind]:
            return False
        if field in UUIDS[kind] and (not isinstance(value, int) or value >> UUID_SHIFT != machine):
            return False
        found.add(field)
    return REQUIRED[kind] in found


def check(packet, machine):
    """Return a packet as one of @machine, or nothing if it must not be in the trace."""
    kept, sequence = [], 0
    try:
        for field, value, begin, end in fields(packet):
            if field == SEQUENCE:
                sequence = value
            elif field in PARTS and not has_own_tracks(packet, field, value, machine):
                return b''
            elif field in ALLOWED:
                kept.append(packet[begin:end])
            elif field != MACHINE:
                return b''
        sequence = machine << SEQUENCE_SHIFT | sequence & (1 << SEQUENCE_SHIFT) - 1
    except (ValueError, IndexError, TypeError):
        return b''
    return b''.join(kept) + number(SEQUENCE, sequence) + number(MACHINE, machine)


def split(data):
    """Return the packets at the begin of a trace, and what follows the last complete one."""
    packets, at = [], 0
    while at < len(data):
        if data[at] != PACKET << 3 | 2:
            raise TraceError('the trace of perf data convert is damaged')
        try:
            size, begin = read_varint(data, at + 1)
        except IndexError:
            break
        except ValueError as error:
            raise TraceError(str(error)) from None
        if size > MAX_PACKET:
            raise TraceError('a packet is too large')
        if begin + size > len(data):
            break
        packets.append(data[begin:begin + size])
        at = begin + size
    return packets, data[at:]


def unpack(packet):
    """Return the packets that are compressed as one; of others, the packet itself."""
    try:
        parts = [value for field, value, _, _ in fields(packet) if field == COMPRESSED]
        if not parts:
            return [packet]
        stream = zlib.decompressobj()
        data = stream.decompress(packet[slice(*parts[0])], MAX_PACKET)
        return split(data)[0] if stream.eof else []
    except (ValueError, IndexError, TypeError, zlib.error):
        return []


def write_compressed(out, packets):
    out.write(text(PACKET, text(COMPRESSED, zlib.compress(packets, 1))))
    out.check()


def option(result, machine):
    """Return --machine of perf data convert. A name is that of a host, with a user or without."""
    name = ''.join(char if char.isprintable() else '?' for char in result['machine'])
    return (f'--machine={machine}:{merge.clock_shift(result)}:{result["clock"]["bound_ns"]}:'
            f'{name}')


def convert(path, result, machine, limit):
    """Write path.pftrace of at most @limit bytes."""
    left, rest, pending = os.path.getsize(path) * MAX_RATIO, b'', bytearray()
    with open(path + '.pftrace', 'wb') as file, sandbox.perf(
            path, 'data', 'convert', '--to-perfetto=-', option(result, machine)) as run:
        out = Limited(file, limit)
        while data := run.stdout.read(CHUNK):
            packets, rest = split(rest + data)
            for packet in packets:
                for part in unpack(packet):
                    left -= len(part)
                    if left < 0:
                        raise TraceError(f'the trace has more than {MAX_RATIO} times the size of '
                                         'the file')
                    checked = check(part, machine)
                    if checked:
                        pending += text(PACKET, checked)
                if len(pending) >= CHUNK:
                    write_compressed(out, pending)
                    pending.clear()
        write_compressed(out, pending)
        failure = run.failure()
    if failure:
        raise TraceError(failure)
    if rest:
        raise TraceError('the trace of perf data convert is not complete')


def append(out, path):
    """Append the part of a machine."""
    with open(path + '.pftrace', 'rb') as part:
        while data := part.read(CHUNK):
            out.write(data)
            out.check()


def collector(created_s, reason):
    """Return the packets of the collector: its clock, and why the snapshots were taken."""
    now, uuid = int(created_s * 1e9), 0x70657266000002
    clocks = b''.join(text(1, number(1, clock) + number(2, now)) for clock in (1, 6))
    packets = (text(CLOCKS, clocks),
               text(TRACK, number(1, uuid) + text(2, b'perf fleet')),
               number(TIME, now) + text(EVENT, number(9, 3) + number(11, uuid) +
                                        text(23, reason.encode(errors='replace'))))
    return b''.join(text(PACKET, packet + number(SEQUENCE, 1)) for packet in packets)


def write(output, results, path_of, budget, created_s, reason, complain):
    """Write a trace of all machines. Call @complain(name, reason) for those left out.

    All files that are written have at most @budget bytes together.

    Return the names of the machines in the trace.
    """
    with open(output, 'wb') as file:
        out = Limited(file, budget // 2)
        out.write(collector(created_s, reason))
        merged = merge.machines(
            results, path_of, '.pftrace',
            lambda path, result, number: convert(path, result, number,
                                                 budget // 2 // merge.WORKERS),
            lambda path, _, _result, _number: append(out, path), complain)
    return [result['machine'] for result in merged]
