# SPDX-License-Identifier: GPL-2.0-only
"""Merge the files of all machines to one trace for viewers, on the clock of the collector.

perf data convert --to-chrome writes each event on a line, with its process, thread and time first.
Each machine gets a range of process ids: viewers then show its processes together.
"""
import contextlib
import gzip
import json
import os
import re

from . import merge, sandbox
from .merge import Limited, TraceError

MAX_DIGITS = 7                  # of a process id; perf data uses ids below 10**7
STRIDE = 10**MAX_DIGITS         # between the process ids of two machines
MAX_PID = 1 << 22
MODULUS = 10**6                 # viewers have 53 bits for a time: leave out multiples of this [s]
MAX_LINE = 1 << 20
MAX_RATIO = 1000                # of JSON to a file: 26 is usual, more if the file is compressed
CHUNK = 1 << 18
EVENT = re.compile(rb'\{"ph":"(.)","pid":(\d+),"tid":(\d+)(?:,"ts":(-?\d+)\.(\d{3}))?(.*?\}),?\n')
INDEX = re.compile(rb'-?\d+')
FLOW = re.compile(rb'"id":(\d+)')
OFFSET = re.compile(rb'"otherData":\{"offset_s":(\d+)')


@contextlib.contextmanager
def compressed(path, level, limit):
    """Open a compressed file to write. Also yield an object that checks its size."""
    with open(path, 'wb') as file:
        limited = Limited(file, limit)
        with gzip.GzipFile('', 'wb', level, limited, mtime=0) as out:
            yield out, limited


def convert(path, limit):
    """Write path.json.gz of at most @limit bytes. Return by how much its times were reduced [s]."""
    left, tail = os.path.getsize(path) * MAX_RATIO, b''
    with compressed(path + '.json.gz', 1, limit) as (out, limited), \
            sandbox.perf(path, 'data', 'convert', '--to-chrome=-') as run:
        while data := run.stdout.read(CHUNK):
            out.write(data)
            limited.check()
            left -= len(data)
            if left < 0:
                raise TraceError(f'the trace has more than {MAX_RATIO} times the size of the file')
            tail = (tail + data)[-4096:]
        failure = run.failure()
    if failure:
        raise TraceError(failure)
    match = OFFSET.search(tail)
    if not match:
        raise TraceError('the trace of perf data convert is not complete')
    return int(match[1])


def rewrite(line, machine, name, shift_ns):
    """Move one event to the clock of the collector and to the process ids of the @machine.

    Return None for a line without event, or with ids that would be those of another machine.
    """
    match = EVENT.fullmatch(line)
    if not match:
        return None
    phase, pid, tid, us, ns, rest = match.groups()
    if max(len(pid), len(tid)) > MAX_DIGITS:
        return None
    time = b''
    if us:
        whole = int(us + ns) + shift_ns
        time = b',"ts":%s%d.%03d' % (b'-' if whole < 0 else b'', *divmod(abs(whole), 1000))
    if phase in b'stf':
        rest = FLOW.sub(lambda flow: b'"id":%d' % (machine << 32 | int(flow[1]) & 0xffffffff), rest,
                        count=1)
    elif phase == b'M' and b'"name":"process_name"' in rest:
        rest = rest.replace(b'"args":{"name":"', b'"args":{"name":"' + name + b': ', 1)
    elif phase == b'M' and b'"name":"process_sort_index"' in rest:
        rest = INDEX.sub(lambda index: b'%d' % (10 * machine + int(index[0])), rest, count=1)
    head = b'{"ph":"%s","pid":%d,"tid":%d' % (phase, int(pid) + machine * STRIDE,
                                               int(tid) + machine * STRIDE)
    event = head + time + rest
    # The groups of CPUs and of records, which have larger ids, sort themselves.
    if phase == b'M' and b'"name":"process_name"' in rest and int(pid) <= MAX_PID:
        event += b',\n' + head + b',"name":"process_sort_index","args":{"sort_index":%d}}' % \
            (10 * machine)
    return event


def append(out, limited, path, result, machine, shift_ns):
    name = json.dumps(result['machine'])[1:-1].encode()
    with gzip.open(path + '.json.gz') as source:
        while line := source.readline(MAX_LINE):
            event = rewrite(line, machine, name, shift_ns)
            if event:
                out.write(b',\n' + event)
                limited.check()


def write(output, results, path_of, budget, created_s, reason, complain):
    """Write a compressed trace of all machines. Call @complain(name, reason) for those left out.

    All files that are written have at most @budget bytes together.

    Return the names of the machines in the trace.
    """
    zero_s = int(created_s) // MODULUS * MODULUS
    with compressed(output, 3, budget // 2) as (out, limited):
        # An event of the collector is first, so that all others follow a comma.
        out.write(b'{"traceEvents":[\n{"ph":"i","pid":0,"tid":0,"ts":%d,"s":"g","name":%s}' %
                  ((created_s - zero_s) * 1e6, json.dumps(f'perf fleet: {reason}').encode()))
        merged = merge.machines(
            results, path_of, '.json.gz',
            lambda path, _result, _number: convert(path, budget // 2 // merge.WORKERS),
            lambda path, offset_s, result, number: append(
                out, limited, path, result, number,
                merge.clock_shift(result) + (offset_s - zero_s) * 10**9),
            complain)
        bounds = {result['machine']: result['clock']['bound_ns'] for result in merged}
        out.write(b'\n],\n"displayTimeUnit":"ns",\n"otherData":%s}\n' %
                  json.dumps({'offset_s': zero_s, 'bound_ns': bounds}).encode())
    return [result['machine'] for result in merged]
