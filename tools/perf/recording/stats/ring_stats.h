/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Count recorded and lost events from the records on their way to the file.
 */
#ifndef PERF_RECORDING_RING_STATS_H
#define PERF_RECORDING_RING_STATS_H

#include <linux/types.h>
#include "recording/lib/records.h"

struct evlist;
struct timeline;
union perf_event;

/**
 * struct ring_stats - statistics of the records of one ring in their order, or of any records
 * @records:	number of all records, side-band included
 * @samples:	number of PERF_RECORD_SAMPLE
 * @lost_records: number of PERF_RECORD_LOST
 * @lost:	number of events that did not fit into the ring, from PERF_RECORD_LOST
 * @counter_lost: the same from the kernel's counters at the end (lost_counters.h); 0 without them
 * @lost_samples: number of samples that the hardware lost, from PERF_RECORD_LOST_SAMPLES
 * @throttles:	number of times that the kernel throttled an event
 * @aux_truncated: number of PERF_RECORD_AUX with a trace that was truncated because the area was
 *		full
 * @aux_partial: number of those with a trace that has gaps
 * @aux_collided: number of those with bytes that may belong to another trace
 * @bytes:	length of all records [bytes]
 * @max_size:	of a record [bytes]
 * @is_full:	the ring had no space for such a record when it was drained last: the next ones may
 *		be lost, and nothing tells of that before another record follows. Set by
 *		ring__drain()
 * @first:	time of the first record that has one [ns], or 0
 * @last:	time of the last record that has one [ns], or 0
 * @run_first:	time of the first record in the last run that was added [ns], or 0
 * @run_last:	time of the last record in that run [ns], or 0
 * @holes:	number of gaps in which events were lost, see loss_metric.h
 * @hole_ns:	sum of their lengths [ns]
 * @lost_at:	time of the first record after the last loss [ns], or 0
 * @lost_noted:	events that had been lost when the caller last asked, with or without a
 *		PERF_RECORD_LOST: they do not change @lost_at any more
 * @evlist:	used to find the time of a record. NULL if these are not the records of one ring:
 *		then all times, @holes and @hole_ns stay 0.
 * @timeline:	gets the same over time; may be NULL
 */
struct ring_stats {
	u64		 records;
	u64		 samples;
	u64		 lost_records;
	u64		 lost;
	u64		 counter_lost;
	u64		 lost_samples;
	u64		 throttles;
	u64		 aux_truncated;
	u64		 aux_partial;
	u64		 aux_collided;
	u64		 bytes;
	u32		 max_size;
	bool		 is_full;
	u64		 first;
	u64		 last;
	u64		 run_first;
	u64		 run_last;
	u64		 holes;
	u64		 hole_ns;
	u64		 lost_at;
	u64		 lost_noted;
	struct evlist	*evlist;
	struct timeline	*timeline;
};

/** evlist__record_time - return the time of a record [ns], or 0 if it has none */
u64 evlist__record_time(struct evlist *evlist, union perf_event *event);

/**
 * ring_stats__add - count the whole records among the first @len bytes of @records
 *
 * Cheap: reads only the header of most records. Looks up the time of LOST records, of the records
 * next to them, and of the first and the last record.
 *
 * Return: length of the whole records [bytes]; less than @len if a record is truncated there, or if
 * a header is invalid.
 */
size_t ring_stats__add(struct ring_stats *stats, const struct records *records, size_t len);

/**
 * ring_stats__lose - count @lost events that did not fit between two records
 * @before:	time of the record before the loss [ns]; 0 if unknown: then the hole has no length
 * @at:		time of the record after the loss [ns]; 0 if unknown: then there is no hole
 */
void ring_stats__lose(struct ring_stats *stats, u64 lost, u64 before, u64 at);

/**
 * ring_stats__lost_since - find out since when nothing was lost
 *
 * The last loss of a ring has no PERF_RECORD_LOST yet if nothing was recorded since: only the
 * kernel's counter tells (lost_counters.h).
 *
 * Return: time of the first record after the last loss [ns]; 0 if there was none; UINT64_MAX if
 * events were lost since the last call, and no record came after them.
 */
u64 ring_stats__lost_since(struct ring_stats *stats);

/** ring_stats__merge - add the counts of @from to @stats, but not its times and holes */
void ring_stats__merge(struct ring_stats *stats, const struct ring_stats *from);

#endif
