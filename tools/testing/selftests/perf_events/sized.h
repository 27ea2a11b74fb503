/* SPDX-License-Identifier: GPL-2.0-only */
/* Read records backward, by the trailers of PERF_SAMPLE_SIZE_AT_END. */
#ifndef SELFTESTS_PERF_EVENTS_SIZED_H
#define SELFTESTS_PERF_EVENTS_SIZED_H

#include <linux/perf_event_trailer.h>

#include "ring.h"

#define TRAILER_SIZE	sizeof(struct perf_event_trailer)

static inline struct perf_event_trailer
record_trailer(const struct record *record)
{
	struct perf_event_trailer trailer;

	memcpy(&trailer, record->bytes + record->header.size - TRAILER_SIZE,
	       TRAILER_SIZE);
	return trailer;
}

static inline bool record_trailer_valid(const struct record *record)
{
	struct perf_event_trailer trailer = record_trailer(record);

	return record->header.size >= sizeof(record->header) + TRAILER_SIZE &&
	       trailer.size == record->header.size &&
	       trailer.offset_lo == (uint32_t)record->position &&
	       trailer.offset_hi == (uint16_t)(record->position >> 32);
}

/*
 * Copy the record that ends at @end and begins at or above @begin, by its
 * trailer. Returns false if there is no valid record.
 */
static inline bool ring_record_before(const struct ring *ring, uint64_t end,
				      uint64_t begin, struct record *record)
{
	uint16_t size;

	if (end - begin < sizeof(record->header) + TRAILER_SIZE)
		return false;
	ring_read(ring, end - sizeof(size), &size, sizeof(size));
	if (size < sizeof(record->header) + TRAILER_SIZE || size % 8 ||
	    size > end - begin)
		return false;
	return ring_record_at(ring, end - size, end, record) &&
	       record->header.size == size && record_trailer_valid(record);
}

/*
 * Whether the kernel has PERF_SAMPLE_SIZE_AT_END: the attribute is accepted and
 * the control page says so, as every program has to check.
 */
static inline bool has_size_at_end(void)
{
	struct perf_event_attr attr =
		ATTR_DUMMY(.sample_type = PERF_SAMPLE_SIZE_AT_END);
	struct ring ring;
	bool has = false;
	int fd = perf_open(&attr, 0, -1);

	if (fd < 0)
		return false;
	if (!ring_map(&ring, fd, 1, PROT_READ))
		has = ring.page->cap_size_at_end &&
		      ring.page->cap_data_reserved;
	ring_close(&ring);
	return has;
}

#define REQUIRE_SIZE_AT_END()						\
	do {								\
		if (!has_size_at_end())					\
			SKIP(return, "no PERF_SAMPLE_SIZE_AT_END");	\
	} while (0)

#endif /* SELFTESTS_PERF_EVENTS_SIZED_H */
