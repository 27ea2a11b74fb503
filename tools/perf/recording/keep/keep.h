/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keep streamed records in memory, compressed, until a snapshot is asked for (--keep).
 *
 *	readers (ring/)		append records to the block that is filled
 *	     |
 *	     |  full, or a round ends
 *	     v
 *	@blocks   oldest [zzz] [zzz] [zzz] [records] [records] newest
 *	     |       |            ^ the compressor's thread, newest first
 *	     |       +-- dropped when older than the time, when the memory is full, or when the
 *	     |		 live state that they need is too large
 *	     |
 *	     v  keep__hand_over()
 *	@taken ---> keep__write() ---> output
 *
 * Blocks that were handed over stay in the list until keep__end_snapshot() is told that the file is
 * saved. So a snapshot that cannot be written costs no records, unless the memory was needed.
 *
 * Readers never wait for the compressor or the disk. Records that are not compressed yet are kept
 * as they are; when that takes too much memory, the oldest block is dropped, as always. The
 * compressor takes the newest block first: when it is too slow, it does not compress what is
 * dropped next.
 *
 * Invariants:
 *  1. A block begins and ends with whole records, and its compressed form can be restored alone
 *     (pack.h). So a file may begin with any block.
 *  2. Blocks are dropped from the oldest on. So of all records newer than the newest dropped one
 *     (@dropped_last), on all CPUs, none is missing.
 *  3. A block that ends a round (rounds.h) is followed by a mark. Leaving out marks breaks no
 *     promise, nor does leaving out what is before a mark.
 *  4. A record is in one snapshot at most, unless @overlap.
 *
 * Memory: budget.c. With --keep-file, the blocks are in a file that outlives the recorder (box.h),
 * with what they need of the live state (journal.h).
 *
 * Two locks, taken in this order:
 *
 *	@append		of @filling
 *	@lock		of what the readers share with the compressor and the main thread
 */
#ifndef PERF_RECORDING_KEEP_H
#define PERF_RECORDING_KEEP_H

#include <stdbool.h>
#include <linux/types.h>
#include "budget.h"
#include "keep_data.h"

struct output;

/**
 * keep_limit__name - return one word for programs: "none", "time", "memory", "cpu", "lost" or
 * "space"
 */
const char *keep_limit__name(enum keep_limit limit);

/**
 * keep__parse - parse the argument of --keep: a time, a size, or both
 * @arg:	such as "60s,256M"; NULL or "": the defaults
 * @defaults:	the same, for what @arg leaves out (record.keep); may be NULL
 *
 * Return: 0, or -EINVAL after an error message.
 */
int keep__parse(struct keep *keep, const char *arg, const char *defaults);

/**
 * keep__set_file - set the file of --keep-file from the configuration (record.keep-file)
 * @path:	a relative one is in $RUNTIME_DIRECTORY, which systemd sets for services; may be
 *		NULL
 *
 * Return: 0, or -ENOMEM.
 */
int keep__set_file(struct keep *keep, const char *path);

/**
 * keep__init - begin to keep; the choices are set. Does nothing without --keep
 *
 * The thread takes no signals.
 *
 * Return: 0, or a negative errno after an error message.
 */
int keep__init(struct keep *keep);

/**
 * keep__exit - end the thread, free all blocks; harmless if keep__init() failed, or never ran
 *
 * Removes the file of --keep-file, unless @unsaved_end is set.
 */
void keep__exit(struct keep *keep);

/**
 * keep__store_session - store what describes the recording in the file of --keep-file
 * @fd:		a perf.data file without samples (template.h)
 *
 * From then on the file is worth recovering.
 *
 * Return: 0, or a negative errno after an error message.
 */
int keep__store_session(struct keep *keep, int fd);

/**
 * keep__end_round - end the round, as PERF_RECORD_FINISHED_ROUND does in a file; in any thread
 *
 * Return: 0.
 */
int keep__end_round(struct keep *keep);

