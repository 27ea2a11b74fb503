// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <internal/recover.h>
#include <internal/trailer.h>
#include <perf/event.h>

#define TRAILER		sizeof(struct perf_event_trailer)
#define LEAST		(sizeof(struct perf_event_header) + sizeof(u64) + TRAILER)

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
 * Records
 */

/* A record of one of the events, whole in the image, that ends at @end. */
static bool find_record(const struct perf_recovery *recovery, size_t end,
			struct recover_piece *record)
{
	const unsigned char *image = recovery->image;
	struct perf_event_trailer trailer;
	struct perf_event_header header;
	size_t size, offset;
	ssize_t index;
	u64 id;

	memcpy(&trailer, image + end - TRAILER, TRAILER);
	if ((trailer.size | trailer.offset_lo) % sizeof(u64))
		return false;
	size = perf_trailer__read(image + end, end, &trailer);
	if (!size)
		return false;
	memcpy(&header, image + end - size, sizeof(header));
	offset = recover__is_header(&header) ? recover__id_offset(recovery, &header) : 0;
	if (!offset)
		return false;
	memcpy(&id, image + end - size + offset, sizeof(id));
	index = recover__find_id(recovery, id);
	if (index < 0)
		return false;
	*record = (struct recover_piece){
		.position = perf_trailer__offset(&trailer), .at = end - size,
		.rest = RECOVER_WHOLE, .len = size, .ring = index,
	};
	return true;
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

static void unite(u32 *same, u32 a, u32 b)
{
	same[find_ring(same, a)] = find_ring(same, b);
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

/*
 * Pieces
 */

int recover__add_piece(struct perf_recovery *recovery, const struct recover_piece *piece)
{
	if (recovery->nr_pieces == recovery->max_pieces) {
		size_t max = recovery->max_pieces + recovery->max_pieces / 2 + 64;
		struct recover_piece *pieces = realloc(recovery->pieces, max * sizeof(*pieces));

		if (!pieces)
			return -ENOMEM;
		recovery->pieces = pieces;
		recovery->max_pieces = max;
	}
	recovery->pieces[recovery->nr_pieces++] = *piece;
	return 0;
}

/* Whether @record lies right before @piece, in the same page. */
static bool precedes(const struct recover_piece *record, const struct recover_piece *piece)
{
	u64 end = (record->position + record->len) & PERF_TRAILER_OFFSET_MASK;

	return record->at + record->len == piece->at && end == piece->position &&
	       end % RECOVER_PAGE && !recover__crosses(record->position, record->len) &&
	       !recover__crosses(piece->position, piece->len);
}

static void reverse(struct recover_piece *pieces, size_t nr)
{
	size_t i;

	for (i = 0; i < nr / 2; i++) {
		struct recover_piece piece = pieces[i];

		pieces[i] = pieces[nr - 1 - i];
		pieces[nr - 1 - i] = piece;
	}
}

/*
 * Backward, as trailers are made for: what is in a record is thereby never looked into. Byte by byte
 * where there is none: an image may be cut anywhere.
 */
int recover__scan(struct perf_recovery *recovery)
{
	size_t end = recovery->size;

	while (end >= LEAST) {
		struct recover_piece *piece = recovery->nr_pieces ?
					      &recovery->pieces[recovery->nr_pieces - 1] : NULL;
		struct recover_piece record;

		if (!find_record(recovery, end, &record)) {
			end--;
			continue;
		}
		if (piece && precedes(&record, piece)) {
			unite(recovery->same, record.ring, piece->ring);
			piece->position = record.position;
			piece->at = record.at;
			piece->len += record.len;
		} else if (recover__add_piece(recovery, &record)) {
			return -ENOMEM;
		}
		end = record.at;
	}
	reverse(recovery->pieces, recovery->nr_pieces);
	return 0;
}
