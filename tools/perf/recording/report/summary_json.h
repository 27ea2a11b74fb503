/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Print the summary as JSON, one object on each line of standard error (--summary=json).
 *
 * perf-record(1) describes the objects. Bytes of names that are not ASCII are printed as they are.
 */
#ifndef PERF_RECORDING_SUMMARY_JSON_H
#define PERF_RECORDING_SUMMARY_JSON_H

#include <linux/types.h>

struct advice;
struct aux_snapshot_stats;
struct keep;
struct keep_stats;
struct loss_metric;
struct loss_report;
struct output;
struct snapshot_cause;
struct snapshot_stats;
struct when;

/**
 * summary_json__snapshot - print a snapshot; parameters as for summary__snapshot()
 * @number:	of the snapshot, from 1
 */
void summary_json__snapshot(u64 number, const struct snapshot_stats *stats,
			    const struct aux_snapshot_stats *aux, const struct keep_stats *kept,
			    const struct snapshot_cause *cause);

/**
 * summary_json__dropped - print a snapshot that could not be written; parameters as for
 * summary__dropped()
 */
void summary_json__dropped(const struct keep_stats *kept, const struct snapshot_cause *cause);

/**
 * summary_json__progress - print how far a snapshot is
 * @number:	of the snapshot, from 1
 * @records:	that were written, of @all
 * @ns:		time that this took [ns]
 */
void summary_json__progress(u64 number, u64 records, u64 all, u64 ns);

/**
 * summary_json__triggers - print how many durations were too long, if there are conditions
 * @nr_stopped:	triggers that took no snapshot
 */
void summary_json__triggers(const struct when *when, u64 nr_stopped);

/** summary_json__file - print a file that was closed and renamed */
void summary_json__file(const char *name);

/**
 * struct summary_totals
 * @files:	that were closed and renamed
 * @snapshots:	that were written
 * @dropped:	snapshots that could not be written
 * @samples:	that were written
 * @unwritten:	records that could not be written
 * @unwritten_samples: samples among them
 */
struct summary_totals {
	u64	files;
	u64	snapshots;
	u64	dropped;
	u64	samples;
	u64	unwritten;
	u64	unwritten_samples;
};

/** summary_json__advice - print what --advise has found */
void summary_json__advice(const struct advice *advice, const struct loss_metric *metric);

/** summary_json__end - print the totals; other parameters as for summary__print() */
void summary_json__end(const struct summary_totals *totals, const struct loss_report *report,
		       const struct output *output, const struct keep *keep);

#endif
