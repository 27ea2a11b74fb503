/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Print the summary on standard error: a line for each snapshot and file, and at the end the size,
 * the number of samples, and always the number of lost events.
 */
#ifndef PERF_RECORDING_SUMMARY_H
#define PERF_RECORDING_SUMMARY_H

#include <limits.h>
#include <stdbool.h>
#include <linux/types.h>
#include "recording/keep/keep.h"
#include "recording/snapshot/cause.h"

struct advice;
struct aux_snapshot_stats;
struct loss_report;
struct output;
struct snapshot_stats;
struct trigger_limit;
struct when;

/**
 * struct summary
 * @json:	print objects instead of text (--summary=json), see summary_json.h
 * @wakeups:	how often there was data to write after a wait
 * @files:	number of output files that were closed and renamed
 * @last_file:	name of the last of them
 * @snapshots:	number of snapshots written
 * @aux_snapshots: number of snapshots of AUX areas written
 * @complete_ns: time up to its newest record for which the last snapshot is complete, on all CPUs
 *		[ns]
 * @limit:	what limits that: KEEP_LIMIT_MEMORY also for the size of an overwrite ring
 * @too_long:	who took how long, if that requested the last snapshot, or one that --after delays;
 *		otherwise empty
 * @normal_class: the threads that drain rings were refused a real-time priority
 * @dropped:	number of snapshots that could not be written
 * @dropped_records: their records, as far as perf tried to write them
 * @dropped_samples: samples among these
 */
struct summary {
	bool	json;
	u64	wakeups;
	u64	files;
	char	last_file[PATH_MAX];
	u64	snapshots;
	u64	aux_snapshots;
	u64	complete_ns;
	enum keep_limit limit;
	char	too_long[CAUSE_TEXT];
	bool	normal_class;
	u64	dropped;
	u64	dropped_records;
	u64	dropped_samples;
};

/**
 * summary__snapshot - count and print a snapshot that was written to the current file
 * @stats:	snapshot of the overwrite channel, or NULL
 * @aux:	snapshot of the AUX areas, or NULL
 * @kept:	records of the kept streams, or NULL
 * @cause:	what requested it
 */
void summary__snapshot(struct summary *summary, const struct snapshot_stats *stats,
		       const struct aux_snapshot_stats *aux, const struct keep_stats *kept,
		       const struct snapshot_cause *cause);

/**
 * summary__dropped - count and report a snapshot that could not be written
 * @stats:	what was to be written
 * @kept:	kept streams, which are put back
 * @cause:	what requested it
 */
void summary__dropped(struct summary *summary, const struct snapshot_stats *stats,
		      const struct keep_stats *kept, const struct snapshot_cause *cause);

/**
 * summary__triggers - print how many durations were too long, and how many triggers took no
 * snapshot
 * @when:	not closed yet
 */
void summary__triggers(const struct summary *summary, const struct trigger_limit *limit,
		       const struct when *when);

/** summary__file - count and print an output file that was closed and renamed to @name */
void summary__file(struct summary *summary, const char *name);

/** summary__advice - print what --advise has found instead of the totals */
void summary__advice(const struct summary *summary, const struct advice *advice,
		     const struct loss_report *report);

/** summary__print - print the totals at the end of the recording; @report is finished */
void summary__print(const struct summary *summary, const struct loss_report *report,
		    const struct output *output, const struct keep *keep);

#endif
