#!/bin/bash
# perf trace -i: prints the system calls in a file of perf trace record
# SPDX-License-Identifier: GPL-2.0-only
# tags: fast parallel

. "$(dirname "$0")/lib/harness.sh"

need perf root raw_syscalls:sys_enter

subtest "system calls of one command"
"$PERF" trace record -o "$work/data" -- sh -c 'exit 113' 2> "$work/record.err"
[ $? = 113 ] || error "perf trace record fails: $(cat "$work/record.err")"
"$PERF" trace -i "$work/data" > "$work/trace.out" 2>&1 ||
	error "perf trace -i fails with status $?: $(tail -n 3 "$work/trace.out")"
calls=$("$PERF" script -i "$work/data" -F event 2> /dev/null | grep -c 'sys_enter')
printed=$(grep -cE '^ *[0-9.]+ .*: .*\(' "$work/trace.out")
grep -q 'exit_group(error_code: 113' "$work/trace.out" || error "exit_group(113) is not printed"
[ "$calls" = "$printed" ] || error "$printed of $calls system calls are printed"

finish
