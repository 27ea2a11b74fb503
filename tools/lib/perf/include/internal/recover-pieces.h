/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finding records in an image of memory: what the parts of it share.
 *
 * A record's position in the stream says where in a page it lies, and so where in the image that page
 * begins, wherever that is:
 *
 *	image   ...|  page: 0x7000 of the stream            |  any other page          |...
 *	           | end of a | record | record |begin of a |
 *	             record     0x7058   0x70a8  record, 0x70f8
 *	                       `----- piece ----'
 *
 *	at - position % 4096 = where the page begins
 *
 * 1. Scan (recover-scan.c): from the end of the image to its begin. Whole records that follow each
 *    other in one page are a piece. Those with their begin in one page and their end in the next page
 *    of the image are pieces of their own.
 * 2. Rings: ids that were seen in one piece belong to one ring. (A piece is one page, and a page
 *    belongs to one ring. Records that cross pages prove nothing here: the next page of the image
 *    may be another ring's, at the same position of its own stream.)
 * 3. Join (recover-join.c): what crosses pages is checked against the pieces beside it, or put
 *    together of a piece's end and another one's begin.
 * 4. Order (recover.c): by ring and position; of several copies, one is returned.
 *
 * Pages are taken to be 4096 bytes long. Where they are longer, what crosses 4096 bytes is merely
 * checked more than necessary.
 *
 * Nothing but the bytes themselves is trusted. Time: n log n in the pieces, linear in the bytes.
 */
#ifndef __LIBPERF_INTERNAL_RECOVER_PIECES_H
#define __LIBPERF_INTERNAL_RECOVER_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <perf/recover.h>

#define RECOVER_PAGE		4096u
#define RECOVER_WHOLE		((size_t)-1)
#define RECOVER_ALONE		((size_t)-2)

/**
 * struct recover_piece - records that follow each other in one page, or one that crosses pages
 * @position:	of the first one in its stream; rebased by recover__find_rings()
 * @at:		of the first one in the image
 * @rest:	if a record was joined: where the part behind the page boundary is; else RECOVER_WHOLE,
 *		or for a time RECOVER_ALONE
 * @len:	of all together [bytes]
 * @ring:	index of an id of it, and after recover__find_rings() of the id that stands for its ring
 */
struct recover_piece {
	u64	position;
	size_t	at;
	size_t	rest;
	u32	len;
	u32	ring;
};

/**
 * struct perf_recovery
 * @image, @size: where to look
 * @ids, @nr_ids: sorted
 * @id_pos, @is_pos: as in struct perf_recovery_ids
 * @same:	for each id, another one of the same ring, or itself: trees, whose roots stand for
 *		the rings
 * @base:	for each ring, what was added to the positions of its pieces
 * @oldest, @newest: for each ring, where the oldest of its pieces begins, and the newest one ends
 * @pieces:	@nr_pieces of @max_pieces; by @at from recover__scan() on, by ring and position in the end
 * @piece, @done: what is read next: bytes @done of @pieces[@piece]
 * @covered:	position up to which the present ring was returned
 * @stats:	so far
 * @event:	what was returned
 */
struct perf_recovery {
	const unsigned char	*image;
	size_t			 size;
	u64			*ids;
	size_t			 nr_ids;
	unsigned int		 id_pos;
	unsigned int		 is_pos;
	u32			*same;
	u64			*base;
	u64			*oldest;
	u64			*newest;
	struct recover_piece	*pieces;
	size_t			 nr_pieces;
	size_t			 max_pieces;
	size_t			 piece;
	u32			 done;
	u64			 covered;
	struct perf_recovery_stats stats;
	unsigned char		 event[1 << 16] __attribute__((aligned(8)));
};

/* How many bytes there are from @position to the end of its page: 1 to RECOVER_PAGE. */
static inline u32 recover__to_page_end(u64 position)
{
	return RECOVER_PAGE - position % RECOVER_PAGE;
}

static inline u64 recover__end_position(const struct recover_piece *piece)
{
	return piece->position + piece->len;
}

static inline bool recover__crosses(u64 position, u32 len)
{
	return len > recover__to_page_end(position);
}

static inline size_t recover__end_at(const struct recover_piece *piece)
{
	return piece->at + piece->len;
}

/* The place in the image at which the page of @position begins. It may be cut off: modulo. */
static inline size_t recover__page_at(size_t at, u64 position)
{
	return at - position % RECOVER_PAGE;
}

/* @above follows in the image, though other bytes may lie between; both in one page, in part. */
static inline bool recover__share_page(const struct recover_piece *below, const struct recover_piece *above)
{
	return recover__end_position(below) % RECOVER_PAGE &&
	       recover__page_at(recover__end_at(below), recover__end_position(below)) == recover__page_at(above->at, above->position);
}

static inline bool recover__continues(const struct recover_piece *below, const struct recover_piece *above)
{
	return recover__end_at(below) == above->at && below->ring == above->ring &&
	       recover__end_position(below) == above->position;
}

/* Return: 0, or -ENOMEM. */
int recover__add_piece(struct perf_recovery *recovery, const struct recover_piece *piece);

#endif /* __LIBPERF_INTERNAL_RECOVER_PIECES_H */
