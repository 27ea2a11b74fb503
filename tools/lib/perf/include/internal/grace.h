/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wait until every active perf writer has published data_head.
 *
 * From reserving space in a ring to publishing data_head, the kernel holds the RCU read lock and
 * keeps preemption disabled (perf_output_begin() to perf_output_end()). Each of the following
 * therefore proves that a writer which was active when the wait began has ended:
 *
 * membarrier(MEMBARRIER_CMD_GLOBAL)
 *	waits for an RCU grace period. About 10 ms for any number of rings, without privileges.
 *	Refused by kernels that run with nohz_full=, and by sandboxes.
 *
 * visiting all CPUs
 *	The calling thread runs on each online CPU once. While a task runs on a CPU, no other
 *	section with preemption disabled is active there. Costs one migration per CPU, and disturbs
 *	isolated CPUs for that time. Refused if a cpuset excludes CPUs.
 *
 * If neither is allowed, the only way left is to sleep far longer than writing a record takes,
 * which proves nothing.
 */
#ifndef __LIBPERF_INTERNAL_GRACE_H
#define __LIBPERF_INTERNAL_GRACE_H

#include <perf/overwrite.h>

/**
 * perf_grace__wait - wait until all writers that are active at the call have published data_head
 *
 * Tries the methods from best to worst. Acts as a full memory barrier. May sleep for tens of
 * milliseconds, and change the affinity of the calling thread for that time.
 *
 * Return: the method that worked.
 */
enum perf_snapshot_grace perf_grace__wait(void);

#endif /* __LIBPERF_INTERNAL_GRACE_H */
