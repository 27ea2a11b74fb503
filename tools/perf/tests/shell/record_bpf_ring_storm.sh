#!/bin/bash
# perf record --bpf-ring: in storms of interrupts, recorded and lost events are those that perf counts
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 200
#
# perf counts no wake-up of a task that reads a ring of perf: perf_pending_irq() suppresses events.
# BPF programs see them, so this test runs without others that record.

# shellcheck source=lib/recorder.sh
. "$(dirname "$0")/lib/recorder.sh"
# shellcheck source=lib/balance.sh
. "$(dirname "$0")/lib/balance.sh"

# Interrupts of timers, and wake-ups, in the programs of system calls
cat > "$work/timers.py" <<'END'
import os, signal, sys
signal.signal(signal.SIGALRM, lambda number, frame: None)
signal.setitimer(signal.ITIMER_REAL, 0.00005, 0.00005)
for i in range(int(sys.argv[1])):
    os.getppid()
END
# shellcheck disable=SC2016 # expanded by that shell
command=(sh -c 'python3 "$1" 30000 & python3 "$1" 30000 &
	"$0" bench sched messaging -g 2 -l 50 > /dev/null; wait'
	"$PERF" "$work/timers.py")
get_command() { :; }

events=(raw_syscalls:sys_{enter,exit} sched:sched_{switch,waking,wakeup}
	irq:softirq_{raise,entry,exit}
	timer:hrtimer_{start,cancel,expire_entry,expire_exit}
	timer:timer_{start,cancel,expire_entry,expire_exit})

subtest "overwritten: programs interrupt others"
if balance overwrite "-m 64M"; then
	((lost == 0)) || error "$lost are lost"
fi

subtest "streamed, to rings that are too small at times"
balance "" "-m 512"

finish
