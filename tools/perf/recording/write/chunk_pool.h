/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory between the rings and the file: a bounded number of chunks, shared by all rings.
 *
 * Memory is touched when it is first needed, and the chunk that was given back last is used first:
 * a recording that writes little needs little.
 */
#ifndef PERF_RECORDING_CHUNK_POOL_H
#define PERF_RECORDING_CHUNK_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/list.h>
#include <linux/types.h>

#define CHUNK_SIZE		(256 << 10)
#define CHUNK_ALIGN		4096		/* what direct I/O asks for, at most */
#define CHUNK_POOL_MIN_CHUNKS		4

/**
 * struct chunk - a piece of the file on its way to it
 *
 *	  @memory                                        @memory + CHUNK_SIZE
 *	  |      @data                         @data + @len     |
 *	  |      |                                   |          |
 *	  +------+-----+---------+------+--//--+-----+----------+
 *	  |      |.....| record  |      |      |.....|          |
 *	  +------+-----+---------+------+--//--+-----+----------+
 *	         |     |
 *	        @pos  @first       ..... parts of records that begin in the chunk before, or end in
 *	                                 the next
 *
 * @node:	of the pool's free ones, or of those that wait for the same thing
 * @memory:	CHUNK_SIZE bytes, aligned to CHUNK_ALIGN
 * @index:	number of the chunk in the pool
 * @pos:	where it belongs in the file [bytes]
 * @data:	what is to be written; as many bytes past an aligned address as @pos is past an aligned
 *		position
 * @len:	its length [bytes]
 * @whole:	position in the file where the last record begins that begins at or before @pos
 * @first:	position in the file where the first record begins that begins at or after @pos; may lie
 *		behind the chunk
 * @type:	of the record at @whole, if that is not at @pos
 * @begun:	when it was begun [ns of CLOCK_MONOTONIC]
 * @done:	bytes that are written
 * @err:	why the rest cannot be, negative errno, or 0
 * @finished:	nothing of it is being written any more; the writer's
 * @back:	the writer has handed it back. Until then it is not the pool's, finished or not.
 * @buffered:	the page cache is to take it: it keeps up, or direct I/O has failed
 */
struct chunk {
	struct list_head node;
	void		*memory;
	unsigned int	 index;
	u64		 pos;
	void		*data;
	size_t		 len;
	u64		 whole;
	u64		 first;
	u32		 type;
	u64		 begun;
	size_t		 done;
	int		 err;
	bool		 finished;
	bool		 back;
	bool		 buffered;
};

/**
 * struct chunk_pool
 * @memory:	of all chunks
 * @chunks:	@nr of them
 * @nr:		number of chunks
 * @free:	those that nobody has, @nr_free of them
 */
struct chunk_pool {
	void		*memory;
	struct chunk	*chunks;
	unsigned int	 nr;
	struct list_head free;
	unsigned int	 nr_free;
};

/**
 * chunk_pool__init - set the bound
 * @size:	of all chunks together [bytes]; CHUNK_POOL_MIN_CHUNKS of them at least
 *
 * Return: 0, or -ENOMEM.
 */
int chunk_pool__init(struct chunk_pool *pool, size_t size);

/** chunk_pool__exit - free them all; harmless if chunk_pool__init() failed, or the pool is zeroed */
void chunk_pool__exit(struct chunk_pool *pool);

/** chunk_pool__get - Return: a chunk with @data at @pos, empty; NULL if there is none. The caller locks. */
struct chunk *chunk_pool__get(struct chunk_pool *pool, u64 pos);

/** chunk_pool__put - give a chunk back. The caller locks. */
void chunk_pool__put(struct chunk_pool *pool, struct chunk *chunk);

/** chunk__room - how much more it can take [bytes] */
static inline size_t chunk__room(const struct chunk *chunk)
{
	return chunk->memory + CHUNK_SIZE - chunk->data - chunk->len;
}

#endif
