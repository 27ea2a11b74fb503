// SPDX-License-Identifier: GPL-2.0-only
/*
 * The spool: no data race, as far as the thread sanitizer sees the runs of spool_test.c
 * link: spool.c pool.c unit.c
 * flags: -fno-sanitize=address,undefined -fsanitize=thread
 */
#define NR_RUNS		4
#include "spool_test.c"
