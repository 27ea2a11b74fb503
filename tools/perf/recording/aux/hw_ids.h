/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keep records that tell which event a sample in a trace belongs to.
 *
 * Samples of events with aux_output lie in the AUX area and name a hardware counter. Beside the
 * trace, the kernel says whose counter that is in PERF_RECORD_AUX_OUTPUT_HW_ID when an event gets
 * the counter: once and early, when an earlier file was written. A decoder needs the record in the
 * file that it reads, in its place in time. A record about an area of which the file has no trace
 * is an error for the decoder. So the records are kept:
 *
 *	                         the file is written
 *	                   all the time             when a snapshot is taken
 *	ring --> here -->  at once                  with a piece of this area's trace
 *	         |         the next file: first     the next file: the same
 *	         |         of all
 *	         records that say nothing new are dropped
 *
 * A record that comes first of all does not wait for a piece of the trace: the file gets an empty
 * piece.
 *
 * Records keep their time: the area may hold bytes older than the newest record. They are few; if
 * there are too many, records that a newer one has replaced are dropped first.
 *
 * Pure memory: knows no rings and no files.
 */
#ifndef PERF_RECORDING_HW_IDS_H
#define PERF_RECORDING_HW_IDS_H

#include <stdbool.h>
#include <linux/types.h>
#include <perf/event.h>
#include "recording/state/sb_record.h"

/* Counters of a CPU, times the changes of events on them that are kept. */
#define HW_IDS_MAX		64

/* Size of a record with the longest sample id [bytes]. */
#define HW_ID_SIZE	(sizeof(struct perf_record_aux_output_hw_id) +	\
			 ID_SAMPLE_WORDS * sizeof(u64))

/**
 * struct hw_id - event of a hardware counter
 * @id:		of the event
 * @file:	number of the file that has the record, 0 for none
 * @record:	the record
 */
struct hw_id {
	u64	id;
	u32	file;
	union {
		struct perf_record_aux_output_hw_id	hw;
		char					room[HW_ID_SIZE];
	} record;
};

/**
 * struct hw_ids - of one area
 * @list:	@nr records, oldest first; NULL without any
 * @file:	number of the present file
 * @begun:	the file has a piece of the area's trace
 * @dropped:	records that are missing: too many, too long, or no memory
 */
struct hw_ids {
	struct hw_id	*list;
	size_t			 nr;
	u32			 file;
	bool			 begun;
	u64			 dropped;
};

/** hw_ids__init - no records yet; the caller frees with hw_ids__exit() */
void hw_ids__init(struct hw_ids *outputs);

void hw_ids__exit(struct hw_ids *outputs);

/**
 * hw_ids__add - keep a copy of a record
 * @id:		of the event that the record is about
 */
void hw_ids__add(struct hw_ids *outputs, const union perf_event *record, u64 id);

/** hw_ids__begin_file - begin a new file, which has no records */
void hw_ids__begin_file(struct hw_ids *outputs);

typedef int (*hw_ids_write_t)(void *arg, const void *record, size_t len);

/** hw_ids__has_news - are there records that the present file lacks? */
bool hw_ids__has_news(const struct hw_ids *outputs);

/**
 * hw_ids__write - write the records that the file lacks
 * @write:	gets whole records; an error ends the call
 *
 * Return: 0, or the error.
 */
int hw_ids__write(struct hw_ids *outputs, hw_ids_write_t write, void *arg);

#endif
