// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the data area of the kernel's ring buffer where it is one mapping (PERF_USE_VMALLOC).
 * tags: fast parallel
 */
#include "data_area_test.c"
