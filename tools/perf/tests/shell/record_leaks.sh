#!/bin/bash
# perf record: no memory, descriptors or threads leak in 1000 recordings of one process
# SPDX-License-Identifier: GPL-2.0-only
# needs: perf-asan
# tags: parallel night
# timeout: 900

# Run the suite "1000 cycles" of perf test. It detects leaked memory only in a build with the
# address sanitizer.
if [ ! -x "${PERF_ASAN-}" ]; then
	echo "1..0 # SKIP no build with the address sanitizer (make perf-asan)"
	exit 2
fi
cycles=("$PERF_ASAN" test -v "1000 runs")

# Each cycle reads /proc/kallsyms to find the start and the end of the kernel, which would take most
# of the time. Bind-mount a list with just these symbols over it, in a mount namespace of this test,
# if that is allowed.
grep -E ' (_text|_stext|_etext|_edata)$' /proc/kallsyms > symbols
hide_symbols='mount --bind symbols /proc/kallsyms'
if unshare --mount sh -c "$hide_symbols" 2> /dev/null; then
	exec unshare --mount sh -c "$hide_symbols"' && exec "$@"' sh "${cycles[@]}"
fi
exec "${cycles[@]}"
