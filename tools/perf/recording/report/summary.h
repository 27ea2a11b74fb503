/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the user is told on standard error: a line for each snapshot and file, and at the end the
 * size, the samples, and always what was lost.
 */
#ifndef PERF_RECORDING_SUMMARY_H
#define PERF_RECORDING_SUMMARY_H

#include <limits.h>
#include <linux/types.h>

struct aux_snapshot_stats;
struct loss_report;
struct output;
struct snapshot_stats;

/**
 * struct summary
 * @wakeups:	times that there was something to write after waiting
 * @files:	output files that were closed and renamed
 * @last_file:	the name of the last of them
 * @snapshots:	snapshots written
 * @aux_snapshots: those of AUX areas
 */
struct summary {
	u64	wakeups;
	u64	files;
	char	last_file[PATH_MAX];
	u64	snapshots;
	u64	aux_snapshots;
};

/**
 * summary__snapshot - a snapshot was written to the current file
 * @stats:	of the overwrite channel, or NULL
 * @aux:	of the AUX areas, or NULL
 */
void summary__snapshot(struct summary *summary, const struct snapshot_stats *stats,
		       const struct aux_snapshot_stats *aux, const char *reason);

/** summary__file - an output file was closed under @name */
void summary__file(struct summary *summary, const char *name);

/** summary__print - the end of the recording, and what @report, finished, says of it */
void summary__print(const struct summary *summary, const struct loss_report *report,
		    const struct output *output);

#endif
