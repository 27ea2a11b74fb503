/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load the BPF programs that judge durations (util/bpf_skel/durations.bpf.c), and read their reports.
 *
 * when.c decides what is done with a report. This file is apart from it because it needs libbpf.
 */
#ifndef PERF_RECORDING_WHEN_PROGRAMS_H
#define PERF_RECORDING_WHEN_PROGRAMS_H

#include <errno.h>
#include <linux/compiler.h>
#include <linux/types.h>
#include "util/bpf_skel/durations.h"

struct when_programs;

/** when_report_fn - take a report, which is overwritten after the call */
typedef void (*when_report_fn)(void *arg, const struct duration_report *report);

#ifdef HAVE_BPF_SKEL

/**
 * when_programs__new - load the programs that the conditions need, and attach them
 * @constants:	of the programs
 * @nr_cpus:	more than the highest number of a CPU
 * @report:	called by when_programs__read()
 *
 * Only what happens from now on is judged: it is unknown since when tasks are in their states.
 *
 * Return: 0, with @programs to be deleted; or a negative errno, with @reason, which says what the
 * kernel lacks, or refuses.
 */
int when_programs__new(struct when_programs **programs, const struct duration_constants *constants,
		       int nr_cpus, when_report_fn report, void *arg, const char **reason);

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

/**
 * when_programs__words - figures of the programs
 *
 * The caller writes only quiet_until.
 */
struct duration_words *when_programs__words(struct when_programs *programs);

/** when_programs__delete - detach the programs; @programs may be NULL */
void when_programs__delete(struct when_programs *programs);

#else

static inline int when_programs__new(struct when_programs **programs,
				     const struct duration_constants *constants __maybe_unused,
				     int nr_cpus __maybe_unused, when_report_fn report __maybe_unused,
				     void *arg __maybe_unused, const char **reason)
{
	*programs = NULL;
	*reason = "this perf was built without BPF skeletons";
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

static inline struct duration_words *when_programs__words(struct when_programs *programs __maybe_unused)
{
	return NULL;
}

static inline void when_programs__delete(struct when_programs *programs __maybe_unused)
{
}

#endif

#endif
