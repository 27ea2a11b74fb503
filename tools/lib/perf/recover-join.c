// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <internal/recover.h>
#include <internal/trailer.h>

#define TRAILER		sizeof(struct perf_event_trailer)
#define MAX_RING	(1ull << 32)

/*
 * Where pieces end, and pages begin
 */

static size_t end_at(const struct recover_piece *piece)
{
	return piece->at + piece->len;
}

/* The place in the image at which the page of @position begins. It may be cut off: modulo. */
static size_t page_at(size_t at, u64 position)
{
	return at - position % RECOVER_PAGE;
}

/* @above follows in the image, though other bytes may lie between; both in one page, in part. */
static bool share_page(const struct recover_piece *below, const struct recover_piece *above)
{
	return recover__end_position(below) % RECOVER_PAGE &&
	       page_at(end_at(below), recover__end_position(below)) == page_at(above->at, above->position);
}

static bool continues(const struct recover_piece *below, const struct recover_piece *above)
{
	return end_at(below) == above->at && below->ring == above->ring &&
	       recover__end_position(below) == above->position;
}

/* What a trailer that ends at @at says: where the record begins, of this ring, and its size. */
static u64 position_at(const struct perf_recovery *recovery, size_t at, u32 ring, u16 *size)
{
	struct perf_event_trailer trailer;

	memcpy(&trailer, recovery->image + at - TRAILER, TRAILER);
	*size = trailer.size;
	return (perf_trailer__offset(&trailer) + recovery->base[ring]) & PERF_TRAILER_OFFSET_MASK;
}

/* Whether a record ends where @piece begins, in the image and in the stream. */
static bool is_preceded(const struct perf_recovery *recovery, const struct recover_piece *piece)
{
	u64 position;
	u16 size;

	if (piece->at < TRAILER)
		return false;
	position = position_at(recovery, piece->at, piece->ring, &size);
	return size && position + size == piece->position;
}

/*
 * Whether the end of a newer record lies in the @len bytes at @at, which are those of the record at
 * @position from its next page on: then the page is of another copy than the one that has its begin.
 */
static bool is_overwritten(const struct perf_recovery *recovery, size_t at, size_t len, u32 ring,
			   u64 position)
{
	size_t offset;

	for (offset = TRAILER; offset < len; offset += sizeof(u64)) {
		u16 size;
		u64 newer = position_at(recovery, at + offset, ring, &size);

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
		       (above && continues(piece, above));
	return is_preceded(recovery, piece) &&
	       !is_overwritten(recovery, piece->at + first, piece->len - first, piece->ring,
			       piece->position) &&
	       !(below && share_page(below, piece) && below->ring != piece->ring) &&
	       !(above && share_page(piece, above) && above->ring != piece->ring);
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
	    position_at(recovery, piece->at, piece->ring, &size) == newest)
		return true;
	if (!below || end_at(below) != piece->at || below->ring != piece->ring ||
	    continues(below, piece))
		return false;
	/* Between pages it may be just the order in which they lie. */
	return piece->position % RECOVER_PAGE ||
	       (piece->position == recovery->oldest[piece->ring] &&
		recover__end_position(below) == newest);
}

static void drop_at_seams(struct perf_recovery *recovery)
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

/*
 * Joined
 */

/* Half a record: from its begin to the end of the page (is_tail 0), or from there to its end. */
struct half {
	u64	position;	/* of the record */
	size_t	at;		/* in the image */
	u32	ring;
	u16	size;		/* of the record */
	u16	is_tail;
};

static u32 half_len(const struct half *half)
{
	u32 first = recover__to_page_end(half->position);

	return half->is_tail ? half->size - first : first;
}

/* There are two halves, each in one page, and this one is in the image. */
static bool is_half(const struct perf_recovery *recovery, const struct half *half)
{
	u32 first = recover__to_page_end(half->position), len;

	if (half->size <= first || half->size - first > RECOVER_PAGE)
		return false;
	len = half_len(half);
	return half->at <= recovery->size && len <= recovery->size - half->at;
}

/* What begins where @piece ends */
static bool head_behind(const struct perf_recovery *recovery, const struct recover_piece *piece,
			struct half *half)
{
	struct perf_event_header header;

	if (recover__end_position(piece) % RECOVER_PAGE == 0 ||
	    recovery->size - end_at(piece) < sizeof(header))
		return false;
	memcpy(&header, recovery->image + end_at(piece), sizeof(header));
	*half = (struct half){
		.position = recover__end_position(piece), .at = end_at(piece), .ring = piece->ring,
		.size = header.size,
	};
	return recover__is_header(&header) && is_half(recovery, half);
}

/* What ends @len bytes behind the begin of the page of @piece */
static bool tail_at(const struct perf_recovery *recovery, const struct recover_piece *piece,
		    size_t len, struct half *half)
{
	size_t page = page_at(piece->at, piece->position);

	*half = (struct half){ .at = page, .ring = piece->ring, .is_tail = 1 };
	half->position = position_at(recovery, page + len, piece->ring, &half->size);
	return (half->position + half->size) % RECOVER_PAGE == len && is_half(recovery, half) &&
	       !is_overwritten(recovery, page, len, piece->ring, half->position);
}

