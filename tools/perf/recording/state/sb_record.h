/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keep a side-band record in memory, with a reference count.
 *
 * The live state (state.h) refers to records instead of parsing them into structures: the name of a
 * task is its last COMM record, a map is an MMAP record and the addresses of it that are still
 * mapped. So the file gets what the kernel wrote, unchanged, and data that tasks inherit from each
 * other is stored once.
 *
 *   header | body: depends on the type, may end with a string | sample id: pid, tid, time, id ...
 *
 * A record never changes, and is freed with its last reference. One without references was unpacked
 * from a block of the log (log_block.h), and is valid for a short time. Not for several threads.
 */
#ifndef PERF_RECORDING_SB_RECORD_H
#define PERF_RECORDING_SB_RECORD_H

#include <stdbool.h>
#include <linux/types.h>
#include <perf/event.h>
#include "recording/lib/records.h"

#define ID_SAMPLE_WORDS		6

/*
 * Upper bound of the time from a record's time stamp until the kernel has published it in the ring.
 * The kernel does this with preemption disabled, within microseconds, but the CPU may be a virtual
 * one that is not running.
 */
#define SB_RECORD_DELAY_NS	1000000000ULL

/**
 * struct id_format - layout of the sample id at the end of each record of the side-band event
 * @sample:	a sample id for records that are created here; task and time are to be filled in
 * @size:	size of the sample id [bytes]
 * @tid:	offset of pid and tid, back from the end of the record [bytes]; 0 if it has none
 * @cpu:	offset of the CPU, likewise [bytes]
 * @time:	offset of the time, likewise [bytes]; never 0
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
 * @time:	time of the record; 0 if it is synthesized and holds since before the recording [ns]
 * @refcount:	number of references
 * @header:	header of the record, which continues behind it; aligned as in a ring
 */
struct sb_record {
	u64			 time;
	u64			 refcount;
	struct perf_event_header header;
};

/**
 * id_format__init - compute the layout
 * @sample_type: of the side-band event, which has sample_id_all set
 * @sample:	a sample id as perf_event__synthesize_id_sample() creates it
 *
 * Return: false if the records of the event have no time.
 */
bool id_format__init(struct id_format *format, u64 sample_type, const u64 *sample);

/**
 * id_format__stamp - write a sample id with this task and time to the end of the record that ends
 * at @end
 */
void id_format__stamp(const struct id_format *format, void *end, u32 pid, u32 tid, u64 time);

/** struct sb_origin - task and CPU that a record comes from; -1 where the record does not say */
struct sb_origin {
	u32	pid;
	u32	tid;
	u32	cpu;
};

/** id_format__read - get task and CPU from the sample id of @record */
struct sb_origin id_format__read(const struct id_format *format, const struct sb_record *record);

/**
 * sb_record__body_size - compute the size of header and body from the type and the fields of a
 * record
 * @size:	how much of the record may be read [bytes]
 *
 * Return: the size, a multiple of 8 [bytes]. For an unknown type the size of the header. More than
 * @size if the record is truncated.
 */
size_t sb_record__body_size(const union perf_event *event, size_t size);

/**
 * sb_record__new - copy the record at @pos of @records
 * @size:	size of the record, from records__header() [bytes]
 *
 * Return: a reference; ERR_PTR(-ENOMEM); ERR_PTR(-EINVAL) if the record is shorter than its type or
 * its fields say, or if its size is no multiple of 8 bytes.
 */
struct sb_record *sb_record__new(const struct id_format *format, const struct records *records,
				 size_t pos, size_t size);

/**
 * sb_record__new_synthesized - copy a record that util synthesized
 * @id_size:	size of the space for a sample id at its end; the copy has one of @format instead
 *		[bytes]
 * @time:	time that the copy gets: the record holds from then on [ns]
 *
 * Return: as sb_record__new().
 */
struct sb_record *sb_record__new_synthesized(const struct id_format *format,
					     const union perf_event *event, size_t id_size,
					     u64 time);

static inline union perf_event *sb_record__event(const struct sb_record *record)
{
	return (union perf_event *)&record->header;
}

static inline struct sb_record *sb_record__get(struct sb_record *record)
{
	if (record)
		record->refcount++;
	return record;
}

/**
 * sb_record__own - get a reference to a record that may have none (log_block.h)
 *
 * Return: a reference to @record, or to a copy if it has none; NULL: -ENOMEM.
 */
struct sb_record *sb_record__own(struct sb_record *record);

/** sb_record__put - drop a reference; @record may be NULL */
void sb_record__put(struct sb_record *record);

/** sb_records__bytes - return the memory that all records take [bytes] */
size_t sb_records__bytes(void);

#endif
