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
calls=$(fields "$work/data" event | grep -c 'sys_enter')
printed=$(grep -cE '^ *[0-9.]+ .*: .*\(' "$work/trace.out")
grep -q 'exit_group(error_code: 113' "$work/trace.out" || error "exit_group(113) is not printed"
[ "$calls" = "$printed" ] || error "$printed of $calls system calls are printed"

# A BPF program at raw_syscalls:sys_enter that returns 0 takes the samples of all perfs.
subtest "recordings meanwhile lose no system call"
"$PERF" trace record -a -o "$work/data" -- find /usr/lib -maxdepth 2 > /dev/null 2>&1
(while :; do "$PERF" trace -i "$work/data"; echo > "$work/has_read"; done) > /dev/null 2>&1 &
wait_until 60 test -e "$work/has_read" || error "perf trace -i does not end"
for i in 1 2 3 4 5 6 7 8; do
	"$PERF" record -q --bpf-ring=no -e raw_syscalls:sys_enter -o "$work/beside$i" \
		-- sh -c 'exit 113' 2> /dev/null
	fields "$work/beside$i" event | grep -c sys_enter
done > "$work/counts"
note "system calls: $(xargs < "$work/counts")"
[ "$(sort -u "$work/counts" | wc -l)" = 1 ] && grep -qx '[1-9][0-9]*' "$work/counts" ||
	error "recordings differ"

finish
