#!/bin/bash
# perf_event_open: ten minutes of random actions on the debug kernel (KASAN, lockdep)
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 1200
# tags: night
# needs: debug-kernel
#
# The first seed is the time: each night runs other rounds. See perf_event_fuzz_in_guest.sh.

export FUZZ=${FUZZ:-"-t 600"} VM_TIMEOUT=${VM_TIMEOUT:-1100} VM_MEM=${VM_MEM:-2G}
export KERNEL=${KERNEL:-$BUILD/kernel-debug} VM_DIR=${VM_DIR:-$BUILD/vm/perf_event_fuzz_debug}
exec "$(dirname "$(realpath "$0")")/perf_event_fuzz_in_guest.sh"
