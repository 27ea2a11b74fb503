#!/bin/bash
# perf_event_open: five minutes of random actions on the KCSAN kernel (data races of the ring)
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
# tags: night
# needs: kcsan-kernel
#
# The first seed is the time: each night runs other rounds. See perf_event_fuzz_in_guest.sh.

export FUZZ=${FUZZ:-"-t 300"} VM_TIMEOUT=${VM_TIMEOUT:-800}
export KERNEL=${KERNEL:-$BUILD/kernel-kcsan} VM_DIR=${VM_DIR:-$BUILD/vm/perf_event_fuzz_kcsan}
exec "$(dirname "$(realpath "$0")")/perf_event_fuzz_in_guest.sh"
