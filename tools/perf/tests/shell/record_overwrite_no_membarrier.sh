#!/bin/bash
# perf record /overwrite/: snapshots hold every call once without membarrier(2), too
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered deny
"$BUILD/tests/deny" membarrier -- true || skip "cannot install a seccomp filter"

subtest "membarrier is refused: visit each CPU"
wrapper=("$BUILD/tests/deny" membarrier --)
expect_gapless signal 2 --switch-output=signal
((${#snapshots[@]} > 1)) || inconclusive "all requests were merged"
grep -i membarrier "$work/record.err" | grep -qi refused ||
	error "-v does not report that membarrier is refused"

# Torn records are then unlikely, but possible.
subtest "membarrier and sched_setaffinity are refused: sleep"
wrapper=("$BUILD/tests/deny" membarrier sched_setaffinity --)
expect_gapless signal 2
reports 'sleep (membarrier and visits are refused)'
[ "$(grep -c 'A torn record is unlikely, but possible' "$work/record.err")" = 1 ] ||
	error "not one message that torn records are possible"

finish
