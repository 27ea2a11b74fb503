/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copy new data from one ring into a snapshot.
 *
 * The memory of a snapshot, its shadow, has the size of the ring, and each byte has the same place
 * in it as in the ring. New data therefore replace the oldest data in the shadow:
 *
 *	account_from  start             low             head
 *	  |             |                |               |
 *	  v             v                v               v
 *	  | overwritten |  held before   |  copied now   |
 *	                |<---- at most the size -------->|
 *
 * The shadow is mapped twice in a row, so that its contents are contiguous. They are read in place.
 *
 * Writers continue during a copy, which may therefore mix old and new bytes. This is not prevented
 * but detected afterwards. Writers overwrite the copy from its oldest end:
 *
 *	copy	loads [low, head) from the ring
 *	settle	discards the bytes below @write_limit - size, which may be torn: no writer whose
 *		stores the copy may have seen has passed the position @write_limit
 *
 * @write_limit is data_reserved as loaded after the copy, or data_head as loaded after a grace
 * period. If a copy loses bytes at its old end, the data held before no longer adjoin it, and are
 * dropped too.
 */
#ifndef __LIBPERF_INTERNAL_SNAPSHOT_H
#define __LIBPERF_INTERNAL_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include <perf/overwrite.h>

/**
 * struct perf_snapshot
 * @ring:	the ring that is copied; must outlive the snapshot
 * @shadow:	memory for its contents, mapped twice
 * @account_from: the snapshot accounts for [account_from, head): the part that it does not hold
 *		was overwritten
 * @start:	the snapshot holds [start, head)
 * @head:	position up to which it was taken
 *
 * During a take, before perf_snapshot__settle():
 * @copy_low:	the shadow contains a copy of [copy_low, copy_head)
 * @copy_head:	head of the ring when it was copied
 * @write_limit: position that no writer had passed, see above
 * @paused:	the ring is paused, to be copied again
 *
 * For reading:
 * @was_read:	the shadow was modified in place; the following fields are valid
 * @records:	the records in the shadow
 * @pos:	of perf_snapshot__read_event() in @records [bytes]
 */
struct perf_snapshot {
	struct perf_overwrite		*ring;
	void				*shadow;
	u64				 account_from;
	u64				 start;
	u64				 head;

	u64				 copy_low;
	u64				 copy_head;
	u64				 write_limit;
	bool				 paused;

	bool				 was_read;
	struct perf_snapshot_records	 records;
	size_t				 pos;
};

/**
 * perf_snapshot__copy - copy the new data of the ring
 *
 * The caller must then set @snapshot->write_limit, and settle the copy or copy again.
 */
void perf_snapshot__copy(struct perf_snapshot *snapshot);

/** perf_snapshot__overtaken - return how many bytes of the copy settling would discard */
u64 perf_snapshot__overtaken(const struct perf_snapshot *snapshot);

/** perf_snapshot__settle - keep the intact part of the copy, and mark the ring as taken up to it */
void perf_snapshot__settle(struct perf_snapshot *snapshot);

#endif /* __LIBPERF_INTERNAL_SNAPSHOT_H */
