// SPDX-License-Identifier: GPL-2.0-only
/* Look up event ids, and group the ids of one ring in a union-find forest. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <internal/recover-rings.h>
#include <perf/event.h>

#define TRAILER		sizeof(struct perf_event_trailer)

static int compare_u64(const void *pa, const void *pb)
{
	u64 a = *(const u64 *)pa, b = *(const u64 *)pb;

	return a < b ? -1 : a > b;
}

int recover__set_ids(struct perf_recovery *recovery, const struct perf_recovery_ids *ids)
{
	size_t i;

	recovery->ids = calloc(ids->nr, sizeof(*recovery->ids));
	recovery->id_parent = calloc(ids->nr, sizeof(*recovery->id_parent));
	if (!recovery->ids || !recovery->id_parent)
		return -ENOMEM;
	memcpy(recovery->ids, ids->ids, ids->nr * sizeof(*recovery->ids));
	qsort(recovery->ids, ids->nr, sizeof(*recovery->ids), compare_u64);
	for (i = 0; i < ids->nr; i++)
		recovery->id_parent[i] = i;
	recovery->nr_ids = ids->nr;
	recovery->id_pos = ids->id_pos;
	recovery->is_pos = ids->is_pos;
	return 0;
}

bool recover__is_header(const struct perf_event_header *header)
{
	return header->size >= RECOVER_MIN_RECORD && header->size % sizeof(u64) == 0 &&
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
	size_t body = header->size - sizeof(*header) - TRAILER;
	size_t id_pos = recovery->id_pos, is_pos = recovery->is_pos;

	if (header->type == PERF_RECORD_SAMPLE)
		return id_pos < body / sizeof(u64) ? sizeof(*header) + id_pos * sizeof(u64) : 0;
	return is_pos <= body / sizeof(u64) ? header->size - TRAILER - is_pos * sizeof(u64) : 0;
}

/* Return the representative of the ring of id @index; halve the path to it. */
static u32 find_ring(u32 *id_parent, u32 index)
{
	while (id_parent[index] != index)
		index = id_parent[index] = id_parent[id_parent[index]];
	return index;
}

void recover__merge_rings(struct perf_recovery *recovery, u32 a, u32 b)
{
	recovery->id_parent[find_ring(recovery->id_parent, a)] = find_ring(recovery->id_parent, b);
}

int recover__find_rings(struct perf_recovery *recovery)
{
	/* Rebase the first position to the middle of the range, far from both ends. */
	const u64 middle = (PERF_TRAILER_OFFSET_MASK + 1) / 2;
	const u64 is_set = PERF_TRAILER_OFFSET_MASK + 1;	/* masked out of positions */
	u64 *base = calloc(recovery->nr_ids, sizeof(*base));
	size_t i;

	recovery->position_base = base;
	if (!base)
		return -ENOMEM;
	for (i = 0; i < recovery->nr_ids; i++)
		recovery->id_parent[i] = find_ring(recovery->id_parent, i);
	for (i = 0; i < recovery->nr_pieces; i++) {
		struct recover_piece *piece = &recovery->pieces[i];
		u32 ring = piece->ring = recovery->id_parent[piece->ring];

		if (!base[ring])
			base[ring] = (middle - (piece->position & -(u64)RECOVER_PAGE)) | is_set;
		piece->position = (piece->position + base[ring]) & PERF_TRAILER_OFFSET_MASK;
	}
	return 0;
}

u64 recover__trailer_position(const struct perf_recovery *recovery, size_t offset, u32 ring,
			      u16 *size)
{
	struct perf_event_trailer trailer;

	memcpy(&trailer, recovery->image + offset - TRAILER, TRAILER);
	*size = trailer.size;
	return (perf_trailer__offset(&trailer) + recovery->position_base[ring]) &
	       PERF_TRAILER_OFFSET_MASK;
}
