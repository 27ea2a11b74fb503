/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waiting until every perf writer that had begun has published data_head.
 *
 * Between reserving room in a ring and publishing data_head the kernel holds the RCU read lock and
 * keeps preemption disabled (perf_output_begin() to perf_output_end()). So either of these proves
 * that a writer which was active when the wait began has ended:
 *
 * membarrier(MEMBARRIER_CMD_GLOBAL)
 *	waits for an RCU grace period. Some 10 ms, any number of rings, no privilege. Refused
 *	by kernels that run with nohz_full=, and by sandboxes.
 *
 * visiting
 *	This thread runs on each online CPU once. Where a task runs, no section with preemption
 *	disabled is under way. Costs a migration for each CPU and disturbs isolated CPUs for that
 *	long. Refused where a cpuset excludes CPUs.
 *
 * If neither is allowed, all that can be done is to sleep far longer than any record takes, which
 * is no proof.
 */
#ifndef __LIBPERF_INTERNAL_GRACE_H
#define __LIBPERF_INTERNAL_GRACE_H

#include <perf/overwrite.h>

/**
 * perf_grace__wait - wait until all writers that were active at the call have published
 *
 * The best that is allowed to this thread now, found by trying. Full memory barrier. May sleep
 * for tens of milliseconds.
 *
 * Return: what it was.
 */
enum perf_snapshot_grace perf_grace__wait(void);

#endif /* __LIBPERF_INTERNAL_GRACE_H */
