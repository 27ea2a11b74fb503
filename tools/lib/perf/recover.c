// SPDX-License-Identifier: GPL-2.0-only
/* Recover records from a memory image: run all steps, then return the records in order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event_trailer.h>
#include <internal/recover-check.h>
#include <internal/recover-join.h>
#include <internal/recover-rings.h>
#include <internal/recover-scan.h>
#include <perf/event.h>

/* Sort the longest of several copies first: is_new() then sees that the others are copies. */
static int compare_pieces(const void *pa, const void *pb)
{
	const struct recover_piece *a = pa, *b = pb;

	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	if (a->position != b->position)
		return a->position < b->position ? -1 : 1;
	if (a->len != b->len)
		return a->len > b->len ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int find_pieces(struct perf_recovery *recovery)
{
	int err = recover__scan(recovery);

	if (!err)
		err = recover__find_rings(recovery);
	if (!err)
		err = recover__check_pieces(recovery);
	if (!err)
		err = recover__join_halves(recovery);
	return err;
}

struct perf_recovery *perf_recovery__new(const void *image, size_t size,
					 const struct perf_recovery_ids *ids)
{
	struct perf_recovery *recovery;
	int err;

	if (!ids->nr || ids->nr > (u32)-1) {
		errno = EINVAL;
		return NULL;
	}
	recovery = calloc(1, sizeof(*recovery));
	if (!recovery)
		return NULL;
	recovery->image = image;
	recovery->size = size;
	err = recover__set_ids(recovery, ids);
	if (!err)
		err = find_pieces(recovery);
	if (err) {
		perf_recovery__delete(recovery);
		errno = -err;
		return NULL;
	}
	if (recovery->nr_pieces)
		qsort(recovery->pieces, recovery->nr_pieces, sizeof(*recovery->pieces),
		      compare_pieces);
	return recovery;
}

void perf_recovery__delete(struct perf_recovery *recovery)
{
	if (!recovery)
		return;
	free(recovery->ids);
	free(recovery->id_parent);
	free(recovery->position_base);
	free(recovery->oldest_begin);
	free(recovery->newest_end);
	free(recovery->pieces);
	free(recovery);
}

/* Return a copy of the record of @size bytes at byte @begin of @piece, without its trailer. */
static union perf_event *copy_record(struct perf_recovery *recovery,
				     const struct recover_piece *piece, u32 begin, size_t size)
{
	union perf_event *event = (void *)recovery->event;
	const unsigned char *image = recovery->image + piece->offset + begin;
	size_t first = size;

	if (piece->tail_offset != RECOVER_WHOLE) {
		first = recover__to_page_end(piece->position);
		memcpy(recovery->event + first, recovery->image + piece->tail_offset, size - first);
	}
	memcpy(recovery->event, image, first);
	event->header.size = size - sizeof(struct perf_event_trailer);
	return event;
}

/*
 * Return whether the record at @position was not returned before, and update the figures.
 * @first_of_ring: no record of its ring was returned before
 */
static bool is_new(struct perf_recovery *recovery, u64 position, size_t size, bool first_of_ring)
{
	struct perf_recovery_stats *stats = &recovery->stats;

	if (first_of_ring) {
		stats->rings++;
	} else if (position < recovery->returned_end) {
		stats->copies++;
		return false;
	} else if (position > recovery->returned_end) {
		stats->gaps++;
	}
	stats->records++;
	recovery->returned_end = position + size;
	return true;
}

union perf_event *perf_recovery__read_event(struct perf_recovery *recovery)
{
	const struct recover_piece *pieces = recovery->pieces;

	while (recovery->next_piece < recovery->nr_pieces) {
		const struct recover_piece *piece = &pieces[recovery->next_piece];
		u32 begin = recovery->next_byte;
		bool first_of_ring = !begin && (!recovery->next_piece ||
						piece[-1].ring != piece->ring);
		struct perf_event_header header;

		memcpy(&header, recovery->image + piece->offset + begin, sizeof(header));
		recovery->next_byte += header.size;
		if (recovery->next_byte == piece->len) {
			recovery->next_byte = 0;
			recovery->next_piece++;
		}
		if (is_new(recovery, piece->position + begin, header.size, first_of_ring))
			return copy_record(recovery, piece, begin, header.size);
	}
	return NULL;
}

void perf_recovery__stats(const struct perf_recovery *recovery, struct perf_recovery_stats *stats)
{
	*stats = recovery->stats;
}
