# SPDX-License-Identifier: GPL-2.0-only
"""Find parts of a perf.data file of this machine."""
import struct
import sys

EXIT, SAMPLE, MMAP2 = 4, 9, 10		# types of records
IP, TID, IDENTIFIER = 1 << 0, 1 << 1, 1 << 16


def load(path):
    with open(path, 'rb') as file:
        return bytearray(file.read())


def save(path, image):
    with open(path, 'wb') as file:
        file.write(image)


def records(image):
    """Yield the type, misc, offset and size of each record."""
    at, size = struct.unpack_from('<QQ', image, 40)
    end = at + size
    while at < end:
        kind, misc, size = struct.unpack_from('<IHH', image, at)
        yield kind, misc, at, size
        at += size


def feature(image, bit):
    """Return the offset and the size of a feature of the header; exit if the file lacks it."""
    start, size, features = struct.unpack_from('<2Q16xQ', image, 40)
    if not features >> bit & 1:
        sys.exit(f'# ERROR: the header lacks the feature {bit}')
    earlier = bin(features & (1 << bit) - 1).count('1')
    return struct.unpack_from('<QQ', image, start + size + 16 * earlier)


def pid_offset(image):
    """Return the offset of the pid in samples of the first event, which the tid follows."""
    attributes, = struct.unpack_from('<Q', image, 24)
    sample_type, = struct.unpack_from('<Q', image, attributes + 24)
    if not sample_type & TID:
        sys.exit(f'# ERROR: sample_type {sample_type:#x}')
    return 8 + 8 * bool(sample_type & IDENTIFIER) + 8 * bool(sample_type & IP)
