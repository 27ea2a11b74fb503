#!/bin/bash
# perf_event_open: random actions of several processes on events, rings and AUX areas, for seconds
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 400
# tags: parallel
# needs: kernel
#
# The kernel must not log a warning, and the records of rings that nobody corrupts must be valid.
# The output has the seed of each round; the console of the guest has it as well, before the
# warning.
#
# Environment: FUZZ has the arguments of perf_event_fuzz, KERNEL is another build of the kernel than
# build/kernel, VM_TIMEOUT a longer time limit for a slow one.

. "$(dirname "$(realpath "$0")")/../../vm/guest.sh"
fuzz=$BUILD/tests/perf_event_fuzz

need_guest
[ -x "$fuzz" ] || skip_all "no perf_event_fuzz (make test-programs)"
export VM_TIMEOUT=${VM_TIMEOUT:-360}
# shellcheck disable=SC2086 # a list of arguments
boot_guest "$fuzz" -g ${FUZZ:--t 6 -s 1}
