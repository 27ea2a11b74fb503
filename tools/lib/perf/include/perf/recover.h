/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Post-mortem: records out of an image of memory.
 *
 * Rings of events with PERF_SAMPLE_SIZE_AT_END can be read without their control pages, by the
 * trailers of the records alone: see <linux/perf_event_trailer.h>. The image may be a dump of a
 * machine's memory, in which the pages of a ring lie in any order, a core of the program that had it
 * mapped, or a copy of the ring; whole or cut, with anything before, between and behind. It must
 * be of a machine of the same byte order.
 *
 *	recovery = perf_recovery__new(image, size, &ids);
 *	while ((event = perf_recovery__read_event(recovery)))
 *		...					ring by ring, oldest first
 *
 * What is returned:
 *
 *  - A record whose trailer and header agree, that carries an id of an event one asked for, and that lies
 *    between its neighbours by its position, or beside one of them. Other rings, and those of
 *    sessions before, are thereby passed over.
 *  - Each once, however many copies of it the image has (a snapshot of the ring beside the ring).
 *  - One that lies on several pages if its parts belong together: the stamps before and behind it have the
 *    right positions, and are of the same ring, which is known by ids that were seen side by side;
 *    and no copy of one of its parts says otherwise.
 *
 * What is not:
 *
 *  - The record right behind the newest one of a ring, if it has just the place that a record to come
 *    would have: a writer that was stopped there may have replaced its header already.
 *  - One that lies on several pages if the one before it is not in the image.
 *  - Where pages are not in their order: a record on more than two of them, and what lies on a page
 *    on which no record is whole.
 *
 * A record may be of two halves, though it looks whole:
 *
 *  - Where the copy and the writer met, if the image was made while the ring was being written. Stop the
 *    machine, or disable the events, before.
 *  - If pages are not in their order, and it has more than two: those between the first and the last have
 *    no stamps, and are taken if these lie at the right distance.
 *  - If pages are not in their order, there are older copies of the ring besides, and one of them ends just
 *    where such a record begins, in the place of an older one of the same length, while the page
 *    itself is gone.
 */
#ifndef __LIBPERF_RECOVER_H
#define __LIBPERF_RECOVER_H

#include <perf/core.h>
#include <linux/types.h>
#include <stddef.h>

union perf_event;

struct perf_recovery;

/**
 * struct perf_recovery_ids - how to tell which event a record is of
 * @ids:	of the events that are looked for, in any order; at least one
 * @nr:		how many
 * @id_pos:	u64s between the header of a PERF_RECORD_SAMPLE and its id: 0 with
 *		PERF_SAMPLE_IDENTIFIER
 * @is_pos:	u64s from the id to the end of another record, trailer not counted: 1 with
 *		PERF_SAMPLE_IDENTIFIER. All events have sample_id_all.
 */
struct perf_recovery_ids {
	const __u64	*ids;
	size_t		 nr;
	unsigned int	 id_pos;
	unsigned int	 is_pos;
};

/**
 * perf_recovery__new - find the records in an image
 * @image:	any bytes. They stay the caller's, and must remain as they are.
 * @size:	how many
 * @ids:	not needed any more when this returns
 *
 * Takes some seconds for a GB. Memory: some 100 bytes for each page of a ring that is
 * found; several times the size of the image at worst, if it is made for that.
 *
 * Return: the recovery, to be freed with perf_recovery__delete(). NULL with errno ENOMEM, or EINVAL
 * if there are no @ids.
 */
LIBPERF_API struct perf_recovery *perf_recovery__new(const void *image, size_t size,
						     const struct perf_recovery_ids *ids);

/** perf_recovery__delete - free it; NULL is nothing */
LIBPERF_API void perf_recovery__delete(struct perf_recovery *recovery);

/**
 * perf_recovery__read_event - the next record
 *
 * Rings follow each other; within each come the oldest records first. Trailers are taken off.
 *
 * Return: the record, valid until the next call; NULL after the last.
 */
LIBPERF_API union perf_event *perf_recovery__read_event(struct perf_recovery *recovery);

/**
 * struct perf_recovery_stats - what perf_recovery__read_event() has returned so far, and has not
 * @records:	returned
 * @rings:	they were of so many; more than there were if the events of a ring were never seen
 *		side by side
 * @gaps:	places within a ring where records are missing between two that were returned
 * @copies:	records passed over, because they were returned before
 * @doubtful:	what looks like a record, and is alone; or lies on several pages that are not certain to
 *		belong together; or may have been about to be replaced
 */
struct perf_recovery_stats {
	__u64	records;
	__u64	rings;
	__u64	gaps;
	__u64	copies;
	__u64	doubtful;
};

LIBPERF_API void perf_recovery__stats(const struct perf_recovery *recovery,
				      struct perf_recovery_stats *stats);

#endif /* __LIBPERF_RECOVER_H */
