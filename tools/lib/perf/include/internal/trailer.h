/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find a record from its end, by its trailer: see <linux/perf_event_trailer.h>.
 */
#ifndef __LIBPERF_INTERNAL_TRAILER_H
#define __LIBPERF_INTERNAL_TRAILER_H

#include <stddef.h>
#include <string.h>
#include <linux/perf_event.h>
#include <linux/perf_event_trailer.h>
#include <linux/types.h>

/* A trailer holds the low 48 bits of a position. */
#define PERF_TRAILER_OFFSET_MASK	((1ULL << 48) - 1)

static inline u64 perf_trailer__offset(const struct perf_event_trailer *trailer)
{
	return trailer->offset_lo | (u64)trailer->offset_hi << 32;
}

/**
 * perf_trailer__read - read the trailer of the record that ends at @end
 * @end:	first byte after the record
 * @before:	bytes before @end that may be read [bytes]
 * @trailer:	receives the trailer
 *
 * The bytes are untrusted. The caller knows the position of @end, and must check that the record's
 * position in @trailer agrees with it.
 *
 * Return: size of the record including its trailer [bytes], or 0 if no record ends at @end.
 */
static inline size_t perf_trailer__read(const void *end, size_t before,
					struct perf_event_trailer *trailer)
{
	struct perf_event_header header;

	if (before < sizeof(header) + sizeof(*trailer))
		return 0;
	memcpy(trailer, end - sizeof(*trailer), sizeof(*trailer));
	if (trailer->size < sizeof(header) + sizeof(*trailer) || trailer->size > before)
		return 0;
	memcpy(&header, end - trailer->size, sizeof(header));
	return header.size == trailer->size ? header.size : 0;
}

#endif /* __LIBPERF_INTERNAL_TRAILER_H */
