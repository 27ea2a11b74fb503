// SPDX-License-Identifier: GPL-2.0-only
/*
 * Corrupt the control page of a ring buffer whose data area is one mapping (PERF_USE_VMALLOC).
 * tags: fast parallel
 */
#include "control_page_test.c"
