#!/bin/bash
# perf record --bpf-ring: likewise on Debian's kernel of the newest series, which tells tasks and misses
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 1800
# tags: parallel night
# needs: stock-mainline-kernel

kernel='kernel-stock-mainline'
. "$(dirname "$(realpath "$0")")/record_bpf_in_stock_guest.sh"
