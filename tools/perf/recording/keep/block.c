// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <sys/mman.h>
#include <internal/lib.h>
#include "block.h"
#include "box.h"

void *keep_memory__map(struct keep_box *box, size_t len)
{
	void *data;

	if (box)
		return keep_box__alloc(box, len);
	data = mmap(NULL, round_up(len, page_size), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return data == MAP_FAILED ? NULL : data;
}

void keep_memory__unmap(struct keep_box *box, void *memory, size_t len)
{
	if (keep_box__contains(box, memory))
		keep_box__free(box, memory, len);
	else
		munmap(memory, len);
}

struct keep_block *keep_block__new(struct keep_box *box, void *memory)
{
	struct keep_block *block = memory ? calloc(1, sizeof(*block)) : NULL;

	if (!block)
		return NULL;
	if (keep_box__contains(box, memory)) {
		block->slot = keep_box__open(box, BOX_EVENTS, 0, memory);
		if (!block->slot) {
			free(block);
			return NULL;
		}
	}
	INIT_LIST_HEAD(&block->node);
	INIT_LIST_HEAD(&block->raw_node);
	block->box = box;
	block->refs = 1;
	block->mapped = KEEP_BLOCK_BYTES;
	block->data = memory;
	return block;
}

void keep_block__free(struct keep_block *block)
{
	if (block->slot)
		keep_box__free_slot(block->box, block->slot);
	keep_memory__unmap(block->box, block->data, block->mapped);
	free(block->holders);
	free(block);
}

void keep_block__discard(struct keep_block *block)
{
	if (!block->slot) {
		keep_block__free(block);
		return;
	}
	free(block->holders);
	free(block);
}

void keep_block__append(struct keep_block *block, size_t len)
{
	block->len += len;
	if (block->slot)
		keep_box__set_len(block->slot, block->len);
}

static struct box_slot describe(const struct keep_block *block, size_t len)
{
	return (struct box_slot){
		.len	 = len,
		.kind	 = BOX_EVENTS,
		.flags	 = block->ends_round ? BOX_ENDS_ROUND : 0,
		.raw_len = block->raw_len,
		.first	 = block->first,
		.last	 = block->last,
		.records = block->records,
		.samples = block->samples,
	};
}

void keep_block__seal(struct keep_block *block)
{
	struct box_slot fields = describe(block, block->len);

	if (block->slot)
		keep_box__close(block->slot, &fields);
}

u64 keep_block__seq(const struct keep_block *block)
{
	return block->slot ? block->slot->seq : 0;
}

/* Return: may @data take the place of the content? For an instant, both are in the file. */
static bool replace_slot(struct keep_block *block, const void *data, size_t len, bool packed)
{
	struct box_slot fields = describe(block, len), *slot;

	fields.encoding = packed ? BOX_PACKED : BOX_RECORDS;
	fields.data_sum = checksum(data, len);
	fields.seq = keep_block__seq(block);
	slot = keep_box__add(block->box, &fields, data);
	if (!slot)
		return false;
	keep_box__free_slot(block->box, block->slot);
	block->slot = slot;
	return true;
}

void *keep_block__replace(struct keep_block *block, const void *data, size_t len, bool packed)
{
	struct keep_box *box = block->slot ? block->box : NULL;
	void *memory = block->data, *copy = keep_memory__map(box, len);

	if (!copy)
		return NULL;
	memcpy(copy, data, len);
	if (box && !replace_slot(block, copy, len, packed)) {
		keep_memory__unmap(box, copy, len);
		return NULL;
	}
	block->data = copy;
	block->len = len;
	block->mapped = round_up(len, page_size);
	return memory;
}

void keep_block__trim(struct keep_block *block)
{
	size_t used = max(round_up(block->len, page_size), (size_t)page_size);

	if (used == block->mapped)
		return;
	keep_memory__unmap(block->box, block->data + used, block->mapped - used);
	block->mapped = used;
}
