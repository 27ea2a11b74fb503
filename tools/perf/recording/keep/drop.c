// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include "drop.h"

void keep__set_raw(struct keep *keep, struct keep_block *block)
{
	block->form = KEEP_RAW;
	list_add(&block->raw_node, &keep->raw);
	keep->raw_bytes += block->mapped;
	pthread_cond_signal(&keep->work);
}

void keep__unset_raw(struct keep *keep, struct keep_block *block)
{
	if (list_empty(&block->raw_node))
		return;
	list_del_init(&block->raw_node);
	keep->raw_bytes -= block->mapped;
}

void keep__put(struct keep *keep, struct keep_block *block)
{
	if (--block->refs)
		return;
	keep__unset_raw(keep, block);
	keep->bytes -= block->mapped;
	keep_block__free(block);
}

void keep__put_taken(struct keep *keep)
{
	struct keep_block *block = keep->taken[keep->nr_written++];

	block->taken = false;
	keep__put(keep, block);
}

void keep_stats__count(struct keep_stats *stats, const struct keep_block *block)
{
	stats->records += block->records;
	stats->samples += block->samples;
	stats->raw_bytes += block->raw_len;
	stats->bytes += block->mapped;
}

void keep__drop(struct keep *keep, struct keep_block *block, enum keep_limit limit)
{
	bool in_snapshot = block->written && !keep->overlap;	/* and in no later one */
	u64 *last = in_snapshot ? &keep->unsaved_last : &keep->dropped_last;

	if (keep->box && keep_block__seq(block) > keep->box->header->saved)
		keep_box__note_dropped(keep->box, block->last, limit);
	list_del_init(&block->node);
	*last = max(*last, block->last);
	*(in_snapshot ? &keep->unsaved_limit : &keep->limit) = limit;
	if (!block->saved)
		keep_stats__count(block->written ? &keep->unsaved :
				  limit == KEEP_LIMIT_SPACE ? &keep->unwritten :
				  &keep->dropped, block);
	keep__put(keep, block);
}

static bool is_too_old(const struct keep *keep, const struct keep_block *block)
{
	return keep->max_ns && !keep->requested && block->last + keep->max_ns < keep->newest &&
	       block->arrived + keep->max_ns < keep->arrived;
}

static void drop_for_space(struct keep *keep, struct keep_block *block)
{
	keep__drop(keep, block, keep->raw_bytes > keep->limit_bytes / 2 ? KEEP_LIMIT_CPU :
									  KEEP_LIMIT_MEMORY);
}

static void release_spare(struct keep *keep)
{
	keep_memory__unmap(keep->box, keep->spare[--keep->nr_spare], KEEP_BLOCK_BYTES);
	keep->bytes -= KEEP_BLOCK_BYTES;
}

bool keep__make_room(struct keep *keep)
{
	struct keep_block *block;

	if (keep->nr_spare) {
		release_spare(keep);
		return true;
	}
	list_for_each_entry(block, &keep->blocks, node) {
		if (block->taken)
			continue;
		drop_for_space(keep, block);
		return true;
	}
	return false;
}

void keep__trim(struct keep *keep)
{
	struct keep_block *block, *next;

	while (keep->nr_spare > 1 && keep->bytes > keep->limit_bytes)
		release_spare(keep);
	list_for_each_entry_safe(block, next, &keep->blocks, node) {
		bool old = is_too_old(keep, block);

		if (!old && keep->bytes <= keep->limit_bytes)
			break;
		if (block->taken)	/* of a later file, maybe; and dropping frees no memory */
			continue;
		if (old)
			keep__drop(keep, block, KEEP_LIMIT_TIME);
		else
			drop_for_space(keep, block);
	}
}
