/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Describe a run of records in memory: in one piece, in two where it wraps around the end of a
 * ring, or in more where a record is followed by the data that it announces.
 *
 *	records__of()		a run in one piece
 *	records__of_ring()	a run in a ring
 *	records__for_each()	iterate over the records of a run
 *
 * An AUXTRACE record is followed by data that are no records. Runs which may hold one are iterated
 * by records__extent(), which skips the data.
 */
#ifndef PERF_RECORDING_RECORDS_H
#define PERF_RECORDING_RECORDS_H

#include <stdbool.h>
#include <string.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <sys/uio.h>

#define RECORDS_MAX_PARTS	4

/**
 * struct records - a run of records; the memory belongs to somebody else
 * @part:	pieces of the run, in order; any may be empty
 */
struct records {
	struct iovec	part[RECORDS_MAX_PARTS];
};

/** records__of - return a run in one piece */
static inline struct records records__of(const void *base, size_t len)
{
	return (struct records){ .part = { { (void *)base, len } } };
}

/**
 * records__of_ring - return bytes [@tail, @head) of a ring of @size bytes (a power of two) at @ring
 */
static inline struct records records__of_ring(const void *ring, size_t size, u64 tail, u64 head)
{
	size_t start = tail & (size - 1), len = head - tail;
	size_t first = len < size - start ? len : size - start;

	return (struct records){ .part = { { (void *)ring + start, first },
					{ (void *)ring, len - first } } };
}

/** records__len - return the length of the run [bytes] */
static inline size_t records__len(const struct records *records)
{
	return records->part[0].iov_len + records->part[1].iov_len +
	       records->part[2].iov_len + records->part[3].iov_len;
}

/** records__copy - copy @len bytes at @pos, which must lie inside the run, to @dst */
static inline void records__copy(const struct records *records, size_t pos, void *dst, size_t len)
{
	const struct iovec *part = records->part;
	size_t n;

	if (pos + len <= part->iov_len) {
		memcpy(dst, part->iov_base + pos, len);
		return;
	}
	for (; len; part++) {
		if (pos >= part->iov_len) {
			pos -= part->iov_len;
			continue;
		}
		n = len < part->iov_len - pos ? len : part->iov_len - pos;
		memcpy(dst, part->iov_base + pos, n);
		dst += n;
		len -= n;
		pos = 0;
	}
}

/**
 * records__at - give access to @len bytes at @pos, which must lie inside the run
 * @buffer:	@len bytes, used if they lie in more than one part
 *
 * Return: where the bytes are: in the run, or @buffer.
 */
static inline void *records__at(const struct records *records, size_t pos, size_t len, void *buffer)
{
	const struct iovec *part = records->part;
	size_t start = pos;

	while (start >= part->iov_len && part < &records->part[RECORDS_MAX_PARTS - 1])
		start -= part++->iov_len;
	if (start + len <= part->iov_len)
		return part->iov_base + start;
	records__copy(records, pos, buffer, len);
	return buffer;
}

/** records__part - return the run of @len bytes at @pos, which must lie inside @records */
static inline struct records records__part(const struct records *records, size_t pos, size_t len)
{
	const struct iovec *from = records->part;
	struct records part = { 0 };
	struct iovec *to = part.part;

	for (; len; from++) {
		if (pos >= from->iov_len) {
			pos -= from->iov_len;
			continue;
		}
		to->iov_base = from->iov_base + pos;
		to->iov_len = len < from->iov_len - pos ? len : from->iov_len - pos;
		len -= to++->iov_len;
		pos = 0;
	}
	return part;
}

/**
 * records__header - read the header of the record at @pos
 *
 * Return: size of the record [bytes]; 0 at the end of the run, and where the record is not whole or
 * its header is invalid.
 */
static inline size_t records__header(const struct records *records, size_t pos,
				     struct perf_event_header *header)
{
	size_t left = records__len(records) - pos;

	if (left < sizeof(*header))
		return 0;
	records__copy(records, pos, header, sizeof(*header));
	if (header->size < sizeof(*header) || header->size > left)
		return 0;
	return header->size;
}

/**
 * struct record_iter - position of records__for_each()
 * @pos:	where the record begins in the run; after the loop, where the first byte is that
 *		belongs to no whole record
 * @size:	its size [bytes]
 * @header:	a copy of its header
 */
struct record_iter {
	size_t				pos;
	size_t				size;
	struct perf_event_header	header;
};

/** records__for_each - iterate over the whole records of a run; @iter: a struct record_iter */
#define records__for_each(records, iter)						\
	for ((iter).pos = 0;								\
	     ((iter).size = records__header(records, (iter).pos, &(iter).header));	\
	     (iter).pos += (iter).size)

/**
 * records__extent - get the length of the record at @pos, together with the data that it announces
 * @pos:	not behind the end of the run
 * @type:	receives the type of the record
 *
 * Return: length [bytes], which may reach behind the end of the run; 0 at the end of the run, and
 * where there is no valid header.
 */
size_t records__extent(const struct records *records, size_t pos, u32 *type);

/**
 * struct records_cursor - copy a run piecewise, and know the record boundaries around the position
 * @records:	the run
 * @len:	its length [bytes]
 * @pos:	number of bytes copied
 * @record:	where the last record begins that was found to begin at or before @pos
 * @next:	where the record behind it begins, or @len
 * @type:	type of the record at @record
 * @single:	treat the whole run as one record
 */
struct records_cursor {
	const struct records	*records;
	size_t			 len;
	size_t			 pos;
	size_t			 record;
	size_t			 next;
	u32			 type;
	bool			 single;
};

/** records_cursor__init - return a cursor at the begin of @records */
static inline struct records_cursor records_cursor__init(const struct records *records, bool single)
{
	return (struct records_cursor){
		.records = records, .len = records__len(records), .single = single,
	};
}

/** records_cursor__find - bring @record, @next and @type up to @pos */
void records_cursor__find(struct records_cursor *cursor);

/** records_cursor__copy - copy the next @len bytes, which must lie inside the run, to @dst */
static inline void records_cursor__copy(struct records_cursor *cursor, void *dst, size_t len)
{
	records__copy(cursor->records, cursor->pos, dst, len);
	cursor->pos += len;
}

#endif
