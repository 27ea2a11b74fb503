// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue: no data race, as far as the thread sanitizer sees the runs of spool_test.c
 * timeout: 400
 */
#define NR_RUNS		4
#include "queue_test.c"
