/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rings that overwrite themselves, and snapshots of them.
 *
 * A perf ring that is mapped read-only is never full: new records take the place of the oldest.
 * Here is how to read it while it is written, without stopping anybody:
 *
 *	kind = perf_overwrite__probe();
 *	perf_overwrite__config(&attr, kind);		... open the event, map it PROT_READ ...
 *	ring = perf_overwrite__new_mmap(map, kind);
 *	snapshot = perf_snapshot__new(ring);
 *
 *	perf_snapshot__take(&snapshot, 1, NULL);	as often as one likes
 *	while ((event = perf_snapshot__read_event(snapshot)))
 *		...					oldest first
 *
 * What a snapshot promises:
 *
 *  - a record is in it whole, or not at all;
 *  - it holds the newest records, without a hole between its first and its last;
 *  - snapshots that follow each other neither miss nor repeat a record, unless the ring went round
 *    in between; how many bytes were overwritten unread is then known exactly.
 *
 * Objects. A struct perf_overwrite is a ring and the position up to which it was taken. A struct
 * perf_snapshot is memory for what was in it. There can be several snapshots of one ring:
 *
 *	ring ---- take ----> snapshot A (being filled)
 *	                     snapshot B (being read: printed, written to a slow disk ...)
 *
 * Taking into a snapshot that was read since begins it anew. Taking into one that was not read
 * extends it: only what is new is copied, to its place behind what the snapshot holds already, and
 * what thereby no longer fits is counted as overwritten. So who has two snapshots of each ring can
 * always copy at once, however long reading takes, in the memory of two rings.
 *
 * Threads. Taking changes the ring and the snapshot that is taken into; reading changes the
 * snapshot that is read, and nothing else. One thread may take into A while another one reads B.
 * One ring must not be taken by two threads at once, nor one snapshot be read while it is taken
 * into.
 *
 * Barriers, as kernel/events/internal.h has them for rings that overwrite themselves:
 *
 *	kernel					here, perf_snapshot__take()
 *
 *	ADD data_reserved			LOAD data_head
 *	smp_wmb()	   (E)			smp_rmb()	   (C)
 *	STORE data				LOAD data
 *	smp_wmb()	   (B)			smp_rmb()	   (F)
 *	STORE data_head				LOAD data_reserved
 *
 *	B pairs with C, E with F.
 *
 * On kernels that do not publish data_reserved there stands a grace period in the place of F, at
 * whose end every writer that had begun before it has published, and data_head is loaded once more.
 * Nothing is ever handed back to the kernel, hence there is neither A nor D.
 *
 * All this needs 64-bit positions: a 64-bit kernel and program.
 */
#ifndef __LIBPERF_OVERWRITE_H
#define __LIBPERF_OVERWRITE_H

#include <perf/core.h>
#include <linux/types.h>
#include <stddef.h>

struct perf_event_attr;
struct perf_mmap;
union perf_event;

struct perf_overwrite;
struct perf_snapshot;

/**
 * enum perf_overwrite_kind - how the records of a ring can be found
 * @PERF_OVERWRITE_BACKWARD: attr.write_backward: written downward, so that data_head is where the
 *	newest begins. Linux 4.7.
 * @PERF_OVERWRITE_SIZED: PERF_SAMPLE_SIZE_AT_END: each ends with its size and position. See
 *	<linux/perf_event_trailer.h>.
 */
enum perf_overwrite_kind {
	PERF_OVERWRITE_BACKWARD,
	PERF_OVERWRITE_SIZED,
};

/**
 * perf_overwrite__probe - the best kind that this kernel offers
 *
 * Found by trying, with a dummy event of the calling thread, the first time; kept for all later
 * calls. Any thread.
 *
 * Return: enum perf_overwrite_kind, or a negative errno: -EOPNOTSUPP if there is none here (an old
 * kernel, a 32-bit kernel or program), else why the dummy could not be opened or mapped, like
 * -EACCES or -EPERM (kernel.perf_event_paranoid, RLIMIT_MEMLOCK). Failures are not kept.
 */
LIBPERF_API int perf_overwrite__probe(void);

/**
 * perf_overwrite__config - ask for a ring of this kind
 * @attr:	of the event, before it is opened. All events of one ring must have the same kind.
 *
 * Records are returned without trailers. Who passes them on together with the attribute should
 * configure that PERF_OVERWRITE_BACKWARD once the event is open.
 */
LIBPERF_API void perf_overwrite__config(struct perf_event_attr *attr,
					enum perf_overwrite_kind kind);

/**
 * perf_overwrite__new - a ring that was mapped by the caller
 * @base:	the mapping, PROT_READ: the control page, and behind it the data area. It stays the
 *		caller's, and must outlive the ring.
 * @size:	of the data area [bytes], a power of two of pages
 * @fd:		descriptor of the event, to pause the ring with, or -1: see perf_snapshot__take()
 * @kind:	that its events were opened with
 *
 * Nothing of it counts as taken: the first snapshot finds all there is.
 *
 * Return: the ring, to be freed with perf_overwrite__delete() after all its snapshots. NULL with
 * errno ENOMEM; EINVAL if @size is none; EOPNOTSUPP if the control page does not say that the ring
 * is of @kind, or on 32 bits.
 */
