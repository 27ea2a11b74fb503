/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Take snapshots of perf ring buffers that run in overwrite mode.
 *
 * A perf ring that is mapped read-only never fills up: new records overwrite the oldest. This
 * interface reads such a ring while the kernel writes to it, without stopping any writer:
 *
 *	kind = perf_overwrite__probe();
 *	perf_overwrite__config(&attr, kind);		... open the event, map it PROT_READ ...
 *	ring = perf_overwrite__new_mmap(map, kind);
 *	snapshot = perf_snapshot__new(ring);
 *
 *	perf_snapshot__take(&snapshot, 1, NULL);	any number of times
 *	while ((event = perf_snapshot__read_event(snapshot)))
 *		...					oldest first
 *
 * Guarantees:
 *
 *  - A record is in a snapshot completely or not at all.
 *  - A snapshot holds the newest records, without a gap between its first and its last record.
 *  - Consecutive snapshots neither miss nor repeat a record, unless the ring wrapped in between and
 *    overwrote records that were not read. The number of overwritten bytes is then known exactly.
 *
 * Objects. struct perf_overwrite is a ring and the position up to which snapshots were taken of it.
 * struct perf_snapshot is memory for the contents of a ring. A ring may have several snapshots:
 *
 *	ring ---- take ----> snapshot A (being filled)
 *	                     snapshot B (being read: printed, written to a slow disk ...)
 *
 * Taking into a snapshot that has been read starts it afresh. Taking into a snapshot that has not
 * been read extends it: only new data is copied, after the data that the snapshot already holds,
 * and old data that no longer fits is counted as overwritten. A program with two snapshots of each
 * ring can therefore always copy at once, however long reading takes, in the memory of two rings.
 *
 * Threads. perf_snapshot__take() modifies the ring and the snapshot. Reading modifies only the
 * snapshot. One thread may take into snapshot A while another thread reads snapshot B. The caller
 * must not take from one ring in two threads at once, nor read a snapshot while taking into it.
 * Functions are safe to call in any thread if they have no common ring or snapshot; none of them
 * is safe in a signal handler.
 *
 * Barriers, as kernel/events/internal.h defines them for rings in overwrite mode:
 *
 *	kernel					user: perf_snapshot__take()
 *
 *	STORE data_reserved[depth]		LOAD data_head
 *	smp_wmb()	   (E)			smp_rmb()	   (C)
 *	STORE data				LOAD data
 *	smp_wmb()	   (B)			smp_rmb()	   (F)
 *	STORE data_head				LOAD data_reserved[0..3]
 *
 *	B pairs with C, E with F.
 *
 * On a kernel that does not publish data_reserved, a grace period takes the place of F: when it
 * ends, every writer that had begun before it has published data_head, which is loaded once more.
 * A reader in overwrite mode returns no space to the kernel, so there is neither A nor D.
 *
 * All this needs 64-bit positions: a 64-bit kernel and a 64-bit program.
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
 * enum perf_overwrite_kind - how a reader finds the records of a ring
 * @PERF_OVERWRITE_BACKWARD: attr.write_backward: the kernel writes downward, so that data_head is
 *	the beginning of the newest record. Since Linux 4.7.
 * @PERF_OVERWRITE_SIZED: PERF_SAMPLE_SIZE_AT_END: each record ends with a trailer that holds its
 *	size and position. See <linux/perf_event_trailer.h>.
 */
enum perf_overwrite_kind {
	PERF_OVERWRITE_BACKWARD,
	PERF_OVERWRITE_SIZED,
};

/**
 * perf_overwrite__probe - find the best kind that the kernel supports
 *
 * The first successful call opens dummy events of the calling thread; its result is cached for all
 * later calls. Failures are not cached. May be called in any thread.
 *
 * Return: an enum perf_overwrite_kind, or a negative errno: -EOPNOTSUPP if no kind is supported (an
 * old kernel, a 32-bit kernel or program); otherwise the error of perf_event_open(2) or mmap(2) for
 * the dummy event, such as -EACCES or -EPERM (kernel.perf_event_paranoid, RLIMIT_MEMLOCK).
 */
LIBPERF_API int perf_overwrite__probe(void);

/**
 * perf_overwrite__config - set the attribute of an event for a ring of @kind
 * @attr:	of the event, before it is opened. All events of one ring must have the same kind.
 * @kind:	from perf_overwrite__probe()
 *
 * Snapshots return records without trailers. A program that passes records on together with the
 * attribute should configure that attribute as PERF_OVERWRITE_BACKWARD once the event is open.
 */
LIBPERF_API void perf_overwrite__config(struct perf_event_attr *attr,
					enum perf_overwrite_kind kind);

/**
 * perf_overwrite__new - create a reader for a ring that the caller has mapped
 * @base:	the mapping, PROT_READ: the control page, followed by the data area. The caller
 *		keeps ownership; it must outlive the ring.
 * @size:	size of the data area [bytes]: a power of two, at least one page
 * @fd:		file descriptor of the event, to pause the ring with, or -1: see
 *		perf_snapshot__take(). The caller keeps ownership; it must outlive the ring.
 * @kind:	the kind that the ring's events were opened with
 *
 * Nothing counts as taken yet: the first snapshot holds everything that is in the ring.
 *
 * Return: the ring, to be freed with perf_overwrite__delete() after all its snapshots. NULL with
 * errno set to ENOMEM; EINVAL if @size is invalid; EOPNOTSUPP if the control page does not belong
 * to a ring of @kind, or in a 32-bit program.
 */
LIBPERF_API struct perf_overwrite *perf_overwrite__new(void *base, size_t size, int fd,
						       enum perf_overwrite_kind kind);

