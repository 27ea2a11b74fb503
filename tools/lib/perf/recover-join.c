// SPDX-License-Identifier: GPL-2.0-only
/* Join records that cross a page boundary, where the two pages lie apart in the image. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <internal/recover-check.h>
#include <internal/recover-join.h>
#include <internal/recover-rings.h>
#include <internal/trailer.h>

#define TRAILER		sizeof(struct perf_event_trailer)

/**
 * struct half - half a record
 * @position:	of the record
 * @offset:	of the half in the image [bytes]
 * @ring:	of the record
 * @size:	of the record [bytes]
 * @is_tail:	0: the half from the header to the end of the page; 1: from there to the trailer
 */
struct half {
	u64	position;
	size_t	offset;
	u32	ring;
	u16	size;
	u16	is_tail;
};

static u32 half_len(const struct half *half)
{
	u32 first = recover__to_page_end(half->position);

	return half->is_tail ? half->size - first : first;
}

/* Return whether the record has two halves, each in one page, and the image contains @half. */
static bool is_half(const struct perf_recovery *recovery, const struct half *half)
{
	u32 first = recover__to_page_end(half->position), len;

	if (half->size <= first || half->size - first > RECOVER_PAGE)
		return false;
	len = half_len(half);
	return half->offset <= recovery->size && len <= recovery->size - half->offset;
}

/* Find the first half of a record that begins where @piece ends. */
static bool head_after(const struct perf_recovery *recovery, const struct recover_piece *piece,
		       struct half *half)
{
	struct perf_event_header header;

	if (recover__end_position(piece) % RECOVER_PAGE == 0 ||
	    recovery->size - recover__end_offset(piece) < sizeof(header))
		return false;
	memcpy(&header, recovery->image + recover__end_offset(piece), sizeof(header));
	*half = (struct half){
		.position = recover__end_position(piece), .offset = recover__end_offset(piece),
		.ring = piece->ring, .size = header.size,
	};
	return recover__is_header(&header) && is_half(recovery, half);
}

/* Find the second half of a record that ends @len bytes after the page of @piece begins. */
static bool tail_at(const struct perf_recovery *recovery, const struct recover_piece *piece,
		    size_t len, struct half *half)
{
	size_t page = recover__page_offset(piece->offset, piece->position);

	*half = (struct half){ .offset = page, .ring = piece->ring, .is_tail = 1 };
	half->position = recover__trailer_position(recovery, page + len, piece->ring, &half->size);
	return (half->position + half->size) % RECOVER_PAGE == len && is_half(recovery, half) &&
	       !recover__is_overwritten(recovery, page, len, piece->ring, half->position);
}

/* Find the second half of a record that ends where @piece begins. */
static bool tail_before(const struct perf_recovery *recovery, const struct recover_piece *piece,
			struct half *half)
{
	size_t len = piece->position % RECOVER_PAGE;

	return len >= TRAILER && len <= piece->offset && tail_at(recovery, piece, len, half) &&
	       half->position + half->size == piece->position;
}

/*
 * Find the second half of the newest record in the page of @piece. Remains of older records follow
 * it, so it may end at any place before @piece.
 */
static bool tail_of_newest(const struct perf_recovery *recovery, const struct recover_piece *piece,
			   struct half *half)
{
	size_t page = recover__page_offset(piece->offset, piece->position);
	size_t len = piece->position % RECOVER_PAGE;
	u16 size;

	if (len > piece->offset)
		return false;
	for (; len >= TRAILER; len -= sizeof(u64))
		if (recover__trailer_position(recovery, page + len, piece->ring, &size) ==
		    recovery->newest_end[piece->ring])
			return tail_at(recovery, piece, len, half);
	return false;
}

/*
 * Find the halves between pieces that do not continue each other. Return their number and the
 * array @phalves, to be freed by the caller; or -ENOMEM.
 */
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
		if (!i || !recover__continues(piece - 1, piece))
			found += tail_before(recovery, piece, &halves[found]);
		if (!i || !recover__same_page(piece - 1, piece))
			found += tail_of_newest(recovery, piece, &halves[found]);
		if (i + 1 == nr || !recover__continues(piece, piece + 1))
			found += head_after(recovery, piece, &halves[found]);
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
	       compare(a->offset, b->offset);
}

static bool is_same_record(const struct half *a, const struct half *b)
{
	return a->ring == b->ring && a->position == b->position && a->size == b->size;
}

/* Return whether the id of the record, which is in one of the halves, is one of its ring. */
static bool has_id_of_ring(const struct perf_recovery *recovery, const struct half *head,
			   const struct half *tail)
{
	const unsigned char *at;
	struct perf_event_header header;
	size_t offset;
	ssize_t index;
	u64 id;

	memcpy(&header, recovery->image + head->offset, sizeof(header));
	offset = recover__id_offset(recovery, &header);
	if (!offset)
		return false;
	at = offset < half_len(head) ? recovery->image + head->offset + offset :
				       recovery->image + tail->offset + offset - half_len(head);
	memcpy(&id, at, sizeof(id));
	index = recover__find_id(recovery, id);
	return index >= 0 && recovery->id_parent[index] == head->ring;
}

/*
 * Join @nr halves of one record, sorted. All copies of the first half must have the same contents,
 * and so must all copies of the second half; otherwise the record is doubtful.
 * Return: 0, or -ENOMEM.
 */
static int join_halves(struct perf_recovery *recovery, const struct half *halves, size_t nr)
{
	const struct half *head = halves, *tail = halves + nr - 1;
	size_t i;

	if (head->is_tail || !tail->is_tail)
		return 0;
	for (i = 0; i < nr; i++) {
		const struct half *other = halves[i].is_tail ? tail : head;

		if (memcmp(recovery->image + halves[i].offset, recovery->image + other->offset,
			   half_len(other)))
			break;
	}
	if (i < nr || !has_id_of_ring(recovery, head, tail)) {
		recovery->stats.doubtful++;
		return 0;
	}
	return recover__add_piece(recovery, &(struct recover_piece){
		.position = head->position, .offset = head->offset, .tail_offset = tail->offset,
		.len = head->size, .ring = head->ring,
	});
}

int recover__join_halves(struct perf_recovery *recovery)
{
	struct half *halves = NULL;
	ssize_t nr, i, same;
	int err;

	nr = find_halves(recovery, &halves);
	recover__drop_seams(recovery);
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
