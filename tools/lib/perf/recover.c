// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event_trailer.h>
#include <internal/recover-check.h>
#include <internal/recover-join.h>
#include <internal/recover-rings.h>
#include <internal/recover-scan.h>
#include <perf/event.h>

/* Of copies, the longer one first: what else they have is then known to be one. */
static int compare_pieces(const void *pa, const void *pb)
{
	const struct recover_piece *a = pa, *b = pb;

	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	if (a->position != b->position)
		return a->position < b->position ? -1 : 1;
	if (a->len != b->len)
		return a->len > b->len ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static int find_pieces(struct perf_recovery *recovery)
{
	int err = recover__scan(recovery);

	if (!err)
		err = recover__find_rings(recovery);
	if (!err)
		err = recover__check(recovery);
	if (!err)
		err = recover__join(recovery);
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
	err = recover__copy_ids(recovery, ids);
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
	free(recovery->same);
	free(recovery->base);
	free(recovery->oldest);
	free(recovery->newest);
	free(recovery->pieces);
	free(recovery);
}

/*
 * Reading
 */

/* Out of @piece, from @done on, without its trailer. */
static union perf_event *copy_record(struct perf_recovery *recovery,
				     const struct recover_piece *piece, u32 done, size_t size)
{
	union perf_event *event = (void *)recovery->event;
	const unsigned char *at = recovery->image + piece->at + done;
	size_t first = size;

	if (piece->rest != RECOVER_WHOLE) {
		first = recover__to_page_end(piece->position);
		memcpy(recovery->event + first, recovery->image + piece->rest, size - first);
	}
	memcpy(recovery->event, at, first);
	event->header.size = size - sizeof(struct perf_event_trailer);
	return event;
}

/* Whether the record at @position of the ring of @piece is to be returned. */
static bool is_new(struct perf_recovery *recovery, u64 position, size_t size, bool begins)
{
	struct perf_recovery_stats *stats = &recovery->stats;

	if (begins) {
		stats->rings++;
	} else if (position < recovery->covered) {
		stats->copies++;
		return false;
	} else if (position > recovery->covered) {
		stats->gaps++;
	}
	stats->records++;
	recovery->covered = position + size;
	return true;
}

union perf_event *perf_recovery__read_event(struct perf_recovery *recovery)
{
	const struct recover_piece *pieces = recovery->pieces;

	while (recovery->piece < recovery->nr_pieces) {
		const struct recover_piece *piece = &pieces[recovery->piece];
		u32 done = recovery->done;
		bool begins = !done && (!recovery->piece || piece[-1].ring != piece->ring);
		struct perf_event_header header;

		memcpy(&header, recovery->image + piece->at + done, sizeof(header));
		recovery->done += header.size;
		if (recovery->done == piece->len) {
			recovery->done = 0;
			recovery->piece++;
		}
		if (is_new(recovery, piece->position + done, header.size, begins))
			return copy_record(recovery, piece, done, header.size);
	}
	return NULL;
}

void perf_recovery__stats(const struct perf_recovery *recovery, struct perf_recovery_stats *stats)
{
	*stats = recovery->stats;
}
