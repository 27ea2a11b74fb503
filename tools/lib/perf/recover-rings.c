// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <internal/recover-rings.h>
#include <internal/trailer.h>
#include <perf/event.h>

#define TRAILER		sizeof(struct perf_event_trailer)
#define LEAST		(sizeof(struct perf_event_header) + sizeof(u64) + TRAILER)

static int compare_u64(const void *pa, const void *pb)
{
	u64 a = *(const u64 *)pa, b = *(const u64 *)pb;

	return a < b ? -1 : a > b;
}

int recover__copy_ids(struct perf_recovery *recovery, const struct perf_recovery_ids *ids)
{
	size_t i;

	recovery->ids = calloc(ids->nr, sizeof(*recovery->ids));
	recovery->same = calloc(ids->nr, sizeof(*recovery->same));
	if (!recovery->ids || !recovery->same)
		return -ENOMEM;
	memcpy(recovery->ids, ids->ids, ids->nr * sizeof(*recovery->ids));
	qsort(recovery->ids, ids->nr, sizeof(*recovery->ids), compare_u64);
	for (i = 0; i < ids->nr; i++)
		recovery->same[i] = i;
	recovery->nr_ids = ids->nr;
	recovery->id_pos = ids->id_pos;
	recovery->is_pos = ids->is_pos;
	return 0;
}

bool recover__is_header(const struct perf_event_header *header)
{
	return header->size >= LEAST && header->size % sizeof(u64) == 0 &&
	       header->type && header->type < PERF_RECORD_USER_TYPE_START;
}

ssize_t recover__find_id(const struct perf_recovery *recovery, u64 id)
{
	size_t low = 0, high = recovery->nr_ids;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (recovery->ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < recovery->nr_ids && recovery->ids[low] == id ? (ssize_t)low : -1;
}

size_t recover__id_offset(const struct perf_recovery *recovery,
			  const struct perf_event_header *header)
{
	size_t room = header->size - sizeof(*header) - TRAILER;
	size_t id_pos = recovery->id_pos, is_pos = recovery->is_pos;

	if (header->type == PERF_RECORD_SAMPLE)
		return id_pos < room / sizeof(u64) ? sizeof(*header) + id_pos * sizeof(u64) : 0;
	return is_pos <= room / sizeof(u64) ? header->size - TRAILER - is_pos * sizeof(u64) : 0;
}

/*
 * Rings
 */

static u32 find_ring(u32 *same, u32 index)
{
	while (same[index] != index)
		index = same[index] = same[same[index]];
	return index;
}

void recover__unite(struct perf_recovery *recovery, u32 a, u32 b)
{
	recovery->same[find_ring(recovery->same, a)] = find_ring(recovery->same, b);
}

int recover__find_rings(struct perf_recovery *recovery)
{
	/* Far from both ends, whatever the first position. */
	const u64 middle = (PERF_TRAILER_OFFSET_MASK + 1) / 2;
	const u64 is_set = PERF_TRAILER_OFFSET_MASK + 1;	/* is not seen in a position */
	u64 *base = calloc(recovery->nr_ids, sizeof(*base));
	size_t i;

	recovery->base = base;
	if (!base)
		return -ENOMEM;
	for (i = 0; i < recovery->nr_ids; i++)
		recovery->same[i] = find_ring(recovery->same, i);
	for (i = 0; i < recovery->nr_pieces; i++) {
		struct recover_piece *piece = &recovery->pieces[i];
		u32 ring = piece->ring = recovery->same[piece->ring];

		if (!base[ring])
			base[ring] = (middle - (piece->position & -(u64)RECOVER_PAGE)) | is_set;
		piece->position = (piece->position + base[ring]) & PERF_TRAILER_OFFSET_MASK;
	}
	return 0;
}

/* What a trailer that ends at @at says: where the record begins, of this ring, and its size. */
u64 recover__position_at(const struct perf_recovery *recovery, size_t at, u32 ring,
			 u16 *size)
{
	struct perf_event_trailer trailer;

	memcpy(&trailer, recovery->image + at - TRAILER, TRAILER);
	*size = trailer.size;
	return (perf_trailer__offset(&trailer) + recovery->base[ring]) & PERF_TRAILER_OFFSET_MASK;
}
