/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A ring that overwrites itself, as its reader sees it.
 *
 * Positions count the bytes written since the ring was made, whatever its direction: the record
 * that was written behind position p begins there. They run freely and are compared by unsigned
 * difference only.
 *
 *	sized		data_head is a position. The byte at position p is at offset p, modulo the
 *			size: the ring is filled upward.
 *	backward	data_head is a position's negative. The bytes of positions [a, b) are at
 *			offsets [-b, -a), modulo the size: the ring is filled downward. Within a
 *			record addresses go up all the same.
 */
#ifndef __LIBPERF_INTERNAL_OVERWRITE_H
#define __LIBPERF_INTERNAL_OVERWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <internal/overwrite-kind.h>
#include <perf/overwrite.h>

/**
 * struct perf_overwrite
 * @page:	the control page
 * @data:	the data area, mapped once
 * @size:	its length, a power of two [bytes]
 * @fd:		to pause it, or -1
 * @kind:	constant, as all above
 * @reserved:	the kernel publishes data_reserved
 * @taken:	what lies below was taken
 */
struct perf_overwrite {
	struct perf_event_mmap_page	*page;
	const void			*data;
	size_t				 size;
	int				 fd;
	enum perf_overwrite_kind	 kind;
	bool				 reserved;
	u64				 taken;
};

/** perf_overwrite__head - the position up to which all records are complete, (C) */
u64 perf_overwrite__head(const struct perf_overwrite *ring);

/**
 * perf_overwrite__reserved - the position up to which writers may have stored, (F)
 *
 * For what was loaded from the ring before. Only if @ring->reserved.
 */
u64 perf_overwrite__reserved(const struct perf_overwrite *ring);

/**
 * perf_overwrite__peek - a snapshot of what was not taken, that takes nothing
 *
 * Without a grace period: the oldest record may be torn. For who wants to know what a take would find,
 * not to have it. Takes of this ring must not go on meanwhile.
 *
 * Return: the snapshot, to be read, and freed with perf_snapshot__delete(); NULL with errno.
 */
struct perf_snapshot *perf_overwrite__peek(struct perf_overwrite *ring);

/** perf_overwrite__offset - where the bytes of positions [@from, @to) begin in the ring */
static inline size_t perf_overwrite__offset(const struct perf_overwrite *ring, u64 from, u64 to)
{
	return (ring->kind == PERF_OVERWRITE_SIZED ? from : -to) & (ring->size - 1);
}

#endif /* __LIBPERF_INTERNAL_OVERWRITE_H */
