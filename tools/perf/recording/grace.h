/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waiting until every perf writer that had begun has published data_head.
 *
 * Between reserving room in a ring and publishing data_head the kernel holds the RCU read lock and
 * keeps preemption disabled (perf_output_begin() to perf_output_end()). So either of these proves
 * that a writer which was active when the wait began has ended:
 *
 * GRACE_MEMBARRIER
 *	membarrier(MEMBARRIER_CMD_GLOBAL) waits for an RCU grace period. Some 10 ms, any
 *	number of rings, no privilege. Refused by kernels that run with nohz_full=.
 *
 * GRACE_VISIT
 *	This thread runs on each online CPU once. Where a task runs, no section with preemption
 *	disabled is under way. Costs a migration per CPU and disturbs isolated CPUs for that
 *	long, but records nothing less.
 *
 * GRACE_PAUSE
 *	Neither is allowed (a cpuset excludes CPUs). The caller pauses its rings
 *	(PERF_EVENT_IOC_PAUSE_OUTPUT), waits, copies, and resumes them. The ioctl only sets a
 *	flag, it does not wait for a writer under way, so all that can be done is to sleep far
 *	longer than any record takes: no proof. Events during that time are lost, and counted
 *	as lost by the kernel.
 */
#ifndef PERF_RECORDING_GRACE_H
#define PERF_RECORDING_GRACE_H

enum grace_kind {
	GRACE_MEMBARRIER,
	GRACE_VISIT,
	GRACE_PAUSE,
};

/**
 * grace__probe - find the best kind that this kernel allows this process
 *
 * Found by trying, never by version number. Says with pr_debug() what was refused.
 */
enum grace_kind grace__probe(void);

/** grace__name - a few words for messages; static storage */
const char *grace__name(enum grace_kind kind);

/**
 * grace__wait - wait until all writers that were active at the call have published
 * @kind:	from grace__probe(). With GRACE_PAUSE the caller has paused the rings.
 *
 * Full memory barrier. Task context, may sleep for tens of milliseconds.
 *
 * Return: 0, or a negative errno when the wait proves nothing (a CPU became forbidden): probe anew.
 */
int grace__wait(enum grace_kind kind);

#endif
