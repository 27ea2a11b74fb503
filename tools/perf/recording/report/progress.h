/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Report how far a snapshot is that takes long to write.
 */
#ifndef PERF_RECORDING_PROGRESS_H
#define PERF_RECORDING_PROGRESS_H

#include <linux/types.h>

struct summary;

/* Time until the first report, and between two of them [ns]. */
#define PROGRESS_NS	(2ULL * 1000000000)

/**
 * struct progress
 * @begun:	when the snapshot was begun [ns of CLOCK_MONOTONIC]
 * @next:	when the next report is due
 */
struct progress {
	u64	begun;
	u64	next;
};

/** progress__begin - begin to write a snapshot */
struct progress progress__begin(void);

/**
 * progress__report - print how far the snapshot is, if that is due; not with -q
 * @records:	that were written, of @all
 */
void progress__report(struct progress *progress, const struct summary *summary, u64 records,
		      u64 all);

#endif
