/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One record of the tracking channel, kept in memory.
 *
 * The live state (state.h) is made of such records rather than of what they say: the name of a
 * task is the COMM record that brought it, a map is what is still visible of an MMAP record. So
 * what the kernel said gets to the file as it was said, and what tasks inherited from each other
 * is there once.
 *
 *   header | body: by type, a string ends within it | sample id: pid, tid, time, id ...
 *
 * Records do not change, and are freed with the last reference. Not for several threads.
 */
#ifndef PERF_RECORDING_SB_RECORD_H
#define PERF_RECORDING_SB_RECORD_H

#include <stdbool.h>
#include <linux/types.h>
#include <perf/event.h>
#include "recording/lib/records.h"

#define ID_SAMPLE_WORDS		6

/*
 * Upper bound of the time from a record's time stamp until the kernel has published it in the ring. It
 * does this with preemption disabled, within microseconds, but the CPU may be a virtual one that is not
 * running.
 */
#define SB_RECORD_DELAY_NS	1000000000ULL

/**
 * struct id_format - the sample id at the end of each record of the tracking event
 * @sample:	one for records that are made here; without task and time
 * @size:	its size [bytes]
 * @tid:	where pid and tid are, from the record's end [bytes]; 0 if they are not
 * @cpu:	the same of the CPU
 * @time:	where the time is, from the record's end [bytes]; never 0
 */
struct id_format {
	u64	sample[ID_SAMPLE_WORDS];
	u16	size;
	u16	tid;
	u16	cpu;
	u16	time;
};

/**
 * struct sb_record
 * @time:	of the record; 0 if it is synthesized and holds since before the recording [ns]
 * @refs:	references
 * @header:	the record begins here, aligned as in a ring
 */
struct sb_record {
	u64			 time;
	u64			 refs;
	struct perf_event_header header;
};

/**
 * id_format__init - find out where the time is
 * @sample_type: of the tracking event, which has sample_id_all
 * @sample:	a sample id as perf_event__synthesize_id_sample() makes them
 *
 * Return: false if the event's records have no time.
 */
bool id_format__init(struct id_format *format, u64 sample_type, const u64 *sample);

/** id_format__stamp - give the record that ends at @end a sample id of this task and time */
void id_format__stamp(const struct id_format *format, void *end, u32 pid, u32 tid, u64 time);

/** struct sb_origin - who did something, and where; -1 if that is not said */
struct sb_origin {
	u32	pid;
	u32	tid;
	u32	cpu;
};

/** id_format__read - of whom @record is, as its sample id says */
struct sb_origin id_format__read(const struct id_format *format, const struct sb_record *record);

/**
 * sb_record__body - length of what comes before the sample id, as the record's type and fields say
 * @size:	how much of the record is there to look at [bytes]
 *
 * Return: that length, a multiple of 8 [bytes]. Where it is unknown, that of the header; more than @size if the
 * record is cut off.
 */
size_t sb_record__body(const union perf_event *event, size_t size);

/**
 * sb_record__new - keep a copy of the record at @pos of @records
 * @size:	from records__header()
 *
 * Return: the record; ERR_PTR(-ENOMEM), or ERR_PTR(-EINVAL) if it is shorter than what its type
 * or its own fields say, or no multiple of 8 bytes.
 */
struct sb_record *sb_record__new(const struct id_format *format, const struct records *records, size_t pos,
			     size_t size);

/**
 * sb_record__new_synthesized - keep a copy of a record that util made
 * @id_size:	how much room for a sample id it ends with, in place of which it gets ours [bytes]
 * @time:	from when on it is to hold [ns]
 *
 * Return: as sb_record__new().
 */
struct sb_record *sb_record__new_synthesized(const struct id_format *format,
					 const union perf_event *event, size_t id_size, u64 time);

static inline union perf_event *sb_record__event(const struct sb_record *record)
{
	return (union perf_event *)&record->header;
}

static inline struct sb_record *sb_record__get(struct sb_record *record)
{
	if (record)
		record->refs++;
	return record;
}

/** sb_record__put - give up a reference; @record may be NULL */
void sb_record__put(struct sb_record *record);

#endif
