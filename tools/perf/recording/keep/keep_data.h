/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Define the data of the kept streams, for their parts:
 *
 *	option.c	parse --keep
 *	stock.c		measure how much memory the kept records take
 *	keep.c		append, hand over
 *	write.c		write a snapshot
 *	restore.c	restore the records of a block for it
 *	compress.c	the compressor's thread
 *	share.c		thin blocks: drop samples of cgroups that have too much
 *	pack.c		pack and unpack a block: columns_encode.c, columns_decode.c, and zstd
 *	session.c	store in the box what describes the recording
 *	journal.c	store in the box what blocks need of the live state
 *	budget.c	how much memory the blocks may take, or would need
 *	drop.c		drop blocks
 *	block.c		allocate blocks, in memory or in the box
 *	box.c		the file of --keep-file; box_file.c creates it, arena.c allocates pages in
 *			it
 *
 * Each calls only those below it. keep.h explains the whole. Apart from them are guard.c, a process
 * that saves the rings, and box_read.c, which reads a box that remained.
 */
#ifndef PERF_RECORDING_KEEP_DATA_H
#define PERF_RECORDING_KEEP_DATA_H

#include <pthread.h>
#include <stdbool.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/types.h>
#include "recording/ring/sink.h"
#include "block.h"
#include "box.h"
#include "journal_data.h"
#include "restore.h"

#define KEEP_DEFAULT_NS		(60ULL * 1000000000)
#define KEEP_DEFAULT_BYTES	(256ULL << 20)
#define KEEP_MIN_BYTES		(32ULL << 20)

/* The blocks may always take so much. */
#define KEEP_MIN_BLOCKS_BYTES	(4 * KEEP_BLOCK_BYTES)

/* Buffers that are allocated when they are first used: of zstd, of the live state. */
#define KEEP_BUFFER_BYTES	(2ULL << 20)

/* The first snapshot allocates a block of records, its columns, and both once more for zstd. */
#define KEEP_RESTORE_BYTES	(4ULL << 20)

/* Memory whose pages are touched saves the readers page faults. */
#define KEEP_MAX_SPARE		4

/* Default of --write-buffer: the file is written from what was kept. */
#define KEEP_WRITE_BUFFER_BYTES	(8ULL << 20)

struct evlist;
struct keep_packer;
struct keep_unpacker;

/* Why the records before a snapshot's first one are missing. */
enum keep_limit {
	KEEP_NO_LIMIT,		/* none are: they are in the previous snapshot, or never were */
	KEEP_LIMIT_TIME,
	KEEP_LIMIT_MEMORY,
	KEEP_LIMIT_CPU,		/* of memory, for records that could not be compressed in time */
	KEEP_LIMIT_LOST,	/* the kernel lost records because a ring was full */
	KEEP_LIMIT_SPACE,	/* the disk had no space for them */
};

/* So many cgroups can reach back less far than others. */
#define KEEP_MAX_CUTS		32

/**
 * struct keep_cut - samples of a cgroup that were dropped, while those of others were kept
 * (share.h)
 * @cgroup:	its id
 * @last:	none newer than this was dropped [ns]
 * @records:	number of those that were
 * @path:	of the cgroup, as far as it fits; only in statistics
 */
struct keep_cut {
	u64		cgroup;
	u64		last;
	u64		records;
	char		path[64];
};

/**
 * struct keep_share
 * @enabled:	--keep-share=cgroup was given
 * @tail:	length of a sample from its cgroup on [bytes]; 0: not known yet
 * @raw_peak:	memory that blocks took lately which waited to be packed [bytes]
 * @unpacker:	restores blocks that are thinned
 * @records:	what is left of them; KEEP_BLOCK_BYTES
 * @cuts:	@nr_cuts cgroups whose samples were dropped since the last snapshot; under
 *		keep->lock
 */
struct keep_share {
	bool			 enabled;
	unsigned int		 tail;
	u64			 raw_peak;
	struct keep_unpacker	*unpacker;
	void			*records;
	struct keep_cut		 cuts[KEEP_MAX_CUTS];
	unsigned int		 nr_cuts;
};

/**
 * struct keep_stats - the records of one snapshot, or all that were dropped
 * @records:	number of records
 * @samples:	PERF_RECORD_SAMPLE among them
 * @raw_bytes:	their length [bytes]
 * @bytes:	memory that they took [bytes]
 * @compressed_bytes: length to which they were compressed in memory; set by keep__write() [bytes]
 * @written_bytes: length in which they were written to the output; set by keep__write() [bytes]
 * @begin:	no record newer than this is missing [ns]; 0 if there are none
 * @others_begin: likewise, of cgroups that are not in @cuts [ns]
 * @end:	time of the newest record [ns]
 * @limit:	why older ones are missing
 * @cuts:	@nr_cuts cgroups that reach back less far than the others
 * @advised_bytes: memory that the wanted time would take at this rate [bytes]; 0 if it was enough
 */
