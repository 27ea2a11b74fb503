// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run queue_test.c under the thread sanitizer, which reports data races.
 * timeout: 400
 * tags: parallel
 */
#define NR_RUNS		4
#include "queue_test.c"
