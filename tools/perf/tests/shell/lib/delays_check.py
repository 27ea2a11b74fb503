#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare the delays that the helper delays has made with those that perf record -v has reported.

usage: delays_check.py THRESHOLD_MS TRUTH LOG [MAX_ERROR_US]

Prints each delay that was not reported once, each report without a delay, and each report whose
length is wrong. The kernel's times of a delay are between those of the helper, whose clock is the
same. A delay that may be on both sides of the threshold is not judged, and neither is what the
helper does before its first delay, and after the last one.

With MAX_ERROR_US, the lengths must not be further than this from the upper bounds, or the lower
ones, at the median: something may interrupt the helper between its clock and the delay.

Exit status: 0; 1 if anything is wrong; 2 if no delay is above the threshold, or none below.
"""
import re
import statistics
import sys

REPORT = re.compile(r'\(pid \d+, tid (\d+)[,)].*, from (\d+) to (\d+)$')
SLACK_NS = 100_000  # between the helper's clock and the events of the kernel


def main():
    threshold = float(sys.argv[1]) * 1e6
    with open(sys.argv[2]) as file:
        truth = [tuple(map(int, line.split())) for line in file]
    with open(sys.argv[3], errors='replace') as file:
        reports = [tuple(map(int, match.groups())) for match in map(REPORT.search, file) if match]
    wrong, above, below = 0, 0, 0
    tids = {delay[0] for delay in truth}
    first_begin, last_end = min(delay[3] for delay in truth), max(delay[4] for delay in truth)
    reports = [report for report in reports
               if report[0] in tids and first_begin - SLACK_NS <= report[1] < last_end]
    for tid, lower, upper, begin, end in truth:
        found = [(first, last) for other, first, last in reports
                 if other == tid and begin - SLACK_NS <= first < end]
        above += lower > threshold
        below += upper < threshold
        if lower > threshold and len(found) != 1:
            print(f'a delay of {lower / 1e6:.3f} to {upper / 1e6:.3f} ms is reported {len(found)} times')
            wrong += 1
        if upper < threshold and found:
            print(f'a delay of {lower / 1e6:.3f} to {upper / 1e6:.3f} ms is reported')
            wrong += 1
        for first, last in found:
            if last - first > upper + SLACK_NS or last - first <= threshold:
                print(f'a delay of {lower / 1e6:.3f} to {upper / 1e6:.3f} ms is reported with '
                      f'{(last - first) / 1e6:.3f} ms')
                wrong += 1
    for tid, first, last in reports:
        if not any(tid == other and begin - SLACK_NS <= first < end
                   for other, _, _, begin, end in truth):
            print(f'no delay, but a report: {(last - first) / 1e6:.3f} ms at {first}')
            wrong += 1
    if len(sys.argv) > 4:
        pairs = [(last - first, lower, upper) for other, first, last in reports
                 for tid, lower, upper, begin, end in truth
                 if tid == other and begin - SLACK_NS <= first < end]
        error_us = min(statistics.median(abs(pair[0] - pair[bound]) for pair in pairs)
                       for bound in (1, 2)) / 1e3 if pairs else float('inf')
        print(f'lengths are wrong by {error_us:.1f} us, at the median of {len(pairs)}')
        wrong += error_us > float(sys.argv[4])
    print(f'{len(truth)} delays, {above} above the threshold, {below} below; {len(reports)} reports')
    return 1 if wrong else 0 if above and below else 2


if __name__ == '__main__':
    sys.exit(main())
