#!/bin/bash
# perf record leaves nothing behind, started and stopped a thousand times in one process
# SPDX-License-Identifier: GPL-2.0-only
# needs: perf-asan
# timeout: 900

# The cycles are a test of perf test's, in C. It sees lost blocks only in a build with the address
# sanitizer; that is what this runs.
if [ ! -x "$PERF_ASAN" ]; then
	echo "no build with the address sanitizer: make perf-asan"
	exit 2
fi
cycles=("$PERF_ASAN" test -v "1000 cycles")

# Each cycle reads all of the kernel's symbols, only to find where it begins and ends, and that would take
# most of the time. It finds the same in a list of nothing else, which lies in place of theirs for this test
# alone, where that can be mounted.
grep -E ' (_text|_stext|_etext|_edata)$' /proc/kallsyms > symbols
hide_symbols='mount --bind symbols /proc/kallsyms'
if unshare --mount sh -c "$hide_symbols" 2> /dev/null; then
	exec unshare --mount sh -c "$hide_symbols"' && exec "$@"' sh "${cycles[@]}"
fi
exec "${cycles[@]}"
