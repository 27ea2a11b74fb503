#!/bin/bash
# perf record --bpf-ring: likewise on Debian's kernel of the series 6.12, which tells tasks and misses
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 1800
# tags: parallel night
# needs: stock-6.12-kernel

kernel='kernel-stock-6.12'
. "$(dirname "$(realpath "$0")")/record_bpf_in_stock_guest.sh"
