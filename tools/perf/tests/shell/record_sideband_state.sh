#!/bin/bash
# perf record: tasks in a file are to perf what they were
# SPDX-License-Identifier: GPL-2.0-only

# A test of perf test's, in C, made for random histories: it needs util's reader.
if [ ! -x "$PERF" ]; then
	echo "no $PERF: make perf"
	exit 2
fi
exec "$PERF" test -v "state read by struct machine"