struct keep_stats {
	u64		records;
	u64		samples;
	u64		raw_bytes;
	u64		bytes;
	u64		compressed_bytes;
	u64		written_bytes;
	u64		begin;
	u64		others_begin;
	u64		end;
	enum keep_limit	limit;
	u64		advised_bytes;
	struct keep_cut	cuts[KEEP_MAX_CUTS];
	unsigned int	nr_cuts;
};

/**
 * struct keep
 * @sink:	takes the records of streamed rings
 * @max_ns:	drop records that are older than the newest one by this, see keep__trim() [ns];
 *		0: only when the memory is full
 * @max_bytes:	memory of the recorder [bytes]; 0: --keep was not given
 * @level:	compression level, 0 for none
 * @file:	of --keep-file, or NULL
 * @box:	has the blocks, with --keep-file
 * @journal:	what @box has of the live state; the main thread's
 * @unsaved_end: the recording ends, but could not save what is kept: @box is to remain
 * @evlist:	the events that are recorded; may be NULL
 * @overlap:	each snapshot has everything that is kept, again
 * @split_ns:	a file of a snapshot has records of so long [ns]; 0: of all that is kept
 * @append:	see above
 * @filling:	the block that records are appended to, or NULL
 * @round_newest: time of the newest record when the last round ended [ns]
 * @round_before: likewise, when the round before that ended
 * @lost_since:	time of the first record after the last loss, as far as it is known [ns]
 * @unsure_rounds: a ring was full, and may have lost records until it was read: it is not known
 *		until when before so many rounds have ended
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
 * @newest_record: time of the newest record in a block that is sealed [ns]
 * @arrived:	when it arrived [ns of CLOCK_MONOTONIC]
 * @dropped_last: time of the newest record that was dropped since the last snapshot [ns], or 0
 * @limit:	why it was dropped
 * @unsaved_last: @dropped_last if the snapshot that is being written is not saved
 * @unsaved_limit: @limit if the snapshot is not saved
 * @unsaved:	records that are lost if the snapshot is not saved
 * @dropped:	all records that were dropped, and are in no snapshot, but for @unwritten
 * @unwritten:	all records for which the disk had no space
 * @restored:	the memory of @restorer was touched
 * @requested:	a snapshot will be taken soon: time drops nothing
 * @synced_time: what was not appended yet is newer than this [ns]; the main thread's
 * @taken:	array of @nr_taken blocks to be written, the first @nr_written are; the main
 *		thread's
 * @taken_seq:	number in @box of the newest block that was taken
 * @restorer:	restores records for snapshots; the main thread's
 * @packer:	the compressor's
 * @share:	likewise, but for what it says
 * @thread:	the compressor's; @running until it is joined
 * @stop:	asks it to end
 */
struct keep {
	struct record_sink	 sink;
	u64			 max_ns;
	u64			 max_bytes;
	int			 level;
	const char		*file;
	struct keep_box		*box;
	struct journal		 journal;
	bool			 unsaved_end;
	struct evlist		*evlist;
	bool			 overlap;
	u64			 split_ns;
	pthread_mutex_t		 append;
	struct keep_block	*filling;
	u64			 round_newest;
	u64			 round_before;
	u64			 lost_since;
	unsigned int		 unsure_rounds;
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
	u64			 newest_record;
	u64			 arrived;
	u64			 dropped_last;
	enum keep_limit		 limit;
	u64			 unsaved_last;
	enum keep_limit		 unsaved_limit;
	struct keep_stats	 unsaved;
	struct keep_stats	 dropped;
	struct keep_stats	 unwritten;
	bool			 restored;
	bool			 requested;
	u64			 synced_time;
	struct keep_block	**taken;
	size_t			 nr_taken;
	size_t			 nr_written;
	u64			 taken_seq;
	struct restorer		 restorer;
	struct keep_packer	*packer;
	struct keep_share	 share;
	pthread_t		 thread;
	bool			 running;
	bool			 stop;
};

/** keep__enabled - was --keep given? */
static inline bool keep__enabled(const struct keep *keep)
{
	return keep->max_bytes != 0;
}

/* A block has records of this part of the time to keep, and of a file, or is full before. */
#define KEEP_SEAL_PART		16
#define KEEP_SEAL_SPLIT		8

/** keep__max_span - how long may a block be? [ns] */
static inline u64 keep__max_span(const struct keep *keep)
{
	u64 kept = keep->max_ns ? keep->max_ns / KEEP_SEAL_PART : UINT64_MAX;

	return keep->split_ns ? min(kept, keep->split_ns / KEEP_SEAL_SPLIT) : kept;
}

#endif
