/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What went by, and what was lost: counted from the records themselves on their way to the file.
 */
#ifndef PERF_RECORDING_RING_STATS_H
#define PERF_RECORDING_RING_STATS_H

#include <stdbool.h>
#include <linux/types.h>
#include "recording/lib/records.h"

struct evlist;
struct timeline;

/**
 * struct ring_stats - of the records of one ring in their order, or of any others
 * @records:	all records, side-band included
 * @samples:	PERF_RECORD_SAMPLE
 * @lost_records: PERF_RECORD_LOST
 * @lost:	events that the kernel had no room for, as told by PERF_RECORD_LOST
 * @counted:	the same as told by the kernel's counters at the end (lost_counters.h); 0 if it has none
 * @lost_samples: samples that the hardware lost, as told by PERF_RECORD_LOST_SAMPLES
 * @throttles:	times that the kernel throttled an event
 * @aux_truncated: PERF_RECORD_AUX that tell of a trace cut short for want of room
 * @aux_partial: and of one with gaps
 * @aux_collided: and of bytes that may be another's
 * @bytes:	length of all records
 * @first:	time of the first record that has one [ns], or 0
 * @last:	time of the last one [ns]
 * @holes:	gaps in which events were lost, see loss_metric.h
 * @hole_ns:	their length together [ns]
 * @evlist:	what the times of records are found with. NULL where these are not the records of
 *		one ring: all from @first to @hole_ns then stays 0.
 * @timeline:	receives what happened when; NULL if nobody wants to see it
 */
struct ring_stats {
	u64		 records;
	u64		 samples;
	u64		 lost_records;
	u64		 lost;
	u64		 counted;
	u64		 lost_samples;
	u64		 throttles;
	u64		 aux_truncated;
	u64		 aux_partial;
	u64		 aux_collided;
	u64		 bytes;
	u64		 first;
	u64		 last;
	u64		 holes;
	u64		 hole_ns;
	struct evlist	*evlist;
	struct timeline	*timeline;
};

/**
 * ring_stats__add - count the whole records among the first @len bytes of @records
 *
 * Cheap: of most records only the header is read. Times are looked up of LOST, of the records
 * beside it, and of the first and the last in the records.
 *
 * Return: their length [bytes]: less than @len if a record is cut off there, or if a header made no
 * sense.
 */
size_t ring_stats__add(struct ring_stats *stats, const struct records *records, size_t len);

/**
 * ring_stats__lose - @lost events found no room between the records at times @before and @at [ns]
 * @before:	0 if it is not known: then the hole has no length
 * @at:		0 if it is not known: then there is no hole
 */
void ring_stats__lose(struct ring_stats *stats, u64 lost, u64 before, u64 at);

/** ring_stats__merge - add what @from counted to @stats; not its times and holes */
void ring_stats__merge(struct ring_stats *stats, const struct ring_stats *from);

#endif
