/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recover records from an image of memory, post-mortem.
 *
 * Each record of an event with PERF_SAMPLE_SIZE_AT_END ends with a trailer that holds the size and
 * the position of the record, see <linux/perf_event_trailer.h>. The trailers alone are enough to
 * find the records; no control page is needed. The image may be
 *
 *  - a dump of a machine's memory, where the pages of a ring lie in any order,
 *  - a core dump of the program that had mapped the ring, or
 *  - a copy of the ring,
 *
 * complete or truncated, with any other data before, between and after the rings. It must come
 * from a machine of the same byte order.
 *
 *	recovery = perf_recovery__new(image, size, &ids);
 *	while ((event = perf_recovery__read_event(recovery)))
 *		...					ring by ring, oldest first
 *
 * Returned records:
 *
 *  - The trailer and the header of a record agree, it carries one of the requested event ids, and
 *    its position continues that of at least one neighbour. These conditions exclude other rings
 *    and rings of earlier sessions.
 *  - Each record is returned once, however many copies of it the image contains (for example a
 *    snapshot of the ring as well as the ring).
 *  - A record that spans several pages is returned if its parts belong together: the trailers
 *    before and after it have the right positions and are of the same ring, and no copy of one of
 *    its parts has different contents. Event ids that were seen next to each other identify a ring.
 *
 * Records that are not returned:
 *
 *  - The record right after the newest one of a ring, if it lies exactly where the next record
 *    would have been written: a writer that was stopped there may have replaced its header already.
 *  - A record that spans several pages, if the record before it is not in the image.
 *  - If the pages are out of order: a record that spans more than two pages, and records on a page
 *    that contains no complete record.
 *
 * A returned record may consist of two halves that do not belong together, although it looks
 * intact:
 *
 *  - Where the copy and the writer met, if the image was made while the ring was being written.
 *    Stop the machine, or disable the events, before you make an image.
 *  - If the pages are out of order and the record spans more than two of them: the pages between
 *    its first and its last page have no trailers, and are accepted if the first and the last page
 *    have the right distance.
 *  - If the pages are out of order, the image also contains older copies of the ring, one of these
 *    copies ends exactly where such a record begins, in place of an older record of the same size,
 *    and the page itself is missing from the image.
 *  - If the image contains a part of a ring that begins within a page, where such a record ends,
 *    and other data are before this part: they are taken for the beginning of the page.
 *
 * Threads. Functions may be called in any thread, but one perf_recovery must not be used by two
 * threads at once. None of them is safe in a signal handler.
 */
#ifndef __LIBPERF_RECOVER_H
#define __LIBPERF_RECOVER_H

#include <perf/core.h>
#include <linux/types.h>
#include <stddef.h>

union perf_event;

struct perf_recovery;

/**
 * struct perf_recovery_ids - how to tell the event of a record
 * @ids:	ids of the requested events (PERF_EVENT_IOC_ID), in any order; at least one
 * @nr:		number of @ids
 * @id_pos:	position of the id in a PERF_RECORD_SAMPLE, counted from the end of the header: 0
 *		with PERF_SAMPLE_IDENTIFIER [u64s]
 * @is_pos:	position of the id in any other record, counted back from the beginning of the
 *		trailer: 1 with PERF_SAMPLE_IDENTIFIER [u64s]
 *
 * All events must have been opened with sample_id_all.
 */
struct perf_recovery_ids {
	const __u64	*ids;
	size_t		 nr;
	unsigned int	 id_pos;
	unsigned int	 is_pos;
};

/**
 * perf_recovery__new - find the records in an image
 * @image:	any bytes. The caller keeps ownership; they must outlive the recovery, unmodified.
 * @size:	size of @image [bytes]
 * @ids:	the requested events. Copied: the caller may free them when the call returns.
 *
 * Takes a few seconds per GB of image, and about 100 bytes of memory per page of the rings that it
 * finds. An image that was crafted for the purpose can make it allocate several times its size.
 *
 * Return: the recovery, to be freed with perf_recovery__delete(). NULL with errno set to ENOMEM, or
 * to EINVAL if @ids is empty or has more than 2^32 - 1 ids.
 */
LIBPERF_API struct perf_recovery *perf_recovery__new(const void *image, size_t size,
						     const struct perf_recovery_ids *ids);

/**
 * perf_recovery__delete - free a recovery, but not its image
 * @recovery:	the recovery, or NULL
 */
LIBPERF_API void perf_recovery__delete(struct perf_recovery *recovery);

/**
 * perf_recovery__read_event - return the next record
 * @recovery:	from perf_recovery__new()
 *
 * Returns one ring after the other, each from its oldest to its newest record, without trailers.
 *
 * Return: the record, which belongs to @recovery and is valid until the next call; NULL after the
 * last record.
 */
LIBPERF_API union perf_event *perf_recovery__read_event(struct perf_recovery *recovery);

/**
 * struct perf_recovery_stats - what perf_recovery__read_event() returned and left out so far
 * @records:	records returned
 * @rings:	rings that they came from. Too high if events of one ring were never seen next to
 *		each other.
 * @gaps:	places within a ring where records are missing between two returned records
 * @copies:	records left out because another copy of them had been returned
 * @doubtful:	possible records left out because no neighbour confirms them, because it is not
 *		certain that their pages belong together, or because a writer may have been about to
 *		replace them
 */
struct perf_recovery_stats {
	__u64	records;
	__u64	rings;
	__u64	gaps;
	__u64	copies;
	__u64	doubtful;
};

/**
 * perf_recovery__stats - return the figures of a recovery
 * @recovery:	from perf_recovery__new()
 * @stats:	receives the figures. @doubtful is final from the beginning; the others are when
 *		perf_recovery__read_event() has returned NULL.
 */
LIBPERF_API void perf_recovery__stats(const struct perf_recovery *recovery,
				      struct perf_recovery_stats *stats);

#endif /* __LIBPERF_RECOVER_H */
