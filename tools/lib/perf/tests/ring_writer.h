/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write rings in memory in the same steps as the kernel: reserve, fill, publish. Rings can be of
 * either kind and begin at any position.
 *
 * Each record contains a consecutive number and a payload that depends on the number, so that torn,
 * missing and repeated records are detected. The payload can be preceded by an id:
 *
 *	| header | number | id | payload ... | trailer |
 */
#ifndef RING_WRITER_H
#define RING_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <perf/overwrite.h>

union perf_event;

/* Smallest and largest size of a record, including its trailer [bytes] */
#define RECORD_MIN	24
#define RECORD_MAX	65528

/**
 * struct ring_writer
 * @page:	the control page; the data area follows it
 * @data:	the data area
 * @size:	of the data area [bytes]
 * @kind:	how the records are written
 * @is_32_bit:	publish data_head as a 32-bit kernel does, modulo 2^32
 * @reserved:	position up to which space was reserved
 * @id:		id of the next records, or 0 for none
 * @next:	number of the next record
 * @next_published: value of @next when data_head was published
 */
struct ring_writer {
	struct perf_event_mmap_page	*page;
	unsigned char			*data;
	size_t				 size;
	enum perf_overwrite_kind	 kind;
	bool				 is_32_bit;
	u64				 reserved;
	u64				 id;
	u64				 next;
	u64				 next_published;
};

/* Create an empty ring that begins at @position. Never fails. */
void ring_writer__init(struct ring_writer *writer, enum perf_overwrite_kind kind, size_t size,
		       u64 position);
void ring_writer__exit(struct ring_writer *writer);

/*
 * Return a reader that starts at the current position, to be freed with perf_overwrite__delete().
 * Never fails.
 */
struct perf_overwrite *ring_writer__reader(struct ring_writer *writer);

/*
 * Write a record of @size bytes, a multiple of 8 that includes the trailer, without publishing it.
 * Return its position.
 */
u64 ring_writer__write(struct ring_writer *writer, size_t size);

/* Write a record in two steps: reserve space, then fill it. */
u64 ring_writer__reserve(struct ring_writer *writer, size_t size);
void ring_writer__fill(struct ring_writer *writer, u64 position, size_t size, u64 number);

void ring_writer__publish(struct ring_writer *writer);

/* Store @len bytes at @offset in the record of @size bytes at @position. */
void ring_writer__put(struct ring_writer *writer, u64 position, size_t size, size_t offset,
		      const void *src, size_t len);

/* Return whether all @records are intact, without trailers, and numbered from *@first to *@last. */
bool records_are_numbered(const struct perf_snapshot_records *records,
			  enum perf_overwrite_kind kind, u64 *first, u64 *last);

/* Return whether @event is an intact record with @id, without trailer, and its @number. */
bool record_is_whole(const union perf_event *event, u64 id, u64 *number);

#endif
