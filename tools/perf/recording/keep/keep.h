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
 *  1. A block begins and ends with whole records, and its compressed form is a zstd frame of its
 *     own. So a file may begin with any block.
 *  2. Blocks are dropped from the oldest on. So of all records newer than the newest dropped one
 *     (@dropped_last), on all CPUs, none is missing.
 *  3. A block that ends a round (rounds.h) is followed by a mark. Leaving out marks breaks no
 *     promise, nor does leaving out what is before a mark.
 *  4. A record is in one snapshot at most, unless @overlap.
 *
 * Memory: budget.c.
 *
 * Two locks, taken in this order:
 *
 *	@append		of @filling
 *	@lock		of what the readers share with the compressor and the main thread
 */
#ifndef PERF_RECORDING_KEEP_H
#define PERF_RECORDING_KEEP_H

#include <pthread.h>
#include <stdbool.h>
#include <linux/list.h>
#include <linux/types.h>
#include "recording/ring/sink.h"
#include "util/compress.h"
#include "block.h"

struct output;

#define KEEP_DEFAULT_NS		(60ULL * 1000000000)
#define KEEP_DEFAULT_BYTES	(256ULL << 20)
#define KEEP_MIN_BYTES		(32ULL << 20)

/* Memory whose pages are touched saves the readers page faults. */
#define KEEP_MAX_SPARE		4

/* Default of --write-buffer: the file is written from what was kept. */
#define KEEP_WRITE_BUFFER_BYTES	(8ULL << 20)

/* Why the records before a snapshot's first one are missing. */
enum keep_limit {
	KEEP_NO_LIMIT,		/* none are: they are in the previous snapshot, or never were */
	KEEP_LIMIT_TIME,
	KEEP_LIMIT_MEMORY,
	KEEP_LIMIT_CPU,		/* of memory, for records that could not be compressed in time */
	KEEP_LIMIT_LOST,	/* the kernel lost records because a ring was full */
};

/**
 * keep_limit__name - return one word for programs: "none", "time", "memory", "cpu", "lost" or "space"
 */
const char *keep_limit__name(enum keep_limit limit);

/**
 * struct keep_stats - the records of one snapshot, or all that were dropped
 * @records:	number of records
 * @samples:	PERF_RECORD_SAMPLE among them
 * @raw_bytes:	their length [bytes]
 * @bytes:	memory that they took [bytes]
 * @begin:	no record newer than this is missing [ns]; 0 if there are none
 * @end:	time of the newest record [ns]
 * @limit:	why older ones are missing
 * @advised_bytes: memory that the wanted time would take at this rate [bytes]; 0 if it was enough
 */
struct keep_stats {
	u64		records;
	u64		samples;
	u64		raw_bytes;
	u64		bytes;
	u64		begin;
	u64		end;
	enum keep_limit	limit;
	u64		advised_bytes;
};

/**
 * struct keep
 * @sink:	takes the records of streamed rings
 * @max_ns:	drop records that are older than the newest one by this, see keep__trim() [ns];
 *		0: only when the memory is full
 * @max_bytes:	memory of the recorder [bytes]; 0: --keep was not given
 * @level:	compression level, 0 for none
 * @overlap:	each snapshot has everything that is kept, again
 * @append:	see above
 * @filling:	the block that records are appended to, or NULL
 * @no_memory:	a block could not be allocated, as was reported: nothing is appended any more
 * @lock:	see above; protects the fields below
 * @blocks:	the kept blocks, oldest first
 * @raw:	those that wait to be compressed, newest first
 * @wanted:	the snapshot that is being written waits for this block, or NULL
 * @work:	signalled when there is something to compress
 * @compressed:	signalled when a block is compressed
 * @spare:	memory for @nr_spare blocks
 * @bytes:	memory of all blocks that exist, and of @spare [bytes]
 * @raw_bytes:	memory of those in @raw [bytes]
 * @limit_bytes: limit of @bytes, see budget.c
 * @reserved_bytes: memory that the output will need; set by keep__reserve()
 * @base_bytes:	memory of the recorder when it began to keep, with @reserved_bytes; set by
 *		keep__begin() [bytes]
 * @peak_bytes:	largest memory of the recorder that was seen [bytes]
 * @newest:	time of the newest record, or of the side-band [ns]
 * @arrived:	when it arrived [ns of CLOCK_MONOTONIC]
 * @dropped_last: time of the newest record that was dropped since the last snapshot [ns], or 0
 * @limit:	why it was dropped
 * @unsaved_last: @dropped_last if the snapshot that is being written is not saved
 * @unsaved_limit: @limit if the snapshot is not saved
 * @unsaved:	records that are lost if the snapshot is not saved
 * @dropped:	all records that were dropped, and are in no snapshot
 * @requested:	a snapshot will be taken soon: time drops nothing
 * @synced_time: what was not appended yet is newer than this [ns]; the main thread's
 * @taken:	array of @nr_taken blocks to be written, the first @nr_written are; the main thread's
 * @zstd:	the compressor's stream
 * @records:	its buffer
 * @thread:	the compressor's; @running until it is joined
 * @stop:	asks it to end
 */
