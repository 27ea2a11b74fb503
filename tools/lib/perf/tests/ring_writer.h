/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rings in memory that are written as the kernel does it, one step at a time: reserve, fill,
 * publish. Of either kind, beginning at any position.
 *
 * Every record carries a number that counts up, and a filling that depends on it, so that one
 * which is torn, missing or repeated is found out. In front of the filling there may be an id:
 *
 *	| header | number | id | filling ... | trailer |
 */
#ifndef RING_WRITER_H
#define RING_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <perf/overwrite.h>

union perf_event;

/* The smallest record, and the largest. */
#define RECORD_MIN	24
#define RECORD_MAX	65528

/**
 * struct ring_writer
 * @page:	the control page; the data area follows it
 * @data:	the data area
 * @size:	its length [bytes]
 * @kind:	what a reader is to take it for
 * @reserved:	position up to which room was taken
 * @id:		of the records that are written from now on; 0: none
 * @next:	number of the next record
 * @next_published: the same when data_head was published
 */
struct ring_writer {
	struct perf_event_mmap_page	*page;
	unsigned char			*data;
	size_t				 size;
	enum perf_overwrite_kind	 kind;
	u64				 reserved;
	u64				 id;
	u64				 next;
	u64				 next_published;
};

/* Nothing was written yet, and @position is where it begins. Never fails. */
void ring_writer__init(struct ring_writer *writer, enum perf_overwrite_kind kind, size_t size,
		       u64 position);
void ring_writer__exit(struct ring_writer *writer);

/* What there is to be read begins at @position, too. Never fails; perf_overwrite__delete() it. */
struct perf_overwrite *ring_writer__reader(struct ring_writer *writer);

/*
 * Writes a record of @size bytes, a multiple of 8, with its trailer, and does not publish it.
 * Returns its position.
 */
u64 ring_writer__write(struct ring_writer *writer, size_t size);

/* Writes it in two steps: takes the room; fills it. */
u64 ring_writer__reserve(struct ring_writer *writer, size_t size);
void ring_writer__fill(struct ring_writer *writer, u64 position, size_t size, u64 number);

void ring_writer__publish(struct ring_writer *writer);

/* Stores @len bytes at @offset in the record of @size bytes at @position. */
void ring_writer__put(struct ring_writer *writer, u64 position, size_t size, size_t offset,
		      const void *src, size_t len);

/* Whether these are records, whole, without trailers, and numbered from @first to @last. */
bool records_are_numbered(const struct perf_snapshot_records *records,
			  enum perf_overwrite_kind kind, u64 *first, u64 *last);

/* Whether this is a record with @id, whole, without trailer. */
bool record_is_whole(const union perf_event *event, u64 id, u64 *number);

#endif
