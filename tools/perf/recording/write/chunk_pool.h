/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Allocate the memory for records on their way to the file: a bounded number of chunks, shared by
 * all rings.
 *
 * A chunk costs some locks, wake-ups and a system call, however large it is: large pools have
 * chunks of CHUNK_SIZE_MAX. In small pools they are smaller, so that some can be filled while
 * others are written.
 *
 * Memory is touched when it is first needed, and the chunk freed last is reused first: a recording
 * that writes little uses little memory.
 */
#ifndef PERF_RECORDING_CHUNK_POOL_H
#define PERF_RECORDING_CHUNK_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/list.h>
#include <linux/types.h>

#define CHUNK_SIZE_MIN		(256 << 10)
#define CHUNK_SIZE_MAX		(1 << 20)
#define CHUNK_ALIGN		4096		/* the largest alignment that direct I/O needs */
#define CHUNK_POOL_MIN_CHUNKS	4
#define CHUNK_POOL_NR_CHUNKS	32		/* smaller pools have smaller chunks */

#define CHUNK_AWAITED		(1U << 31)	/* somebody waits until all is copied */
#define CHUNK_UNSEALED		(1U << 30)

/**
 * struct chunk - a piece of the file on its way there
 *
 *	  @memory                                          @memory + @size
 *	  |      @data                         @data + @len     |
 *	  |      |                                   |          |
 *	  +------+-----+---------+------+--//--+-----+----------+
 *	  |      |.....| record  |      |      |.....|          |
 *	  +------+-----+---------+------+--//--+-----+----------+
 *	         |     |
 *	        @pos  @first_record        ..... parts of records that begin in the chunk before,
 *	                                         or end in the next
 *
 * @node:	in the pool's free list, or in a list of chunks in the same state
 * @memory:	@size bytes, aligned to CHUNK_ALIGN
 * @size:	size of each chunk of the pool [bytes]
 * @index:	index of the chunk in the pool
 * @nr:		number of the chunk in the order of the files, once no more is appended to it
 * @pos:	position of @data in the file [bytes]
 * @data:	what to write; its offset in an aligned page is that of @pos, for direct I/O
 * @len:	its length, copied or not; up to date while the queue's tail is closed [bytes]
 * @uncopied:	how much of @len is not copied yet [bytes], and CHUNK_AWAITED. Before the chunk is
 *		sealed: CHUNK_UNSEALED minus what is copied, so that 0 is not reached.
 * @record:	position in the file of the record that the byte at @pos belongs to
 * @first_record: position in the file of the first record that begins at or after @pos; may lie
 *		behind the chunk
 * @record_type: type of the record at @record, if that begins before @pos
 * @begin_ns:	when the chunk was begun, or when the queue's thread last put off writing it because
 *		another thread was appending [ns of CLOCK_MONOTONIC]
 * @done:	number of bytes written
 * @err:	why the rest cannot be written, negative errno, or 0
 * @finished:	no write of the chunk is pending; used by the writer
 * @completed:	the writer has returned the chunk. Until then the pool must not have it, finished or
 *		not.
 * @buffered:	write to the page cache: it keeps up, or direct I/O has failed
 */
struct chunk {
	struct list_head node;
	void		*memory;
	size_t		 size;
	unsigned int	 index;
	u64		 nr;
	u64		 pos;
	void		*data;
	size_t		 len;
	u32		 uncopied;
	u64		 record;
	u64		 first_record;
	u32		 record_type;
	u64		 begin_ns;
	size_t		 done;
	int		 err;
	bool		 finished;
	bool		 completed;
	bool		 buffered;
};

/**
 * struct chunk_pool
 * @memory:	memory of all chunks
 * @chunks:	array of @nr chunks
 * @nr:		number of chunks
 * @chunk_size:	size of each of them [bytes]
 * @free:	free chunks, @nr_free of them
 * @min_free:	smallest @nr_free so far: so many chunks were never used, and take no memory
 */
struct chunk_pool {
	void		*memory;
	struct chunk	*chunks;
	unsigned int	 nr;
	size_t		 chunk_size;
	struct list_head free;
	unsigned int	 nr_free;
	unsigned int	 min_free;
};

/**
 * chunk_pool__init - allocate the chunks
 * @size:	of all chunks together [bytes]; there are CHUNK_POOL_MIN_CHUNKS at least
 *
 * Return: 0, or -ENOMEM.
 */
int chunk_pool__init(struct chunk_pool *pool, size_t size);

/**
 * chunk_pool__exit - free all chunks; harmless if chunk_pool__init() failed, or the pool is zeroed
 */
void chunk_pool__exit(struct chunk_pool *pool);

/**
 * chunk_pool__get - take an empty chunk for position @pos.
 *
 * Caller locks. Return: the chunk, or NULL
 */
struct chunk *chunk_pool__get(struct chunk_pool *pool, u64 pos);

/** chunk_pool__put - free a chunk. Caller locks. */
void chunk_pool__put(struct chunk_pool *pool, struct chunk *chunk);

/** chunk__space - how many bytes can still be appended to @chunk */
static inline size_t chunk__space(const struct chunk *chunk)
{
	return chunk->memory + chunk->size - chunk->data - chunk->len;
}

/** chunk__seal - @chunk takes no more. Caller locks. */
static inline void chunk__seal(struct chunk *chunk)
{
	__atomic_fetch_add(&chunk->uncopied, chunk->len - CHUNK_UNSEALED, __ATOMIC_ACQ_REL);
}

/**
 * chunk__end_copy - @len bytes are copied; in any thread, without a lock
 *
 * The chunk may be written, and reused, as soon as all its bytes are copied.
 *
 * Return: true if somebody waits for that, and all are copied now.
 */
static inline bool chunk__end_copy(struct chunk *chunk, size_t len)
{
	return __atomic_sub_fetch(&chunk->uncopied, len, __ATOMIC_ACQ_REL) == CHUNK_AWAITED;
}

/**
 * chunk__is_copied - are all bytes of @chunk copied, which is sealed? If not, the last
 * chunk__end_copy() will return true
 */
static inline bool chunk__is_copied(struct chunk *chunk)
{
	return !(__atomic_fetch_or(&chunk->uncopied, CHUNK_AWAITED, __ATOMIC_ACQ_REL) &
		 ~CHUNK_AWAITED);
}

/** chunk_pool__is_half_free - is half of the chunks, or more, free? */
static inline bool chunk_pool__is_half_free(const struct chunk_pool *pool)
{
	return pool->nr_free >= pool->nr / 2;
}

#endif