/**
 * keep__age - drop what is too old by the clock of the side-band; in the main thread
 * @time:	of the newest side-band record [ns]
 *
 * Records of rare events fill no block, and do not age each other.
 */
void keep__age(struct keep *keep, u64 time);

/**
 * keep__drop_oldest - drop the oldest quarter of the kept time, at least; in the main thread
 * @time:	drop no block with records as new as this: the live state forgets nothing newer [ns]
 *
 * The live state may then forget as much. Not while a snapshot is written.
 *
 * Return: is anything dropped?
 */
bool keep__drop_oldest(struct keep *keep, u64 time);

/**
 * keep__save_part - between two blocks of keep__write(), in the same thread: what was written so
 * far is in a file that is complete
 *
 * Later files do not repeat this part, even if the rest of the snapshot cannot be saved.
 */
void keep__save_part(struct keep *keep);

/** keep__request - drop nothing because of its age until keep__hand_over(); in any thread */
void keep__request(struct keep *keep);

/**
 * keep__hand_over - take what is kept for a snapshot; in the main thread
 * @stats:	receives what the snapshot has
 *
 * Records that are appended from now on belong to the next snapshot. Ends with
 * keep__end_snapshot().
 *
 * Return: 0, or -ENOMEM: then nothing is taken.
 */
int keep__hand_over(struct keep *keep, struct keep_stats *stats);

/**
 * keep_stats__lose - records older than @time were lost before they could be kept [ns]
 */
void keep_stats__lose(struct keep_stats *stats, u64 time);

/**
 * struct keep_writer - writes what comes between the blocks of a snapshot
 * @before_block: called before each block. @first: time of its oldest record [ns], or 0
 * @before_mark: called where a round has ended. @time: of the newest record so far [ns]. Sets
 *		@complete if no other record that is written later is older than that: then a
 *		PERF_RECORD_FINISHED_ROUND follows.
 * @after_block: called after each block that was written. @records: that were written so far, of
 *		@all; may be NULL
 * @arg:	their argument; the first two return 0 or a negative errno
 */
struct keep_writer {
	int	(*before_block)(void *arg, u64 first);
	int	(*before_mark)(void *arg, u64 time, bool *complete);
	void	(*after_block)(void *arg, u64 records, u64 all);
	void	*arg;
};

/**
 * keep__write - write what was handed over, in the same thread
 * @stats:	of keep__hand_over(); receives @compressed_bytes
 *
 * When the memory is full, blocks that were copied to the output are dropped first.
 *
 * Return: 0, or a negative errno: then the rest is not written.
 */
int keep__write(struct keep *keep, struct output *output, const struct keep_writer *writer,
		struct keep_stats *stats);

/**
 * keep__end_snapshot - after keep__hand_over(): free what was handed over
 * @saved:	the snapshot is on disk. If not, its records are kept for the next snapshot, as far
 *		as time and memory allow.
 */
void keep__end_snapshot(struct keep *keep, bool saved);

/**
 * keep__limit_size - drop the oldest blocks until the others have no more than @max_bytes; after
 * the readers have stopped, and after keep__end_snapshot()
 * @max_bytes:	their size in a file [bytes]
 *
 * Return: is anything left?
 */
bool keep__limit_size(struct keep *keep, u64 max_bytes);

/**
 * keep__take_stock - compress all that is kept, and count it; in the main thread, after the readers
 * have stopped
 * @stats:	what a snapshot would have. @bytes includes the tasks that it refers to.
 *
 * Return: as keep__hand_over().
 */
int keep__take_stock(struct keep *keep, struct keep_stats *stats);

/**
 * keep__synced - all streamed rings were read; later records are newer than @time [ns]
 */
void keep__synced(struct keep *keep, u64 time);

/**
 * keep__horizon - what is written later is newer than this time [ns]; in the main thread
 *
 * 0 before keep__synced().
 */
u64 keep__horizon(struct keep *keep);

#endif
