# SPDX-License-Identifier: GPL-2.0-only
"""Convert the files of machines, and append the results to one trace.

Each format of a trace has a module with write(); this one has what the formats have in common.
"""
import concurrent.futures
import contextlib
import os

WORKERS = os.cpu_count() or 1
MAX_MACHINES = 200              # viewers have 32 bits for a process id; perf has 8 for a machine


class TraceError(Exception):
    pass


class Limited:
    """A file to write to, whose size is limited."""

    def __init__(self, file, left):
        self.file, self.left = file, left

    def write(self, data):
        self.left -= len(data)
        return self.file.write(data)

    def flush(self):
        self.file.flush()

    def check(self):
        if self.left < 0:
            raise TraceError('the trace is too large, see --max-size')


def clock_shift(result):
    """Return what is added to times in the file of a machine for those of the collector [ns]."""
    pair = result['clock_pair']
    return pair['time_of_day_ns'] - pair['clock_ns'] - result['clock']['offset_ns']


def machines(results, path_of, suffix, convert, append, complain):
    """Convert the files of all machines that can be, and append them in the order of @results.

    @convert(path, result, number) runs in threads, and writes the file path + @suffix, which
    @append(path, converted, result, number) reads, with what convert has returned. Numbers begin
    with 1. Call @complain(name, reason) for machines that are left out. Return the others.
    """
    usable = [result for result in results if 'clock_pair' in result]
    for result in results:
        if 'clock_pair' not in result:
            complain(result['machine'], 'the file has no time of day')
    for result in usable[MAX_MACHINES:]:
        complain(result['machine'], f'a trace has at most {MAX_MACHINES} machines')
    usable = usable[:MAX_MACHINES]
    merged = []
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        # Few converted files exist at a time: they can be as large as the recordings or larger.
        for begin in range(0, len(usable), WORKERS):
            batch = list(enumerate(usable[begin:begin + WORKERS], begin + 1))
            running = [pool.submit(convert, path_of(result), result, number)
                       for number, result in batch]
            for (number, result), converted in zip(batch, running):
                path = path_of(result)
                try:
                    append(path, converted.result(), result, number)
                    merged.append(result)
                except TraceError as error:
                    complain(result['machine'], str(error))
                finally:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(path + suffix)
    return merged