struct keep {
	struct record_sink	 sink;
	u64			 max_ns;
	u64			 max_bytes;
	int			 level;
	bool			 overlap;
	pthread_mutex_t		 append;
	struct keep_block	*filling;
	bool			 no_memory;
	pthread_mutex_t		 lock;
	struct list_head	 blocks;
	struct list_head	 raw;
	struct keep_block	*wanted;
	pthread_cond_t		 work;
	pthread_cond_t		 compressed;
	void			*spare[KEEP_MAX_SPARE];
	unsigned int		 nr_spare;
	u64			 bytes;
	u64			 raw_bytes;
	u64			 limit_bytes;
	u64			 reserved_bytes;
	u64			 base_bytes;
	u64			 peak_bytes;
	u64			 newest;
	u64			 arrived;
	u64			 dropped_last;
	enum keep_limit		 limit;
	u64			 unsaved_last;
	enum keep_limit		 unsaved_limit;
	struct keep_stats	 unsaved;
	struct keep_stats	 dropped;
	bool			 requested;
	u64			 synced_time;
	struct keep_block	**taken;
	size_t			 nr_taken;
	size_t			 nr_written;
	struct zstd_data	 zstd;
	void			*records;
	pthread_t		 thread;
	bool			 running;
	bool			 stop;
};

/** keep__enabled - was --keep given? */
static inline bool keep__enabled(const struct keep *keep)
{
	return keep->max_bytes != 0;
}

/**
 * keep__parse - parse the argument of --keep: a time, a size, or both
 * @arg:	such as "60s,256M"; NULL or "": the defaults
 * @defaults:	the same, for what @arg leaves out (record.keep); may be NULL
 *
 * Return: 0, or -EINVAL after an error message.
 */
int keep__parse(struct keep *keep, const char *arg, const char *defaults);

/**
 * keep__init - begin to keep; the choices are set. Does nothing without --keep
 *
 * The thread takes no signals.
 *
 * Return: 0, or a negative errno after an error message.
 */
int keep__init(struct keep *keep);

/** keep__exit - end the thread, free all blocks; harmless if keep__init() failed, or never ran */
void keep__exit(struct keep *keep);

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
 *
 * The live state may then forget as much. Not while a snapshot is written.
 *
 * Return: is anything dropped?
 */
bool keep__drop_oldest(struct keep *keep);

/** keep__begin - note the memory that the recorder needs before it keeps anything */
void keep__begin(struct keep *keep);

/** keep__measure - measure the memory of the recorder, and drop blocks if there is too little */
void keep__measure(struct keep *keep);

/** keep__growth_limit - return by how much the recorder may grow beside the blocks [bytes] */
u64 keep__growth_limit(const struct keep *keep);

/** keep__reserve - leave this memory to the output, which does not use it yet [bytes] */
static inline void keep__reserve(struct keep *keep, u64 bytes)
{
	__atomic_store_n(&keep->reserved_bytes, bytes, __ATOMIC_RELAXED);
}

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
 * @before_block: called before each block
 * @before_mark: called where a round has ended. @time: of the newest record so far [ns]. Sets
 *		@complete if no other record that is written later is older than that: then a
 *		PERF_RECORD_FINISHED_ROUND follows.
 * @arg:	their argument; both return 0 or a negative errno
 */
struct keep_writer {
	int	(*before_block)(void *arg);
	int	(*before_mark)(void *arg, u64 time, bool *complete);
	void	*arg;
};

/**
 * keep__write - write what was handed over, in the same thread
 *
 * When the memory is full, blocks that were copied to the output are dropped first.
 *
 * Return: 0, or a negative errno: then the rest is not written.
 */
int keep__write(struct keep *keep, struct output *output, const struct keep_writer *writer);

/**
 * keep__end_snapshot - after keep__hand_over(): free what was handed over
 * @saved:	the snapshot is on disk. If not, its records are kept for the next snapshot, as far
 *		as time and memory allow.
 */
void keep__end_snapshot(struct keep *keep, bool saved);

/**
 * keep__take_stock - compress all that is kept, and count it; in the main thread, after the readers
 * have stopped
 * @stats:	what a snapshot would have. @bytes includes the tasks that it refers to.
 *
 * Return: as keep__hand_over().
 */
int keep__take_stock(struct keep *keep, struct keep_stats *stats);

/**
 * keep__needed_bytes - return the --keep memory that a time needs [bytes]
 * @bytes:	memory that the records of @ns have taken, and the tasks that they refer to [bytes]
 */
u64 keep__needed_bytes(const struct keep *keep, u64 bytes, u64 ns, u64 wanted_ns);

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
