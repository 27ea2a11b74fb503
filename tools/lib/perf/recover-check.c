// SPDX-License-Identifier: GPL-2.0-only
/* Drop pieces whose neighbours do not confirm that they are complete records of their ring. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <internal/recover-check.h>
#include <internal/recover-rings.h>
#include <internal/trailer.h>

#define TRAILER		sizeof(struct perf_event_trailer)
#define MAX_RING	(1ull << 32)	/* bytes: newer positions than that are accidental */

/* Return whether a record ends where @piece begins, in the image and in the stream. */
static bool is_preceded(const struct perf_recovery *recovery, const struct recover_piece *piece)
{
	u64 position;
	u16 size;

	if (piece->offset < TRAILER)
		return false;
	position = recover__trailer_position(recovery, piece->offset, piece->ring, &size);
	return size && position + size == piece->position;
}

bool recover__is_overwritten(const struct perf_recovery *recovery, size_t offset, size_t len,
			     u32 ring, u64 position)
{
	size_t end;

	for (end = TRAILER; end < len; end += sizeof(u64)) {
		u16 size;
		u64 newer = recover__trailer_position(recovery, offset + end, ring, &size);

		if (newer > position && newer - position < MAX_RING && size &&
		    (newer + size) % RECOVER_PAGE == end % RECOVER_PAGE)
			return true;
	}
	return false;
}

static bool is_single_record(const struct perf_recovery *recovery,
			     const struct recover_piece *piece)
{
	struct perf_event_header header;

	memcpy(&header, recovery->image + piece->offset, sizeof(header));
	return header.size == piece->len;
}

/*
 * Return whether the neighbours of @piece confirm it.
 *
 * A single record may be an accident: memory is full of small numbers, and ids are small numbers.
 * The record before or after it must confirm its position.
 *
 * If the record continues in the next page of the image, that page may be the wrong one. The
 * trailer is on the second page, so only the record before can confirm that it begins on the first
 * page. Two rings may have records of the same size at the same position, so the pieces next to
 * it in both pages must be of the same ring.
 */
static bool is_confirmed(const struct perf_recovery *recovery, const struct recover_piece *piece,
			 const struct recover_piece *below, const struct recover_piece *above)
{
	u32 first = recover__to_page_end(piece->position);

	if (piece->len <= first)
		return !is_single_record(recovery, piece) || is_preceded(recovery, piece) ||
		       (above && recover__continues(piece, above));
	return is_preceded(recovery, piece) &&
	       !recover__is_overwritten(recovery, piece->offset + first, piece->len - first,
					piece->ring, piece->position) &&
	       !(below && recover__same_page(below, piece) && below->ring != piece->ring) &&
	       !(above && recover__same_page(piece, above) && above->ring != piece->ring);
}

/*
 * Drop the pieces that are not confirmed. Keep those at the beginning of a page for now, marked as
 * unconfirmed: such a piece may be the newest record, see keep_newest().
 */
static void drop_unconfirmed(struct perf_recovery *recovery)
{
	struct recover_piece *pieces = recovery->pieces;
	size_t nr = recovery->nr_pieces, kept = 0, i;

	for (i = 0; i < nr; i++) {
		struct recover_piece *piece = &pieces[i];

		if (!is_confirmed(recovery, piece, kept ? &pieces[kept - 1] : NULL,
				  i + 1 < nr ? piece + 1 : NULL)) {
			recovery->stats.doubtful++;
			if (piece->position % RECOVER_PAGE || piece->len > RECOVER_PAGE)
				continue;
			piece->tail_offset = RECOVER_UNCONFIRMED;
		}
		pieces[kept++] = *piece;
	}
	recovery->nr_pieces = kept;
}

/* Confirm marked pieces that begin where the newest piece of their ring ends; drop the others. */
static void keep_newest(struct perf_recovery *recovery)
{
	struct recover_piece *pieces = recovery->pieces;
	size_t kept = 0, i;

	for (i = 0; i < recovery->nr_pieces; i++) {
		struct recover_piece piece = pieces[i];

		if (piece.tail_offset == RECOVER_UNCONFIRMED) {
			if (piece.position != recovery->newest_end[piece.ring])
				continue;
			piece.tail_offset = RECOVER_WHOLE;
			recovery->stats.doubtful--;
		}
		pieces[kept++] = piece;
	}
	recovery->nr_pieces = kept;
}

/* Find where each ring begins and ends, by its confirmed pieces. Return: 0, or -ENOMEM. */
static int find_ends(struct perf_recovery *recovery)
{
	u64 *oldest = calloc(recovery->nr_ids, sizeof(*oldest));
	u64 *newest = calloc(recovery->nr_ids, sizeof(*newest));
	size_t i;

	recovery->oldest_begin = oldest;
	recovery->newest_end = newest;
	if (!oldest || !newest)
		return -ENOMEM;
	for (i = 0; i < recovery->nr_pieces; i++) {
		const struct recover_piece *piece = &recovery->pieces[i];
		u64 end = recover__end_position(piece);

		if (piece->tail_offset == RECOVER_UNCONFIRMED)
			continue;
		if (!newest[piece->ring] || oldest[piece->ring] > piece->position)
			oldest[piece->ring] = piece->position;
		if (newest[piece->ring] < end)
			newest[piece->ring] = end;
	}
	return 0;
}

/* Return whether @piece begins where the newest record of its ring ends. */
static bool is_seam(const struct perf_recovery *recovery, const struct recover_piece *below,
		    const struct recover_piece *piece)
{
	u64 newest = recovery->newest_end[piece->ring];
	u16 size;

	/* The newest record ends here, and the image has its first half elsewhere. */
	if (piece->position % RECOVER_PAGE && piece->offset >= TRAILER &&
	    recover__trailer_position(recovery, piece->offset, piece->ring, &size) == newest)
		return true;
	if (!below || recover__end_offset(below) != piece->offset || below->ring != piece->ring ||
	    recover__continues(below, piece))
		return false;
	/* At a page boundary the cause may be that the pages are out of order. */
	return piece->position % RECOVER_PAGE ||
	       (piece->position == recovery->oldest_begin[piece->ring] &&
		recover__end_position(below) == newest);
}

void recover__drop_seams(struct perf_recovery *recovery)
{
	struct recover_piece *pieces = recovery->pieces, below, piece;
	size_t kept = 0, i;

	for (i = 0; i < recovery->nr_pieces; i++, below = piece) {
		struct recover_piece rest = piece = pieces[i];

		if (is_seam(recovery, i ? &below : NULL, &piece)) {
			struct perf_event_header header;

			memcpy(&header, recovery->image + piece.offset, sizeof(header));
			recovery->stats.doubtful++;
			rest.position += header.size;
			rest.offset += header.size;
			rest.len -= header.size;
		}
		if (rest.len)
			pieces[kept++] = rest;
	}
	recovery->nr_pieces = kept;
}

int recover__check_pieces(struct perf_recovery *recovery)
{
	int err;

	drop_unconfirmed(recovery);
	err = find_ends(recovery);
	if (!err)
		keep_newest(recovery);
	return err;
}
