// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include <sys/mman.h>
#include "chunk_pool.h"

static size_t chunk_size(size_t pool_size)
{
	size_t size = CHUNK_SIZE_MAX;

	while (size > CHUNK_SIZE_MIN && size > pool_size / CHUNK_POOL_NR_CHUNKS)
		size /= 2;
	return size;
}

int chunk_pool__init(struct chunk_pool *pool, size_t size)
{
	unsigned int i;

	*pool = (struct chunk_pool){ .chunk_size = chunk_size(size) };
	pool->nr = max(size / pool->chunk_size, (size_t)CHUNK_POOL_MIN_CHUNKS);
	INIT_LIST_HEAD(&pool->free);
	pool->chunks = calloc(pool->nr, sizeof(*pool->chunks));
	if (!pool->chunks)
		return -ENOMEM;
	pool->memory = mmap(NULL, pool->nr * pool->chunk_size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pool->memory == MAP_FAILED) {
		pool->memory = NULL;
		chunk_pool__exit(pool);
		return -ENOMEM;
	}
	for (i = 0; i < pool->nr; i++) {
		struct chunk *chunk = &pool->chunks[i];

		chunk->memory = pool->memory + i * pool->chunk_size;
		chunk->size = pool->chunk_size;
		chunk->index = i;
		list_add_tail(&chunk->node, &pool->free);
	}
	pool->nr_free = pool->min_free = pool->nr;
	return 0;
}

void chunk_pool__exit(struct chunk_pool *pool)
{
	if (pool->memory)
		munmap(pool->memory, pool->nr * pool->chunk_size);
	free(pool->chunks);
	*pool = (struct chunk_pool){ 0 };
}

struct chunk *chunk_pool__get(struct chunk_pool *pool, u64 pos)
{
	struct chunk *chunk = list_first_entry_or_null(&pool->free, struct chunk, node);

	if (!chunk)
		return NULL;
	list_del_init(&chunk->node);
	if (--pool->nr_free < pool->min_free)
		__atomic_store_n(&pool->min_free, pool->nr_free, __ATOMIC_RELAXED);
	*chunk = (struct chunk){
		.node	= LIST_HEAD_INIT(chunk->node),
		.memory	= chunk->memory,
		.size	= chunk->size,
		.index	= chunk->index,
		.pos	= pos,
		.data	= chunk->memory + pos % CHUNK_ALIGN,
		.uncopied = CHUNK_UNSEALED,
	};
	return chunk;
}

void chunk_pool__put(struct chunk_pool *pool, struct chunk *chunk)
{
	list_move(&chunk->node, &pool->free);
	pool->nr_free++;
}
