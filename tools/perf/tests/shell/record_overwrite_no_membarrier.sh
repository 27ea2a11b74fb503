#!/bin/bash
# perf record overwrite: nothing is missed or repeated without membarrier(2) either
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 90

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_numbered deny_membarrier
"$BUILD/tests/deny_membarrier" true || skip "cannot install a seccomp filter here"

wrapper=("$BUILD/tests/deny_membarrier")
gapless_snapshots signal 5 --switch-output=signal || wrong "the snapshots have faults"
((${#snapshots[@]} >= 10)) || wrong "only ${#snapshots[@]} files in 5 s"
grep -i membarrier "$work/record.err" | grep -qi refused ||
	wrong "-v does not say that membarrier is refused and what happens instead"

# Nor with visits to each CPU: then it is likely, and said to be no more
wrapper=("$BUILD/tests/deny_membarrier" --affinity)
gapless_snapshots signal 5 || wrong "without visits: the snapshots have faults"
grep -q 'sleep, as membarrier and visits are refused' "$work/record.err" ||
	wrong "-v does not say that it sleeps"
[ "$(grep -c 'a torn record is unlikely, but possible' "$work/record.err")" = 1 ] ||
	wrong "it does not say, once, what that means"

finish
