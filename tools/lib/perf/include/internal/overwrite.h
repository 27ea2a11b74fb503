/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read the control page of a ring in overwrite mode.
 *
 * A position counts the bytes written since the ring was created, in either direction: a record
 * that is written after position p begins there. Positions are free-running and are compared only
 * by unsigned difference. Heads of a 32-bit kernel are extended to 64 bits: less than 4 GB must be
 * written between two takes.
 *
 *	sized		data_head is a position. The byte at position p is at offset p modulo the
 *			size: the kernel fills the ring upward.
 *	backward	data_head is a negated position. The bytes of positions [a, b) are at
 *			offsets [-b, -a) modulo the size: the kernel fills the ring downward. Within
 *			a record, addresses go up nevertheless.
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
 * @page:	the control page, which belongs to the caller
 * @data:	the data area, mapped once; belongs to the caller
 * @size:	of the data area, a power of two [bytes]
 * @fd:		file descriptor to pause the ring with, or -1
 * @kind:	how records are found
 * @has_data_reserved: the kernel publishes data_reserved
 * @taken:	position up to which snapshots were taken; all other fields are constant
 */
struct perf_overwrite {
	struct perf_event_mmap_page	*page;
	const void			*data;
	size_t				 size;
	int				 fd;
	enum perf_overwrite_kind	 kind;
	bool				 has_data_reserved;
	u64				 taken;
};

/** perf_overwrite__head - return the position up to which all records are complete, (C) */
u64 perf_overwrite__head(const struct perf_overwrite *ring);

/**
 * perf_overwrite__reserved - return the position up to which writers may have stored data, (F)
 *
 * Add up the words of data_reserved. Valid for all data that was loaded from the ring before. Only
 * if @ring->has_data_reserved.
 */
u64 perf_overwrite__reserved(const struct perf_overwrite *ring);

/**
 * perf_overwrite__write_limit - return the position that no writer has passed so far
 *
 * Valid for all data that was loaded from the ring before: data_reserved, (F). If the kernel does
 * not publish it, data_head, (C): then only if a grace period has passed since the data were
 * loaded.
 */
static inline u64 perf_overwrite__write_limit(const struct perf_overwrite *ring)
{
	return ring->has_data_reserved ? perf_overwrite__reserved(ring) :	/* (F) */
					 perf_overwrite__head(ring);		/* (C) */
}

/**
 * perf_overwrite__peek - return a snapshot of the data that were not taken yet, without taking them
 *
 * Does not wait for a grace period, so the oldest record may be torn: use it to learn what a take
 * would find, not to keep records. Where another thread may take meanwhile, @ring is a copy of its
 * description, made when that thread did not take; the copy must outlive the snapshot.
 *
 * Return: the snapshot, to be freed with perf_snapshot__delete(). NULL with errno set as by
 * perf_snapshot__new().
 */
struct perf_snapshot *perf_overwrite__peek(struct perf_overwrite *ring);

/** perf_overwrite__offset - return the offset in the ring of the bytes at positions [@from, @to) */
static inline size_t perf_overwrite__offset(const struct perf_overwrite *ring, u64 from, u64 to)
{
	return (ring->kind == PERF_OVERWRITE_SIZED ? from : -to) & (ring->size - 1);
}

#endif /* __LIBPERF_INTERNAL_OVERWRITE_H */
