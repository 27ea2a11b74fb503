#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Read the test vectors for readers of overwrite rings, and compare the records with the expected
ones.

usage: read_vectors.py DIRECTORY

Implements the algorithm of Documentation/perf-ring-readers.rst.
"""
import json
import pathlib
import struct
import sys

MASK = (1 << 64) - 1


def read_ring(ring, data):
    """Return the intact records that are newer than ring['taken'], oldest first; the position of
    the oldest one; and whether the walk ended at bytes that the kernel cannot have written."""
    sized, size, taken = ring['kind'] == 'sized', ring['size'], int(ring['taken'], 16)

    def position(data_head):
        return (int(data_head, 16) if sized else -int(data_head, 16)) & MASK

    def load(begin, end):
        at = (begin if sized else -end) % size
        return (data + data)[at:at + end - begin]

    head = position(ring['data_head'])
    if 'data_reserved' in ring:
        limit = sum(int(word, 16) for word in ring['data_reserved'])
    else:
        limit = position(ring['data_head_later'])
    new = head - taken & MASK
    left = min(new, max(size - (limit - head & MASK), 0))
    overwritten = left < new

    records, malformed, p = [], False, head
    while left:
        word = load(p - 8, p)           # a trailer, or the header of a backward ring
        length, = struct.unpack_from('<H', word, 6)
        valid = length % 8 == 0 and length >= (16 if sized else 8)
        if sized:
            low, high = struct.unpack_from('<IH', word)
            valid = valid and low | high << 32 == (p - length) % (1 << 48)
        if not valid or length > left:
            malformed = not (valid and overwritten)
            break
        record = load(p - length, p)
        if sized:
            if struct.unpack_from('<H', record, 6) != (length,):
                malformed = True
                break
            record = record[:6] + struct.pack('<H', length - 8) + record[8:-8]
        records.insert(0, record)
        p, left = p - length, left - length
    return records, p & MASK, malformed


def main(directory):
    vectors = json.loads((directory / 'vectors.json').read_text())['vectors']
    failed = False
    print(f'KTAP version 1\n1..{len(vectors)}')
    for number, vector in enumerate(vectors, 1):
        data, expected = ((directory / f"{vector['name']}.{suffix}").read_bytes()
                          for suffix in ('data', 'records'))
        records, oldest, malformed = read_ring(vector, data)
        good = (b''.join(records) == expected and len(records) == vector['records'] and
                oldest == int(vector['oldest'], 16) and malformed == vector['malformed'])
        print(f"{'ok' if good else 'not ok'} {number} - {vector['name']}")
        failed |= not good
    return failed


sys.exit(main(pathlib.Path(sys.argv[1])))
