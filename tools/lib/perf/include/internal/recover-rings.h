/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tell the event and the ring of a record by its id.
 */
#ifndef __LIBPERF_INTERNAL_RECOVER_RINGS_H
#define __LIBPERF_INTERNAL_RECOVER_RINGS_H

#include <sys/types.h>
#include <internal/recover-pieces.h>
#include <internal/trailer.h>

/* A record with a trailer and an id [bytes] */
#define RECOVER_MIN_RECORD	(sizeof(struct perf_event_header) + sizeof(u64) + \
				 sizeof(struct perf_event_trailer))

/**
 * recover__set_ids - copy and sort the requested ids
 *
 * Each id is a ring of its own until recover__merge_rings().
 *
 * Return: 0, or -ENOMEM. perf_recovery__delete() frees the arrays in either case.
 */
int recover__set_ids(struct perf_recovery *recovery, const struct perf_recovery_ids *ids);

/** recover__is_header - return whether @header can be that of a kernel record with a trailer */
bool recover__is_header(const struct perf_event_header *header);

/** recover__find_id - return the index of @id, or -1 if it was not requested */
ssize_t recover__find_id(const struct perf_recovery *recovery, u64 id);

/**
 * recover__id_offset - find the id of a record
 * @header:	of the record; recover__is_header() accepts it
 *
 * Return: offset of the id in the record [bytes], or 0 if the record is too small to have one.
 */
size_t recover__id_offset(const struct perf_recovery *recovery,
			  const struct perf_event_header *header);

/** recover__merge_rings - note that the ids with the indices @a and @b belong to one ring */
void recover__merge_rings(struct perf_recovery *recovery, u32 a, u32 b);

/**
 * recover__find_rings - set the ring of each piece, and rebase its position
 *
 * Adds a constant to all positions of a ring, a multiple of RECOVER_PAGE, so that they can be
 * compared although the trailers hold 48 bits only.
 *
 * Return: 0, or -ENOMEM.
 */
int recover__find_rings(struct perf_recovery *recovery);

/**
 * recover__trailer_position - read the trailer that would end at @offset in the image
 * @offset:	at least the size of a trailer [bytes]
 * @ring:	assumed ring of the record
 * @size:	receives the size of the record, unchecked [bytes]
 *
 * Only after recover__find_rings().
 *
 * Return: the rebased position at which the record begins.
 */
u64 recover__trailer_position(const struct perf_recovery *recovery, size_t offset, u32 ring,
			      u16 *size);

#endif /* __LIBPERF_INTERNAL_RECOVER_RINGS_H */
