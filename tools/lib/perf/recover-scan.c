// SPDX-License-Identifier: GPL-2.0-only
/* Scan the image from its end for records, by their trailers, and collect them in pieces. */
#include <errno.h>
#include <string.h>
#include <internal/recover-rings.h>
#include <internal/recover-scan.h>
#include <internal/trailer.h>

#define TRAILER		sizeof(struct perf_event_trailer)

/*
 * Find the record that ends at offset @end of the image, complete and of a requested event.
 * Return false if there is none; otherwise fill @record.
 */
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
		.position = perf_trailer__offset(&trailer), .offset = end - size,
		.tail_offset = RECOVER_WHOLE, .len = size, .ring = index,
	};
	return true;
}

/* Return whether @record lies directly before @piece in the same page. */
static bool precedes(const struct recover_piece *record, const struct recover_piece *piece)
{
	u64 end = (record->position + record->len) & PERF_TRAILER_OFFSET_MASK;

	return record->offset + record->len == piece->offset && end == piece->position &&
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
 * Scan backward, the direction that trailers are made for, to skip the contents of each record.
 * Where no record ends, go on byte by byte: the image may begin and end at any byte.
 */
int recover__scan(struct perf_recovery *recovery)
{
	size_t end = recovery->size;

	while (end >= RECOVER_MIN_RECORD) {
		struct recover_piece *piece = recovery->nr_pieces ?
					      &recovery->pieces[recovery->nr_pieces - 1] : NULL;
		struct recover_piece record;

		if (!find_record(recovery, end, &record)) {
			end--;
			continue;
		}
		if (piece && precedes(&record, piece)) {
			recover__merge_rings(recovery, record.ring, piece->ring);
			piece->position = record.position;
			piece->offset = record.offset;
			piece->len += record.len;
		} else if (recover__add_piece(recovery, &record)) {
			return -ENOMEM;
		}
		end = record.offset;
	}
	reverse(recovery->pieces, recovery->nr_pieces);
	return 0;
}
