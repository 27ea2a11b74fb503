// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <internal/recover-check.h>
#include <internal/recover-rings.h>
#include <internal/trailer.h>

#define TRAILER		sizeof(struct perf_event_trailer)
#define MAX_RING	(1ull << 32)

/* Whether a record ends where @piece begins, in the image and in the stream. */
static bool is_preceded(const struct perf_recovery *recovery, const struct recover_piece *piece)
{
	u64 position;
	u16 size;

	if (piece->at < TRAILER)
		return false;
	position = recover__position_at(recovery, piece->at, piece->ring, &size);
	return size && position + size == piece->position;
}

/*
 * Whether the end of a newer record lies in the @len bytes at @at, which are those of the record at
 * @position from its next page on: then the page is of another copy than the one that has its begin.
 */
bool recover__is_overwritten(const struct perf_recovery *recovery, size_t at, size_t len, u32 ring,
			   u64 position)
{
	size_t offset;

	for (offset = TRAILER; offset < len; offset += sizeof(u64)) {
		u16 size;
		u64 newer = recover__position_at(recovery, at + offset, ring, &size);

		if (newer > position && newer - position < MAX_RING && size &&
		    (newer + size) % RECOVER_PAGE == offset % RECOVER_PAGE)
			return true;
	}
	return false;
}

/*
 * Doubtful
 */

static bool is_single(const struct perf_recovery *recovery, const struct recover_piece *piece)
{
	struct perf_event_header header;

	memcpy(&header, recovery->image + piece->at, sizeof(header));
	return header.size == piece->len;
}

/*
 * One record alone may be an accident: memory is full of small numbers, and so are ids. Its position is
 * confirmed by the one before it, or behind it.
 *
 * If it goes on in the next page of the image: is that the right one? Its trailer is on the second page;
 * that it begins on the first one only the one before can tell. Two rings may have records of the
 * same size at the same position: what lies beside it must be of the same one.
 */
static bool is_certain(const struct perf_recovery *recovery, const struct recover_piece *piece,
		       const struct recover_piece *below, const struct recover_piece *above)
{
	u32 first = recover__to_page_end(piece->position);

	if (piece->len <= first)
		return !is_single(recovery, piece) || is_preceded(recovery, piece) ||
		       (above && recover__continues(piece, above));
	return is_preceded(recovery, piece) &&
	       !recover__is_overwritten(recovery, piece->at + first, piece->len - first, piece->ring,
			       piece->position) &&
	       !(below && recover__share_page(below, piece) && below->ring != piece->ring) &&
	       !(above && recover__share_page(piece, above) && above->ring != piece->ring);
}

/*
 * What is alone at the begin of a page may be the newest record: that is known when the end of the one
 * before it is.
 */
static void drop_uncertain(struct perf_recovery *recovery)
{
	struct recover_piece *pieces = recovery->pieces;
	size_t nr = recovery->nr_pieces, kept = 0, i;

	for (i = 0; i < nr; i++) {
		struct recover_piece *piece = &pieces[i];

		if (!is_certain(recovery, piece, kept ? &pieces[kept - 1] : NULL,
				i + 1 < nr ? piece + 1 : NULL)) {
			recovery->stats.doubtful++;
			if (piece->position % RECOVER_PAGE || piece->len > RECOVER_PAGE)
				continue;
			piece->rest = RECOVER_ALONE;
		}
		pieces[kept++] = *piece;
	}
	recovery->nr_pieces = kept;
}

static void keep_newest(struct perf_recovery *recovery)
{
	struct recover_piece *pieces = recovery->pieces;
	size_t kept = 0, i;

	for (i = 0; i < recovery->nr_pieces; i++) {
		struct recover_piece piece = pieces[i];

		if (piece.rest == RECOVER_ALONE) {
			if (piece.position != recovery->newest[piece.ring])
				continue;
			piece.rest = RECOVER_WHOLE;
			recovery->stats.doubtful--;
		}
		pieces[kept++] = piece;
	}
	recovery->nr_pieces = kept;
}

static int find_ends(struct perf_recovery *recovery)
{
	u64 *oldest = calloc(recovery->nr_ids, sizeof(*oldest));
	u64 *newest = calloc(recovery->nr_ids, sizeof(*newest));
	size_t i;

	recovery->oldest = oldest;
	recovery->newest = newest;
	if (!oldest || !newest)
		return -ENOMEM;
	for (i = 0; i < recovery->nr_pieces; i++) {
		const struct recover_piece *piece = &recovery->pieces[i];
		u64 end = recover__end_position(piece);

		if (piece->rest == RECOVER_ALONE)
			continue;
		if (!newest[piece->ring] || oldest[piece->ring] > piece->position)
			oldest[piece->ring] = piece->position;
		if (newest[piece->ring] < end)
			newest[piece->ring] = end;
	}
	return 0;
}

/*
 * Where a ring was written last, a writer may have been stopped that had replaced the header there, and no
 * more. If an older record begins at just that place, and was as long, then it looks whole.
 * (This is not seen if a page begins there, and does not follow in the image, or there are older copies.)
 */
static bool is_seam(const struct perf_recovery *recovery, const struct recover_piece *below,
		    const struct recover_piece *piece)
{
	u64 newest = recovery->newest[piece->ring];
	u16 size;

	/* The newest record ends here, and begins elsewhere. */
	if (piece->position % RECOVER_PAGE && piece->at >= TRAILER &&
	    recover__position_at(recovery, piece->at, piece->ring, &size) == newest)
		return true;
	if (!below || recover__end_at(below) != piece->at || below->ring != piece->ring ||
	    recover__continues(below, piece))
		return false;
	/* Between pages it may be just the order in which they lie. */
	return piece->position % RECOVER_PAGE ||
	       (piece->position == recovery->oldest[piece->ring] &&
		recover__end_position(below) == newest);
}

void recover__drop_at_seams(struct perf_recovery *recovery)
{
	struct recover_piece *pieces = recovery->pieces, below, piece;
	size_t kept = 0, i;

	for (i = 0; i < recovery->nr_pieces; i++, below = piece) {
		struct recover_piece left = piece = pieces[i];

		if (is_seam(recovery, i ? &below : NULL, &piece)) {
			struct perf_event_header header;

			memcpy(&header, recovery->image + piece.at, sizeof(header));
			recovery->stats.doubtful++;
			left.position += header.size;
			left.at += header.size;
			left.len -= header.size;
		}
		if (left.len)
			pieces[kept++] = left;
	}
	recovery->nr_pieces = kept;
}

int recover__check(struct perf_recovery *recovery)
{
	int err;

	drop_uncertain(recovery);
	err = find_ends(recovery);
	if (!err)
		keep_newest(recovery);
	return err;
}
