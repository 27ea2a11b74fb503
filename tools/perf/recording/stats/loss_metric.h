/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The data loss metric: for what share of the time a recording has holes.
 *
 * How many events were lost does not tell what the rest is worth: a million lost in one burst leave
 * the minutes before and after it complete, a thousand lost one here and one there leave no moment
 * of which one knows that nothing else happened. "perf: reduce data loss when profiling highly
 * parallel CPU bound workloads" (A. Budankov, 2018: perf record --aio) therefore compared recorders
 * by
 *
 *	data loss metric = lost_time / elapsed_time
 *
 * lost_time being "the sum of time intervals containing PERF_RECORD_LOST records", and elapsed_time
 * the application's run time. What such an interval is, and how those of several rings add up, is
 * not said there. Here:
 *
 * An interval, a hole, belongs to one ring. It lasts from the last record before the loss to the
 * first after it:
 *
 *	r r r r r r r r             L r r r r r r r r r r r
 *	--------------|-------------|---------------------|-----------------|---> time
 *	              before        at                    last              end
 *	              |<-- hole --->|                     |<-- last hole -->|
 *
 * @at:   the kernel puts LOST in front of the first record that fits again, and gives it that one's
 *        time.
 * @end:  events that were lost when nothing fitted any more have no LOST, but the kernel's counters
 *        have them (PERF_FORMAT_LOST, Linux 6.0): then there is a hole up to the last record of any
 *        ring.
 *
 * The events were lost somewhere in the hole, so this is an upper bound. It is loose where a task
 * leaves a CPU just then, and comes back to it late.
 *
 * Of several rings, lost_time is the sum over all of them, and elapsed_time counts for each: the
 * metric is the chance that a random moment of a random ring lies in a hole. One could as well ask
 * when any ring has a hole. But of 272 CPUs with holes in 1 % of the time, each at moments of its
 * own, at least one has one in 93 % of the time: that says more about the machine than about the
 * recorder. Nor can it be had in bounded memory, as rings are read one after the other. It lies
 * between what the worst ring has, which is told as well, and the sum of all.
 *
 * The rings that count are those that had samples or lost something. Rings of side-band alone do
 * not, or each CPU would count twice; nor those that are overwritten, where a full ring is no loss.
 */
#ifndef PERF_RECORDING_LOSS_METRIC_H
#define PERF_RECORDING_LOSS_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include "ring_stats.h"

/**
 * struct loss_row - a ring and what is known of it
 * @stats:	not owned
 * @cpu:	its CPU, or -1: then it is that of the thread @tid; -1, too, where that is not known
 * @overwrite:	it is overwritten, not drained
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
 * @events:	recorded and lost, of the rings that count and of those that are overwritten
 * @samples:	all
 * @lost:	events
 * @records:	PERF_RECORD_LOST
 * @holes:	of the rings that count
 * @hole_ns:	their sum [ns]
 * @rings:	number of those that count
 * @worst:	the one with most of its time in holes; NULL if none has any
 */
struct loss_metric {
	u64			 begin;
	u64			 end;
	u64			 events;
	u64			 samples;
	u64			 lost;
	u64			 records;
	u64			 holes;
	u64			 hole_ns;
	unsigned int		 rings;
	const struct loss_row	*worst;
};

/**
 * loss_metric__compute - at the end, when all records and counters are known
 *
 * Adds the last holes to the accounts, once, however often it is called.
 */
void loss_metric__compute(struct loss_metric *metric, struct loss_row *rows, int nr);

/** loss_row__counts - is it one of the rings that the metric is about? */
bool loss_row__counts(const struct loss_row *row);

/** loss_row__name - "CPU 3", "thread 1234", ... in @name. Return: @name */
const char *loss_row__name(const struct loss_row *row, char *name, size_t size);

/** loss_row__events - recorded and lost */
u64 loss_row__events(const struct loss_row *row);

/** loss_metric__of - the metric of @row alone [percent] */
double loss_metric__of(const struct loss_metric *metric, const struct loss_row *row);

/** loss_metric__percent - the metric [percent] */
double loss_metric__percent(const struct loss_metric *metric);

/** percent - @part of @whole, 0 of nothing [percent] */
static inline double percent(u64 part, u64 whole)
{
	return whole ? 100.0 * part / whole : 0;
}

#endif
