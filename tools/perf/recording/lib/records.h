/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A run of whole records in memory, in one piece or, where it passes the end of a ring, in two.
 */
#ifndef PERF_RECORDING_SPAN_H
#define PERF_RECORDING_SPAN_H

#include <string.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <sys/uio.h>

struct span {
	struct iovec	part[2];
};

/** span__of - a span in one piece */
static inline struct span span__of(const void *base, size_t len)
{
	return (struct span){ .part = { { (void *)base, len } } };
}

/** span__of_ring - bytes [@tail, @head) of a ring of @size bytes (a power of two) at @ring */
static inline struct span span__of_ring(const void *ring, size_t size, u64 tail, u64 head)
{
	size_t start = tail & (size - 1), len = head - tail;
	size_t first = len < size - start ? len : size - start;

	return (struct span){ .part = { { (void *)ring + start, first },
					{ (void *)ring, len - first } } };
}

static inline size_t span__len(const struct span *span)
{
	return span->part[0].iov_len + span->part[1].iov_len;
}

/** span__copy - copy @len bytes at @pos, which must lie inside, to @dst */
static inline void span__copy(const struct span *span, size_t pos, void *dst, size_t len)
{
	size_t first = span->part[0].iov_len, n = 0;

	if (pos < first) {
		n = len < first - pos ? len : first - pos;
		memcpy(dst, span->part[0].iov_base + pos, n);
	}
	if (n < len)
		memcpy(dst + n, span->part[1].iov_base + (pos + n - first), len - n);
}

/** span__at - @len bytes at @pos, which must lie inside: where they are, or copied to @room */
static inline void *span__at(const struct span *span, size_t pos, size_t len, void *room)
{
	size_t first = span->part[0].iov_len;

	if (pos + len <= first)
		return span->part[0].iov_base + pos;
	if (pos >= first)
		return span->part[1].iov_base + (pos - first);
	span__copy(span, pos, room, len);
	return room;
}

/** span__part - @len bytes at @pos, which must lie inside */
static inline struct span span__part(const struct span *span, size_t pos, size_t len)
{
	size_t first = span->part[0].iov_len, n;

	if (pos >= first)
		return span__of(span->part[1].iov_base + (pos - first), len);
	n = len < first - pos ? len : first - pos;
	return (struct span){ .part = { { span->part[0].iov_base + pos, n },
					{ span->part[1].iov_base, len - n } } };
}

/**
 * span__header - header of the record at @pos
 *
 * Return: its size [bytes], or 0 at the end and where no whole record is.
 */
static inline size_t span__header(const struct span *span, size_t pos,
				  struct perf_event_header *header)
{
	size_t left = span__len(span) - pos;

	if (left < sizeof(*header))
		return 0;
	span__copy(span, pos, header, sizeof(*header));
	if (header->size < sizeof(*header) || header->size > left)
		return 0;
	return header->size;
}

#endif
