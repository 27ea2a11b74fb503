/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finding a record from its end, by its trailer: see <linux/perf_event_trailer.h>.
 */
#ifndef __LIBPERF_INTERNAL_TRAILER_H
#define __LIBPERF_INTERNAL_TRAILER_H

#include <stddef.h>
#include <string.h>
#include <linux/perf_event.h>
#include <linux/perf_event_trailer.h>
#include <linux/types.h>

/* A trailer has room for so many bits of a position. */
#define PERF_TRAILER_OFFSET_MASK	((1ULL << 48) - 1)

static inline u64 perf_trailer__offset(const struct perf_event_trailer *trailer)
{
	return trailer->offset_lo | (u64)trailer->offset_hi << 32;
}

/**
 * perf_trailer__read - the trailer of a record, if one ends here
 * @end:	first byte behind the record
 * @before:	bytes below @end that may be read
 * @trailer:	receives the trailer
 *
 * Nothing but the bytes themselves is trusted. That @trailer->offset is where the record should be is
 * for the caller to check, who knows what position @end has.
 *
 * Return: size of the record with its trailer [bytes], or 0 if no record ends at @end.
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