LIBPERF_API struct perf_overwrite *perf_overwrite__new(void *base, size_t size, int fd,
						       enum perf_overwrite_kind kind);

/**
 * perf_overwrite__new_mmap - the same of a map of libperf's
 * @map:	from perf_evlist__for_each_mmap(evlist, map, true). Must outlive the ring.
 *
 * Return: as perf_overwrite__new(); NULL with errno EINVAL also if @map is no such map.
 */
LIBPERF_API struct perf_overwrite *perf_overwrite__new_mmap(struct perf_mmap *map,
							    enum perf_overwrite_kind kind);

/** perf_overwrite__delete - free the ring, not its mapping; NULL is nothing */
LIBPERF_API void perf_overwrite__delete(struct perf_overwrite *ring);

/**
 * perf_snapshot__new - memory for what is in @ring, empty
 *
 * As much as the ring has, present at once, so that no copy waits for memory.
 *
 * Return: the snapshot, to be freed with perf_snapshot__delete(). NULL with errno ENOMEM, or
 * EINVAL where caches alias and the ring is smaller than what they need.
 */
LIBPERF_API struct perf_snapshot *perf_snapshot__new(struct perf_overwrite *ring);

/** perf_snapshot__delete - free it; NULL is nothing */
LIBPERF_API void perf_snapshot__delete(struct perf_snapshot *snapshot);

/**
 * enum perf_snapshot_grace - what a copy had to wait for
 * @PERF_SNAPSHOT_GRACE_NONE: nothing: the kernel publishes data_reserved
 * @PERF_SNAPSHOT_GRACE_MEMBARRIER: membarrier(2)
 * @PERF_SNAPSHOT_GRACE_VISIT: membarrier(2) was refused; the thread ran on each CPU once
 * @PERF_SNAPSHOT_GRACE_SLEEP: that was refused, too; it slept far longer than any record takes.
 *	This proves nothing: should a CPU stop for longer, a torn record may be read.
 */
enum perf_snapshot_grace {
	PERF_SNAPSHOT_GRACE_NONE,
	PERF_SNAPSHOT_GRACE_MEMBARRIER,
	PERF_SNAPSHOT_GRACE_VISIT,
	PERF_SNAPSHOT_GRACE_SLEEP,
};

/**
 * struct perf_snapshot_stats - one perf_snapshot__take(), all its rings together
 * @written:	bytes that the kernel wrote since each ring was taken before
 * @given_up:	of those, bytes that were copied, but that writers may have reached meanwhile
 * @copy_ns:	duration of the copies [ns]
 * @grace_ns:	duration of the grace period after them, 0 if none was needed [ns]
 * @paused_ns:	how long rings were paused [ns]
 * @paused:	rings that had to be paused
 * @grace:	what was waited for
 */
struct perf_snapshot_stats {
	__u64				written;
	__u64				given_up;
	__u64				copy_ns;
	__u64				grace_ns;
	__u64				paused_ns;
	int				paused;
	enum perf_snapshot_grace	grace;
};

/**
 * perf_snapshot__take - copy what is new in the rings of these snapshots
 * @snapshots:	one of each ring
 * @nr:		how many
 * @stats:	receives figures, or NULL
 *
 * All rings are copied, one after the other; then, unless the kernel publishes data_reserved, comes
 * one grace period for all of them, 10 ms or so.
 *
 * A ring of which more than half was overtaken meanwhile is small for the rate of events, and
 * trying again would not help. It is paused (PERF_EVENT_IOC_PAUSE_OUTPUT), copied and resumed.
 * Events of that time are lost and counted by the kernel. Without a descriptor the rest of the
 * first copy is kept instead.
 *
 * The affinity of the calling thread may be changed for a time, and is restored.
 */
LIBPERF_API void perf_snapshot__take(struct perf_snapshot **snapshots, int nr,
				     struct perf_snapshot_stats *stats);

/**
 * struct perf_snapshot_records - the records of a snapshot, oldest first, one behind the other
 * @data:	the first; the caller may change them, until the snapshot is taken into or deleted
 * @bytes:	their length; trailers are taken off, header.size is the length without
 * @nr:		how many they are
 * @newest:	the last, or NULL if there is none
 * @overwritten: bytes that were written to the ring since the previous snapshot, and were gone
 *		before they could be kept; exact. Of a sized ring, trailers included.
 * @malformed:	bytes at the old end of what was kept that are no records, hence left out; 0
 *		unless the memory was changed by somebody else than the kernel
 */
struct perf_snapshot_records {
	void			*data;
	size_t			 bytes;
	__u64			 nr;
	union perf_event	*newest;
	__u64			 overwritten;
	size_t			 malformed;
};

/**
 * perf_snapshot__records - all records, to be written at once
 * @records:	receives them
 *
 * The first call finds them, and turns them round or takes their trailers off, in place. From then
 * on the snapshot counts as read. Later calls return the same.
 */
LIBPERF_API void perf_snapshot__records(struct perf_snapshot *snapshot,
					struct perf_snapshot_records *records);

/**
 * perf_snapshot__read_event - the next record, beginning with the oldest
 *
 * Return: the record, valid until the snapshot is taken into or deleted; NULL after the last.
 */
LIBPERF_API union perf_event *perf_snapshot__read_event(struct perf_snapshot *snapshot);

#endif /* __LIBPERF_OVERWRITE_H */
