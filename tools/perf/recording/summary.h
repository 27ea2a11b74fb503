/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the user is told on standard error: a line for each snapshot and file, and at the end the
 * size, the samples, and always what was lost.
 */
#ifndef PERF_RECORDING_SUMMARY_H
#define PERF_RECORDING_SUMMARY_H

#include <limits.h>
#include <linux/types.h>

struct channels;
struct output;
struct snapshot_stats;

/**
 * struct summary
 * @wakeups:	times that there was something to write after waiting
 * @files:	output files that were closed and renamed
 * @last_file:	the name of the last of them
 * @snapshots:	snapshots written
 * @lost_in_kernel: events lost as counted by the kernel for each event; 0 if it does not count
 */
struct summary {
	u64	wakeups;
	u64	files;
	char	last_file[PATH_MAX];
	u64	snapshots;
	u64	lost_in_kernel;
};

/** summary__snapshot - a snapshot was written to the current file */
void summary__snapshot(struct summary *summary, const struct snapshot_stats *stats,
		       const char *reason);

/** summary__file - an output file was closed under @name */
void summary__file(struct summary *summary, const char *name);

/** summary__print - the end of the recording */
void summary__print(const struct summary *summary, const struct channels *channels,
		    const struct output *output);

#endif
