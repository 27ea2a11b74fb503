// SPDX-License-Identifier: GPL-2.0-only
/*
 * plain_test with the data area in one mapping (PERF_USE_VMALLOC)
 * tags: fast parallel
 */
#include "plain_test.c"
