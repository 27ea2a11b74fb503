#!/bin/bash
# make demo, demo-overwrite, demo-pt: each demo shows what it announces
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
# needs: kernel
#
# Runs alone: the incident takes a CPU from others, and real-time tasks of other tests take it from
# the incident.

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
. "$top/tools/perf/tests/shell/lib/harness.sh"
export BUILD

need root sched:sched_switch

# shows TEXT COMMAND...: check that the demo succeeds and prints a line with the text
shows() {
	local text=$1

	shift
	"$@" > output 2>&1 < /dev/null && grep -qE -e "$text" output && return
	error "the demo fails, or has no line with '$text':"
	tail -n 40 output | sed 's/^/# | /'
}

subtest "demo"
if chrt -f 60 true 2> chrt.err; then
	shows 'Converted [1-9][0-9]* samples' "$top/scripts/demo" --fast
	grep -q 'Recovered [0-9]* samples of process' output || error "nothing was recovered"
else
	inconclusive "no real-time priority for the incident: $(< chrt.err)"
fi

subtest "demo-overwrite"
shows ' sched:sched_switch' "$top/scripts/demo-overwrite"

subtest "demo-pt"
if [ -e "$BUILD/kernel/vmlinux" ]; then
	VM_DIR=$BUILD/vm/demo shows 'The snapshot has [1-9][0-9]* branches' "$top/scripts/demo-pt"
else
	inconclusive "no kernel for the guest (make kernel)"
fi

finish
