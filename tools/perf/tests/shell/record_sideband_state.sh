#!/bin/bash
# perf record: perf reads the live state as it was, for random histories of tasks
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel

# Run a suite of perf test: it needs struct machine.
if [ ! -x "$PERF" ]; then
	echo "1..0 # SKIP no $PERF (make perf)"
	exit 2
fi
exec "$PERF" test -v "samples resolve with the live state"
