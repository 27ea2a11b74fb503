// SPDX-License-Identifier: GPL-2.0-only
/* Run the compressor's thread. */
#include <errno.h>
#include "recording/lib/thread.h"
#include "budget.h"
#include "compress.h"
#include "drop.h"
#include "keep_data.h"
#include "pack.h"
#include "share.h"

/*
 * Keep the memory for the next block, or free it. More than one piece is kept only where records
 * leave room for it. Caller holds @lock.
 */
static void recycle(struct keep *keep, void *memory)
{
	bool outside = keep->box && !keep_box__contains(keep->box, memory);
	bool full = keep->bytes + KEEP_BLOCK_BYTES > keep->limit_bytes;

	if (outside || keep->nr_spare >= (full ? 1 : KEEP_MAX_SPARE)) {
		keep_memory__unmap(keep->box, memory, KEEP_BLOCK_BYTES);
		return;
	}
	keep->spare[keep->nr_spare++] = memory;
	keep->bytes += KEEP_BLOCK_BYTES;
}

/*
 * Replace the records of @block by @len bytes at @packed, or leave them if @len is 0. In a file
 * that is full, older blocks make room. Caller holds @lock.
 */
static void finish(struct keep *keep, struct keep_block *block, const void *packed, size_t len)
{
	void *memory = NULL;

	keep->bytes -= block->mapped;
	if (len) {
		do {
			memory = keep_block__replace(block, packed, len, true);
		} while (!memory && keep->box && keep__make_room(keep));
	}
	if (memory)
		recycle(keep, memory);
	else
		keep_block__trim(block);
	block->form = memory ? KEEP_COMPRESSED : KEEP_INCOMPRESSIBLE;
	keep->bytes += block->mapped;
	pthread_cond_broadcast(&keep->compressed);
}

/*
 * Return: do records that wait take memory from others? While there is memory, waiting costs
 * nothing. Caller holds @lock.
 */
static bool is_behind(const struct keep *keep)
{
	return keep->bytes >= keep->limit_bytes / 4 * 3 && keep->raw_bytes > keep->limit_bytes / 4;
}

/* Caller holds @lock, which is released meanwhile. */
static void compress(struct keep *keep, struct keep_block *block)
{
	struct keep_holders *holders;
	bool fast = is_behind(keep);
	const void *packed;
	size_t len;

	keep__unset_raw(keep, block);
	block->form = KEEP_COMPRESSING;
	block->refs++;
	pthread_mutex_unlock(&keep->lock);

	holders = keep_holders__count(keep, block->data, block->len);
	len = keep_packer__pack(keep->packer, block->data, block->len, fast, &packed);

	pthread_mutex_lock(&keep->lock);
	block->holders = holders;
	finish(keep, block, packed, len);
	keep__put(keep, block);
	pthread_mutex_unlock(&keep->lock);

	keep__measure(keep);
	pthread_mutex_lock(&keep->lock);
}

static struct keep_block *next_block(struct keep *keep)
{
	if (keep->wanted && keep->wanted->form == KEEP_RAW)
		return keep->wanted;
	return list_first_entry_or_null(&keep->raw, struct keep_block, raw_node);
}

static void *run(void *arg)
{
	struct keep *keep = arg;
	struct keep_block *block;

	pthread_mutex_lock(&keep->lock);
	while (!keep->stop) {
		if (keep__thin(keep))
			continue;
		block = next_block(keep);
		if (block)
			compress(keep, block);
		else
			pthread_cond_wait(&keep->work, &keep->lock);
	}
	pthread_mutex_unlock(&keep->lock);
	return NULL;
}

void keep__wait_compressed(struct keep *keep, struct keep_block *block)
{
	keep->wanted = block;
	pthread_cond_signal(&keep->work);
	while (block->form == KEEP_RAW || block->form == KEEP_COMPRESSING)
		pthread_cond_wait(&keep->compressed, &keep->lock);
	keep->wanted = NULL;
}

int keep__start_compressor(struct keep *keep)
{
	int err;

	if (!keep->level)
		return 0;
	keep->packer = keep_packer__new(KEEP_BLOCK_BYTES, keep->level, keep->evlist);
	if (!keep->packer)
		return -ENOMEM;
	err = thread__create(&keep->thread, run, keep);
	keep->running = !err;
	return err;
}

void keep__stop_compressor(struct keep *keep)
{
	if (keep->running) {
		pthread_mutex_lock(&keep->lock);
		keep->stop = true;
		pthread_cond_signal(&keep->work);
		pthread_mutex_unlock(&keep->lock);
		pthread_join(keep->thread, NULL);
		keep->running = false;
	}
	keep__exit_share(keep);
	keep_packer__free(keep->packer);
	keep->packer = NULL;
}
