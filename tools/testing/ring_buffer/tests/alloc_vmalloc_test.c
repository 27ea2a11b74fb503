// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test allocating the kernel's ring buffer where its data area is one mapping (PERF_USE_VMALLOC).
 * tags: fast parallel
 */
#include "alloc_test.c"
