#!/bin/bash
# KCSAN: the KUnit suites and kselftests of the ring buffer cause no data race
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 3600
# tags: night
# needs: kcsan-kernel
#
# A report of KCSAN on the console of the guest makes the test fail, even if all results are ok.

export KERNEL=${BUILD:-build}/kernel-kcsan VM_TIMEOUT=3500
exec "$(dirname "$(realpath "$0")")/run_in_guest.sh" "$@"
