/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load the BPF programs that judge durations (util/bpf_skel/durations.bpf.c,
 * duration_pair.bpf.c), and read their reports.
 *
 * when.c decides what is done with a report. This file is apart from it because it needs libbpf.
 */
#ifndef PERF_RECORDING_WHEN_PROGRAMS_H
#define PERF_RECORDING_WHEN_PROGRAMS_H

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <linux/compiler.h>
#include <linux/types.h>
#include <sys/types.h>
#include "setup.h"
#include "util/bpf_skel/durations.h"

struct when_condition;
struct when_programs;

/** when_report_fn - take a report, which is overwritten after the call */
typedef void (*when_report_fn)(void *arg, const struct duration_report *report);

/**
 * struct when_figures - what the programs have counted
 * @quiet:	durations that were too long after when_programs__be_quiet(), by condition
 * @ignored:	tasks, and durations between two events, that were not followed: too many at a time
 * @unreported:	durations that were too long, when the memory for reports was full
 * @missed:	events whose programs the kernel did not run
 */
struct when_figures {
	u64	quiet[DURATION_MAX_CONDITIONS];
	u64	ignored;
	u64	unreported;
	u64	missed;
};

#ifdef HAVE_BPF_SKEL

/**
 * when_programs__new - load the programs that the conditions need, and attach them
 * @conditions:	@nr of them, kept
 * @report:	called by when_programs__read()
 * @reason:	receives what the kernel lacks, or refuses
 *
 * Only what happens from now on is judged: it is unknown since when tasks are in their states.
 *
 * Return: 0, with @programs to be deleted; or a negative errno, with @reason.
 */
int when_programs__new(struct when_programs **programs, const struct when_condition *conditions,
		       unsigned int nr, const struct when_setup *setup, when_report_fn report,
		       void *arg, char *reason, size_t size);

/** when_programs__fd - descriptor that is readable when there are reports */
int when_programs__fd(const struct when_programs *programs);

/** when_programs__read - read all reports, without waiting. Return: 0, or a negative errno */
int when_programs__read(struct when_programs *programs);

/**
 * when_programs__check - judge what has not ended; takes some 0.1 us for each task
 * @now:	[ns of CLOCK_MONOTONIC], later than at the last call
 * @next:	receives when an open duration will be too long; 0: none of the present ones
 *
 * Reports follow, as those of durations that have ended. Return: 0, or a negative errno.
 */
int when_programs__check(struct when_programs *programs, u64 now, u64 *next);

/** when_programs__set_cgroup - compare with this cgroup (v2) in the condition with this index */
void when_programs__set_cgroup(struct when_programs *programs, unsigned int condition, u64 id);

/** when_programs__be_quiet - only count the durations that end before @until [ns] */
void when_programs__be_quiet(struct when_programs *programs, u64 until);

/** when_programs__count - begin to add durations to the distributions */
void when_programs__count(struct when_programs *programs);

/**
 * when_programs__read_distribution - of the condition with this index. Return: 0, or a negative
 * errno
 */
int when_programs__read_distribution(struct when_programs *programs, unsigned int condition,
				     struct duration_distribution *distribution);

/** when_programs__figures - read what the programs have counted */
void when_programs__figures(struct when_programs *programs, struct when_figures *figures);

/** when_programs__delete - detach the programs; @programs may be NULL */
void when_programs__delete(struct when_programs *programs);

#else

static inline int when_programs__new(struct when_programs **programs,
				     const struct when_condition *conditions __maybe_unused,
				     unsigned int nr __maybe_unused,
				     const struct when_setup *setup __maybe_unused,
				     when_report_fn report __maybe_unused,
				     void *arg __maybe_unused, char *reason, size_t size)
{
	*programs = NULL;
	snprintf(reason, size, "this perf was built without BPF skeletons");
	return -EOPNOTSUPP;
}

static inline int when_programs__fd(const struct when_programs *programs __maybe_unused)
{
	return -1;
}

static inline int when_programs__read(struct when_programs *programs __maybe_unused)
{
	return 0;
}

static inline int when_programs__check(struct when_programs *programs __maybe_unused,
				       u64 now __maybe_unused, u64 *next)
{
	*next = 0;
	return 0;
}

static inline void when_programs__set_cgroup(struct when_programs *programs __maybe_unused,
					     unsigned int condition __maybe_unused,
					     u64 id __maybe_unused)
{
}

static inline void when_programs__be_quiet(struct when_programs *programs __maybe_unused,
					   u64 until __maybe_unused)
{
}

static inline void when_programs__count(struct when_programs *programs __maybe_unused)
{
}

static inline int
when_programs__read_distribution(struct when_programs *programs __maybe_unused,
				 unsigned int condition __maybe_unused,
				 struct duration_distribution *distribution __maybe_unused)
{
	return -EOPNOTSUPP;
}

static inline void when_programs__figures(struct when_programs *programs __maybe_unused,
					  struct when_figures *figures)
{
	*figures = (struct when_figures){ 0 };
}

static inline void when_programs__delete(struct when_programs *programs __maybe_unused)
{
}

#endif

#endif
