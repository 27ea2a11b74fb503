// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare our ring buffer with upstream's where both are one mapping (PERF_USE_VMALLOC).
 * tags: fast parallel
 */
#include "upstream_test.c"
