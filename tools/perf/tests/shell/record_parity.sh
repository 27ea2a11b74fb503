#!/bin/bash
# perf record: files tell the same as those of upstream's perf record
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 3600
# tags: long
# needs: upstream-perf
#
# Runs alone: see record_sideband_storm.sh.
#
# ../parity/parity.py compares the pairs of recordings that ../parity/scenarios lists. With NIGHT
# set, it also compares random ones.

. "$(dirname "$0")/lib/harness.sh"

need perf root parity parity_inside parity_nonpie parity_library raw_syscalls:sys_enter
[ -x "${UPSTREAM_PERF:-}" ] || skip "no upstream perf: make upstream-perf"
note "$("$PERF" --version), and as peer $("$UPSTREAM_PERF" --version)"

export PERF UPSTREAM_PERF BUILD TMPDIR=$work
PERF=$(command -v "$PERF")
chmod 755 "$work"
"$tests_dir/parity/parity.py" ${NIGHT:+--random 500 --random-own 200} &
wait "$!"
