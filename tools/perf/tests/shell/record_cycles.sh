#!/bin/bash
# perf record leaves nothing behind, started and stopped a thousand times in one process
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900

# The cycles are a test of perf test's, in C. It sees lost blocks only in a build with the address
# sanitizer; that is what this runs.
if [ ! -x "$PERF_ASAN" ]; then
	echo "no build with the address sanitizer: make perf-asan"
	exit 2
fi
exec "$PERF_ASAN" test -v "1000 cycles"
