/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compute the data loss metric: for what share of the time a recording has holes.
 *
 * The number of lost events does not say what the rest is worth. A million events lost in one burst
 * leave the minutes before and after it complete. A thousand events lost one here and one there
 * leave no moment of which one knows that nothing else happened. "perf: reduce data loss when
 * profiling highly parallel CPU bound workloads" (A. Budankov, 2018: perf record --aio) therefore
 * compared recorders by
 *
 *	data loss metric = lost_time / elapsed_time
 *
 * where lost_time is "the sum of time intervals containing PERF_RECORD_LOST records", and
 * elapsed_time is the run time of the application. That text defines neither the intervals nor how
 * to add up those of several rings. Here:
 *
 * An interval, called a hole, belongs to one ring. It lasts from the last record before the loss to
 * the first record after it:
 *
 *	r r r r r r r r             L r r r r r r r r r r r
 *	--------------|-------------|---------------------|-----------------|---> time
 *	              before        at                    last              end
 *	              |<-- hole --->|                     |<-- last hole -->|
 *
 * @at:   the kernel writes a LOST record before the first record that fits again, with the time of
 *        that record.
 * @end:  no LOST record follows if no record fitted any more, but the kernel's counters have these
 *        events, too (PERF_FORMAT_LOST, Linux 6.0). Then there is a hole up to the last record of
 *        any ring.
 *
 * The events were lost somewhere in the hole, so the metric is an upper bound. The bound is loose
 * where a task leaves the CPU just then and comes back late.
 *
 * With several rings, lost_time is the sum over all of them, and elapsed_time counts once for each:
 * the metric is the probability that a random moment of a random ring lies in a hole. The share of
 * the time in which any ring has a hole would be another choice. But if each of 272 CPUs has holes
 * in 1 % of the time, at moments of its own, then at least one has a hole in 93 % of the time: that
 * says more about the machine than about the recorder. Nor can it be computed in bounded memory,
 * because rings are read one after the other. It lies between the metric of the worst ring, which
 * is reported as well, and the sum over all rings.
 *
 * Rings count if they had samples or lost something. Rings with side-band records only do not
 * count, or each CPU would count twice. Nor do overwrite rings, where a full ring is no loss.
 */
#ifndef PERF_RECORDING_LOSS_METRIC_H
#define PERF_RECORDING_LOSS_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include "ring_stats.h"

/**
 * struct loss_row - a ring and its statistics
 * @stats:	not owned
 * @cpu:	CPU of the ring; -1 if it is that of a thread, or unknown
 * @tid:	thread of the ring if @cpu is -1; -1 if it is unknown, too
 * @overwrite:	the ring is overwritten, not drained
 */
struct loss_row {
	struct ring_stats	*stats;
	int		 cpu;
	int		 tid;
	bool		 overwrite;
};

/**
 * struct loss_metric
 * @begin:	time of the first record of a ring that counts [ns]
 * @end:	time of the last record of any ring [ns]; @begin if there is nothing to measure
 * @events:	number of events recorded and lost, in rings that count and in overwrite rings
 * @samples:	number of samples, in all rings
 * @lost:	number of lost events
 * @lost_records: number of PERF_RECORD_LOST
 * @holes:	number of holes, in rings that count
 * @hole_ns:	sum of their lengths [ns]
 * @rings:	number of rings that count
 * @worst:	the ring with the largest share of its time in holes; NULL if there is no hole
 */
struct loss_metric {
	u64			 begin;
	u64			 end;
	u64			 events;
	u64			 samples;
	u64			 lost;
	u64			 lost_records;
	u64			 holes;
	u64			 hole_ns;
	unsigned int		 rings;
	const struct loss_row	*worst;
};

/**
 * loss_metric__compute - compute the metric at the end, when all records and counters are known
 *
 * Adds the last hole of each ring to its statistics; not again when it is called again.
 */
void loss_metric__compute(struct loss_metric *metric, struct loss_row *rows, int nr);

/** loss_row__counts - is the ring one of those that the metric is about? */
bool loss_row__counts(const struct loss_row *row);

/** loss_row__is_sideband - has the ring side-band records only, and is it no overwrite ring? */
bool loss_row__is_sideband(const struct loss_row *row);

/** loss_row__name - write "CPU 3", "thread 1234", ... to @name. Return: @name */
const char *loss_row__name(const struct loss_row *row, char *name, size_t size);

/** loss_row__events - get the number of events recorded and lost */
u64 loss_row__events(const struct loss_row *row);

/** loss_row__percent - compute the metric of @row alone; @metric has the elapsed time [percent] */
double loss_row__percent(const struct loss_row *row, const struct loss_metric *metric);

/** loss_metric__percent - get the metric of all rings that count [percent] */
double loss_metric__percent(const struct loss_metric *metric);

/** percent - compute the share of @part in @whole; 0 if @whole is 0 [percent] */
static inline double percent(u64 part, u64 whole)
{
	return whole ? 100.0 * part / whole : 0;
}

#endif
