// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <sys/mman.h>
#include <internal/lib.h>
#include "block.h"

static size_t pages_of(size_t len)
{
	return DIV_ROUND_UP(len, page_size) * page_size;
}

static void *map(size_t len)
{
	void *data = mmap(NULL, pages_of(len), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return data == MAP_FAILED ? NULL : data;
}

void *keep_memory__map(void)
{
	return map(KEEP_BLOCK_BYTES);
}

void keep_memory__unmap(void *memory)
{
	munmap(memory, KEEP_BLOCK_BYTES);
}

struct keep_block *keep_block__new(void *memory)
{
	struct keep_block *block = memory ? calloc(1, sizeof(*block)) : NULL;

	if (!block)
		return NULL;
	INIT_LIST_HEAD(&block->node);
	INIT_LIST_HEAD(&block->raw_node);
	block->refs = 1;
	block->mapped = KEEP_BLOCK_BYTES;
	block->data = memory;
	return block;
}

void keep_block__free(struct keep_block *block)
{
	munmap(block->data, block->mapped);
	free(block);
}

void *keep_block__compressed(const void *records, size_t len)
{
	void *data = map(len);

	return data ? memcpy(data, records, len) : NULL;
}

void *keep_block__replace(struct keep_block *block, void *data, size_t len)
{
	void *memory = block->data;

	block->data = data;
	block->len = len;
	block->mapped = pages_of(len);
	return memory;
}

void keep_block__trim(struct keep_block *block)
{
	size_t used = max(pages_of(block->len), (size_t)page_size);

	if (used == block->mapped)
		return;
	munmap(block->data + used, block->mapped - used);
	block->mapped = used;
}
