/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __LIBPERF_INTERNAL_RECOVER_CHECK_H
#define __LIBPERF_INTERNAL_RECOVER_CHECK_H

#include <internal/recover-pieces.h>

/**
 * recover__check_pieces - drop pieces that may be no records, or two halves of different records
 *
 * Sets @recovery->oldest_begin and @recovery->newest_end. Counts dropped pieces as doubtful.
 *
 * Return: 0, or -ENOMEM.
 */
int recover__check_pieces(struct perf_recovery *recovery);

/**
 * recover__is_overwritten - return whether the page of a record's second half has newer contents
 * @offset:	of the second half in the image, where a page begins [bytes]
 * @len:	of the second half [bytes]
 * @ring:	of the record
 * @position:	of the record
 *
 * Return: true if the end of a newer record lies in the second half: then its page and the page of
 * the first half are from different copies of the ring.
 */
bool recover__is_overwritten(const struct perf_recovery *recovery, size_t offset, size_t len,
			     u32 ring, u64 position);

/**
 * recover__drop_seams - drop the record after the newest one of each ring
 *
 * A writer that was stopped there may have replaced the header of that record, and no more. If an
 * older record begins at exactly this place and had the same size, it looks intact. Counts dropped
 * records as doubtful.
 *
 * Cannot detect this where a page begins that does not follow in the image, or if the image
 * contains older copies. Only after recover__check_pieces().
 */
void recover__drop_seams(struct perf_recovery *recovery);

#endif /* __LIBPERF_INTERNAL_RECOVER_CHECK_H */
