/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A run of whole records in memory, in one piece or, where it passes the end of a ring, in two.
 */
#ifndef PERF_RECORDING_RECORDS_H
#define PERF_RECORDING_RECORDS_H

#include <string.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <sys/uio.h>

struct records {
	struct iovec	part[2];
};

/** records__of - a records in one piece */
static inline struct records records__of(const void *base, size_t len)
{
	return (struct records){ .part = { { (void *)base, len } } };
}

/** records__of_ring - bytes [@tail, @head) of a ring of @size bytes (a power of two) at @ring */
static inline struct records records__of_ring(const void *ring, size_t size, u64 tail, u64 head)
{
	size_t start = tail & (size - 1), len = head - tail;
	size_t first = len < size - start ? len : size - start;

	return (struct records){ .part = { { (void *)ring + start, first },
					{ (void *)ring, len - first } } };
}

static inline size_t records__len(const struct records *records)
{
	return records->part[0].iov_len + records->part[1].iov_len;
}

/** records__copy - copy @len bytes at @pos, which must lie inside, to @dst */
static inline void records__copy(const struct records *records, size_t pos, void *dst, size_t len)
{
	size_t first = records->part[0].iov_len, n = 0;

	if (pos < first) {
		n = len < first - pos ? len : first - pos;
		memcpy(dst, records->part[0].iov_base + pos, n);
	}
	if (n < len)
		memcpy(dst + n, records->part[1].iov_base + (pos + n - first), len - n);
}

/** records__at - @len bytes at @pos, which must lie inside: where they are, or copied to @room */
static inline void *records__at(const struct records *records, size_t pos, size_t len, void *room)
{
	size_t first = records->part[0].iov_len;

	if (pos + len <= first)
		return records->part[0].iov_base + pos;
	if (pos >= first)
		return records->part[1].iov_base + (pos - first);
	records__copy(records, pos, room, len);
	return room;
}

/** records__part - @len bytes at @pos, which must lie inside */
static inline struct records records__part(const struct records *records, size_t pos, size_t len)
{
	size_t first = records->part[0].iov_len, n;

	if (pos >= first)
		return records__of(records->part[1].iov_base + (pos - first), len);
	n = len < first - pos ? len : first - pos;
	return (struct records){ .part = { { records->part[0].iov_base + pos, n },
					{ records->part[1].iov_base, len - n } } };
}

/**
 * records__header - header of the record at @pos
 *
 * Return: its size [bytes], or 0 at the end and where no whole record is.
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

#endif