/**
 * perf_overwrite__new_mmap - create a reader for a ring that libperf has mapped
 * @map:	from perf_evlist__for_each_mmap(evlist, map, true). It must outlive the ring.
 * @kind:	the kind that the ring's events were opened with
 *
 * Return: as perf_overwrite__new(); also NULL with errno set to EINVAL if @map is not mapped, or
 * not mapped read-only.
 */
LIBPERF_API struct perf_overwrite *perf_overwrite__new_mmap(struct perf_mmap *map,
							    enum perf_overwrite_kind kind);

/**
 * perf_overwrite__delete - free a ring, but not its mapping or file descriptor
 * @ring:	the ring, which has no snapshots any more, or NULL
 */
LIBPERF_API void perf_overwrite__delete(struct perf_overwrite *ring);

/**
 * perf_snapshot__new - allocate an empty snapshot for the contents of a ring
 * @ring:	must outlive the snapshot
 *
 * Allocates as much memory as the ring has, and populates it, so that no copy faults pages in.
 *
 * Return: the snapshot, to be freed with perf_snapshot__delete(). NULL with errno set to ENOMEM, or
 * to EINVAL on machines with aliasing caches if the ring is smaller than their alignment.
 */
LIBPERF_API struct perf_snapshot *perf_snapshot__new(struct perf_overwrite *ring);

/**
 * perf_snapshot__delete - free a snapshot and its records
 * @snapshot:	the snapshot, or NULL
 */
LIBPERF_API void perf_snapshot__delete(struct perf_snapshot *snapshot);

/**
 * enum perf_snapshot_grace - what perf_snapshot__take() waited for after a copy
 * @PERF_SNAPSHOT_GRACE_NONE: nothing: the kernel publishes data_reserved
 * @PERF_SNAPSHOT_GRACE_MEMBARRIER: membarrier(2)
 * @PERF_SNAPSHOT_GRACE_VISIT: membarrier(2) was refused; the thread ran on each CPU once
 * @PERF_SNAPSHOT_GRACE_SLEEP: running on each CPU was refused, too; the thread slept far longer
 *	than writing a record takes. This proves nothing: if a CPU stops for longer in the middle of
 *	a record, the snapshot may contain a torn record.
 */
enum perf_snapshot_grace {
	PERF_SNAPSHOT_GRACE_NONE,
	PERF_SNAPSHOT_GRACE_MEMBARRIER,
	PERF_SNAPSHOT_GRACE_VISIT,
	PERF_SNAPSHOT_GRACE_SLEEP,
};

/**
 * struct perf_snapshot_stats - figures of one perf_snapshot__take(), summed over its rings
 * @written:	bytes that the kernel wrote since the previous take from each ring [bytes]
 * @discarded:	of those, bytes that were copied, but that writers may have overwritten
 *		during the copy [bytes]
 * @copy_ns:	duration of the copies [ns]
 * @grace_ns:	duration of the grace period after them, 0 if none was needed [ns]
 * @paused_ns:	how long rings were paused [ns]
 * @paused:	number of rings that were paused
 * @grace:	what the call waited for
 */
struct perf_snapshot_stats {
	__u64				written;
	__u64				discarded;
	__u64				copy_ns;
	__u64				grace_ns;
	__u64				paused_ns;
	int				paused;
	enum perf_snapshot_grace	grace;
};

/**
 * perf_snapshot__take - copy new data from the rings of these snapshots
 * @snapshots:	snapshots of different rings
 * @nr:		number of @snapshots
 * @stats:	receives figures, or NULL
 *
 * Copies all rings, one after the other. Then, unless the kernel publishes data_reserved, waits for
 * one grace period for all of them, about 10 ms.
 *
 * If writers have overwritten more than half of a copy in the meantime, the ring is too small for
 * its rate of events, and trying again would not help: the call pauses the ring
 * (PERF_EVENT_IOC_PAUSE_OUTPUT), copies it and resumes it. The kernel counts events of that time as
 * lost. Without a file descriptor, or if the kernel refuses to pause the ring, the intact rest of
 * the first copy is kept instead.
 *
 * May change the affinity of the calling thread temporarily; restores it before it returns.
 */
LIBPERF_API void perf_snapshot__take(struct perf_snapshot **snapshots, int nr,
				     struct perf_snapshot_stats *stats);

/**
 * struct perf_snapshot_records - the records of a snapshot, oldest first, without gaps
 * @data:	the first record. The memory belongs to the snapshot. The caller may modify it,
 *		until the snapshot is taken into or deleted.
 * @bytes:	size of all records; they have no trailers, and header.size does not count them
 *		[bytes]
 * @nr:		number of records
 * @newest:	the last record, or NULL if there is none
 * @overwritten: bytes that were written to the ring after the previous snapshot and overwritten
 *		before they could be kept. Exact; includes trailers in a sized ring [bytes]
 * @malformed:	bytes at the old end of the kept data that contain no valid records and were left
 *		out. 0 unless something other than the kernel modified the memory [bytes]
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
 * perf_snapshot__records - return all records, for example to write them at once
 * @snapshot:	counts as read from now on
 * @records:	receives the records
 *
 * The first call after a take finds the records, and reverses their order or strips their trailers,
 * in place. Later calls return the same records. Does not fail.
 */
LIBPERF_API void perf_snapshot__records(struct perf_snapshot *snapshot,
					struct perf_snapshot_records *records);

/**
 * perf_snapshot__read_event - return the next record, starting with the oldest
 * @snapshot:	counts as read from now on
 *
 * Return: the record, which belongs to the snapshot and is valid until the snapshot is taken into
 * or deleted; NULL after the last record.
 */
LIBPERF_API union perf_event *perf_snapshot__read_event(struct perf_snapshot *snapshot);

#endif /* __LIBPERF_OVERWRITE_H */
