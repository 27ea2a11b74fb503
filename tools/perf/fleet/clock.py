# SPDX-License-Identifier: GPL-2.0-only
"""Compute by how much the clock of another machine is ahead of the clock of this one, and a bound.

offset_ns is the clock of the other machine minus that of this machine. The error of this difference
is at most bound_ns.
"""
import re
import subprocess


def parse_time(text):
    """Return seconds with a fraction, as printed by bash or date, in ns."""
    match = re.fullmatch(r'([0-9]{1,10})[.,]([0-9]{6})([0-9]{3})?', text)
    if not match:
        raise ValueError('the machine sends no time of day')
    # Microseconds are cut off, on average by half of one.
    return int(match[1]) * 10**9 + int(match[2]) * 1000 + int(match[3] or 500)


def round_trip(before, other, after):
    """Return the offset of a clock that was @other between @before and @after of our clock [ns]."""
    if after < before:
        raise ValueError('the time of day of this machine was set back meanwhile')
    return {'offset_ns': other - (before + after) // 2,
            'bound_ns': (after - before) // 2 + 501, 'source': 'round trips'}


def better(first, second):
    return second if first is None or second['bound_ns'] < first['bound_ns'] else first


def chrony_bound(csv):
    """Return how far chrony's clock is off true time at most [ns], from "chronyc -c tracking".

    chronyc(1) gives the formula. Return None if the clock is not synchronized.
    """
    fields = csv.strip().split(',')
    try:
        system, delay, dispersion = (abs(float(fields[i])) for i in (4, 10, 11))
        if fields[13] == 'Normal' and 0 < int(fields[2]) < 16:
            return int((system + dispersion + delay / 2) * 1e9) + 1
    except (IndexError, ValueError, OverflowError):
        pass
    return None


def local_chrony_bound():
    try:
        output = subprocess.run(['chronyc', '-c', 'tracking'], capture_output=True, text=True,
                                errors='replace', timeout=2, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    return chrony_bound(output)


def with_chrony(clock, chrony, local):
    """Return the clock that two synchronized machines have, if that is known better than @clock."""
    if chrony is None or local is None:
        return clock
    return better(clock, {'offset_ns': 0, 'bound_ns': chrony + local, 'source': 'chrony'})
