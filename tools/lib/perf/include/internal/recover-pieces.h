/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Define the data that all steps of recovering records from a memory image share.
 *
 * The position of a record in the byte stream of its ring gives its offset in a page, and thereby
 * where that page begins in the image, wherever the image has it:
 *
 *	image   ...|  page: 0x7000 of the stream            |  any other page          |...
 *	           | end of a | record | record |begin of a |
 *	             record     0x7058   0x70a8  record, 0x70f8
 *	                       `----- piece ----'
 *
 *	offset in the image - position % 4096 = beginning of the page in the image
 *
 * 1. Scan (recover-scan.c) the image from its end to its beginning. Complete records that follow
 *    each other in one page form a piece. A record that begins in one page and ends in the next
 *    page of the image is a piece of its own.
 * 2. Find the rings (recover-rings.c): ids that occur in one piece belong to one ring, because a
 *    piece is in one page, and a page belongs to one ring. Records that cross pages prove nothing
 *    here: the next page of the image may belong to another ring, at the same position of its own
 *    stream.
 * 3. Check (recover-check.c) records that cross pages, and single records, against the pieces next
 *    to them.
 * 4. Join (recover-join.c) records whose halves lie at the end of one piece's page and at the
 *    beginning of another's.
 * 5. Sort and return (recover.c) by ring and position; of several copies, return one.
 *
 * Pages are assumed to be 4096 bytes large. If they are larger, records that cross a multiple of
 * 4096 bytes are merely checked more than necessary.
 *
 * The image is untrusted: any bytes are handled without harm. Time: O(n log n) in the number of
 * pieces, linear in the number of bytes.
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
#define RECOVER_UNCONFIRMED	((size_t)-2)

/**
 * struct recover_piece - consecutive records in one page, or one record that crosses pages
 * @position:	of the first record in its stream; recover__find_rings() rebases it [bytes]
 * @offset:	of the first record in the image [bytes]
 * @tail_offset: of a joined record: where the image has the part after the page boundary [bytes].
 *		Otherwise RECOVER_WHOLE; during recover__check_pieces() also RECOVER_UNCONFIRMED.
 * @len:	size of all records [bytes]
 * @ring:	index of the id of one record; after recover__find_rings(), of the id that
 *		represents the ring
 */
struct recover_piece {
	u64	position;
	size_t	offset;
	size_t	tail_offset;
	u32	len;
	u32	ring;
};

/**
 * struct perf_recovery
 * @image:	the image, which belongs to the caller
 * @size:	of @image [bytes]
 * @ids:	the requested ids, sorted
 * @nr_ids:	number of @ids
 * @id_pos, @is_pos: as in struct perf_recovery_ids [u64s]
 * @id_parent:	for each id, the index of another id of the same ring, or its own: a union-find
 *		forest, whose roots represent the rings
 * @position_base: for each ring, what was added to the positions of its pieces
 * @oldest_begin: for each ring, where its oldest piece begins [position]
 * @newest_end:	for each ring, where its newest piece ends [position]
 * @pieces:	sorted by @offset after recover__scan(); by ring and position in the end
 * @nr_pieces:	used elements of @pieces
 * @max_pieces:	allocated elements of @pieces
 * @next_piece:	index of the piece that is read next
 * @next_byte:	where in that piece the next record begins [bytes]
 * @returned_end: position up to which records of the current ring were returned
 * @stats:	so far
 * @event:	the record that was returned last
 */
struct perf_recovery {
	const unsigned char	*image;
	size_t			 size;
	u64			*ids;
	size_t			 nr_ids;
	unsigned int		 id_pos;
	unsigned int		 is_pos;
	u32			*id_parent;
	u64			*position_base;
	u64			*oldest_begin;
	u64			*newest_end;
	struct recover_piece	*pieces;
	size_t			 nr_pieces;
	size_t			 max_pieces;
	size_t			 next_piece;
	u32			 next_byte;
	u64			 returned_end;
	struct perf_recovery_stats stats;
	unsigned char		 event[1 << 16] __attribute__((aligned(8)));
};

/* Return the bytes from @position to the end of its page: 1 to RECOVER_PAGE. */
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

static inline size_t recover__end_offset(const struct recover_piece *piece)
{
	return piece->offset + piece->len;
}

/*
 * Return the offset in the image of the page that has @position at @offset. It wraps below 0 if the
 * beginning of the page is cut off.
 */
static inline size_t recover__page_offset(size_t offset, u64 position)
{
	return offset - position % RECOVER_PAGE;
}

/*
 * Return whether @below ends in the page of the image in which @above begins. Other bytes may lie
 * between the two.
 */
static inline bool recover__same_page(const struct recover_piece *below,
				      const struct recover_piece *above)
{
	return recover__end_position(below) % RECOVER_PAGE &&
	       recover__page_offset(recover__end_offset(below), recover__end_position(below)) ==
	       recover__page_offset(above->offset, above->position);
}

/* Return whether @above follows @below directly, in the image and in the stream of one ring. */
static inline bool recover__continues(const struct recover_piece *below,
				      const struct recover_piece *above)
{
	return recover__end_offset(below) == above->offset && below->ring == above->ring &&
	       recover__end_position(below) == above->position;
}

/**
 * recover__add_piece - append a copy of @piece to @recovery->pieces
 *
 * Return: 0, or -ENOMEM.
 */
int recover__add_piece(struct perf_recovery *recovery, const struct recover_piece *piece);

#endif /* __LIBPERF_INTERNAL_RECOVER_PIECES_H */