/* What ends where @piece begins */
static bool tail_before(const struct perf_recovery *recovery, const struct recover_piece *piece,
			struct half *half)
{
	size_t len = piece->position % RECOVER_PAGE;

	return len >= TRAILER && len <= piece->at && tail_at(recovery, piece, len, half) &&
	       half->position + half->size == piece->position;
}

/* The newest record may end anywhere, as what follows is what is left of older ones. */
static bool tail_of_newest(const struct perf_recovery *recovery, const struct recover_piece *piece,
			   struct half *half)
{
	size_t page = page_at(piece->at, piece->position), len = piece->position % RECOVER_PAGE;
	u16 size;

	if (len > piece->at)
		return false;
	for (; len >= TRAILER; len -= sizeof(u64))
		if (position_at(recovery, page + len, piece->ring, &size) ==
		    recovery->newest[piece->ring])
			return tail_at(recovery, piece, len, half);
	return false;
}

/* Between pieces that do not follow each other. Returns how many, or fewer than 0 without memory. */
static ssize_t find_halves(const struct perf_recovery *recovery, struct half **phalves)
{
	size_t nr = recovery->nr_pieces, max = 0, found = 0, i;
	struct half *halves = NULL;

	for (i = 0; i < nr; i++) {
		const struct recover_piece *piece = &recovery->pieces[i];

		if (found + 3 > max) {
			struct half *more;

			max += max / 2 + 64;
			more = realloc(halves, max * sizeof(*halves));
			if (!more) {
				free(halves);
				return -ENOMEM;
			}
			halves = more;
		}
		if (!i || !continues(piece - 1, piece))
			found += tail_before(recovery, piece, &halves[found]);
		if (!i || !share_page(piece - 1, piece))
			found += tail_of_newest(recovery, piece, &halves[found]);
		if (i + 1 == nr || !continues(piece, piece + 1))
			found += head_behind(recovery, piece, &halves[found]);
	}
	*phalves = halves;
	return found;
}

static int compare(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

static int compare_halves(const void *pa, const void *pb)
{
	const struct half *a = pa, *b = pb;

	return compare(a->ring, b->ring) ?: compare(a->position, b->position) ?:
	       compare(a->size, b->size) ?: compare(a->is_tail, b->is_tail) ?:
	       compare(a->at, b->at);
}

static bool is_same_record(const struct half *a, const struct half *b)
{
	return a->ring == b->ring && a->position == b->position && a->size == b->size;
}

/* The id is in one of them. */
static bool has_id_of_ring(const struct perf_recovery *recovery, const struct half *head,
			   const struct half *tail)
{
	const unsigned char *at;
	struct perf_event_header header;
	size_t offset;
	ssize_t index;
	u64 id;

	memcpy(&header, recovery->image + head->at, sizeof(header));
	offset = recover__id_offset(recovery, &header);
	if (!offset)
		return false;
	at = offset < half_len(head) ? recovery->image + head->at + offset :
				       recovery->image + tail->at + offset - half_len(head);
	memcpy(&id, at, sizeof(id));
	index = recover__find_id(recovery, id);
	return index >= 0 && recovery->same[index] == head->ring;
}

/* @nr halves of one record: all heads must say the same, and all tails. */
static int join_halves(struct perf_recovery *recovery, const struct half *halves, size_t nr)
{
	const struct half *head = halves, *tail = halves + nr - 1;
	size_t i;

	if (head->is_tail || !tail->is_tail)
		return 0;
	for (i = 0; i < nr; i++) {
		const struct half *other = halves[i].is_tail ? tail : head;

		if (memcmp(recovery->image + halves[i].at, recovery->image + other->at,
			   half_len(other)))
			break;
	}
	if (i < nr || !has_id_of_ring(recovery, head, tail)) {
		recovery->stats.doubtful++;
		return 0;
	}
	return recover__add_piece(recovery, &(struct recover_piece){
		.position = head->position, .at = head->at, .rest = tail->at,
		.len = head->size, .ring = head->ring,
	});
}

int recover__join(struct perf_recovery *recovery)
{
	struct half *halves = NULL;
	ssize_t nr, i, same;
	int err;

	drop_uncertain(recovery);
	err = find_ends(recovery);
	if (err)
		return err;
	keep_newest(recovery);
	nr = find_halves(recovery, &halves);
	drop_at_seams(recovery);
	if (nr > 0)
		qsort(halves, nr, sizeof(*halves), compare_halves);
	err = nr < 0 ? nr : 0;
	for (i = 0; !err && i < nr; i += same) {
		for (same = 1; i + same < nr && is_same_record(&halves[i], &halves[i + same]);)
			same++;
		err = join_halves(recovery, halves + i, same);
	}
	free(halves);
	return err;
}
