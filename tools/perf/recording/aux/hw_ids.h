/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which event a sample in a trace is of.
 *
 * Samples of events with aux_output lie in the AUX area, and name a counter of the hardware. Whose that is the
 * kernel says beside the trace, in PERF_RECORD_AUX_OUTPUT_HW_ID, when an event gets the counter: once, early,
 * when another file was written. A decoder needs it in the file that it reads, and in its place in time among
 * the other records; one about an area of which that file has nothing, it takes for an error. So they are kept:
 *
 *	                         the file is written
 *	                   all the time             when a snapshot is taken
 *	ring --> here -->  at once                  with a piece of this area's trace
 *	         |         the next file: first     the next file: the same
 *	         |         of all
 *	         what says nothing new is dropped
 *
 * What comes first of all does not wait for a piece of the trace: the file gets a piece that says nothing.
 *
 * Records stay as they came, with their time: what the area holds may be older than the newest. They are
 * few; if not, those are given up first that another one has taken the place of.
 *
 * Pure memory: knows no rings and no files.
 */
#ifndef PERF_RECORDING_HW_IDS_H
#define PERF_RECORDING_HW_IDS_H

#include <stdbool.h>
#include <linux/types.h>
#include <perf/event.h>
#include "recording/state/sb_record.h"

/* Counters of a CPU, and how often events may change places. */
#define HW_IDS_MAX		64

/* With the longest sample id. */
#define HW_ID_SIZE		(sizeof(struct perf_record_aux_output_hw_id) + ID_SAMPLE_WORDS * sizeof(u64))

/**
 * struct hw_id - whose a counter is
 * @id:		the event's
 * @file:	number of the file that has it, 0 for none
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
 * @list:	@nr of them, oldest first; NULL if there are none
 * @file:	number of the present file
 * @begun:	it has a piece of the area's trace
 * @given_up:	records that are missing: too many, too long, or no memory
 */
struct hw_ids {
	struct hw_id	*list;
	size_t			 nr;
	u32			 file;
	bool			 begun;
	u64			 given_up;
};

/** hw_ids__init - nothing known; to be freed with hw_ids__exit() */
void hw_ids__init(struct hw_ids *outputs);

void hw_ids__exit(struct hw_ids *outputs);

/**
 * hw_ids__add - take note of a record
 * @id:		of the event that it is about
 */
void hw_ids__add(struct hw_ids *outputs, const union perf_event *record, u64 id);

/** hw_ids__begin_file - there is a new file, which knows nothing */
void hw_ids__begin_file(struct hw_ids *outputs);

typedef int (*hw_ids_write_t)(void *arg, const void *record, size_t len);

/** hw_ids__has_news - is there something that the present file does not have yet? */
bool hw_ids__has_news(const struct hw_ids *outputs);

/**
 * hw_ids__write - write what the file does not have yet
 * @write:	gets whole records; an error ends the call
 *
 * Return: 0, or the error.
 */
int hw_ids__write(struct hw_ids *outputs, hw_ids_write_t write, void *arg);

#endif
