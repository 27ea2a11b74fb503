// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include "recording/lib/array.h"
#include "log.h"
#include "log_block.h"
#include "sb_record.h"
#include "system_wide.h"

bool log_entry__is_passthrough(const struct log_entry *entry)
{
	return !entry->task && !system_wide__covers(entry->record);
}

/*
 * Blocks
 */

static void count_block(struct state_log *log, const struct log_block *block, ssize_t sign)
{
	log->nr_packed += sign * (ssize_t)(block->nr - block->nr_dropped);
	log->block_bytes += sign * (ssize_t)log_block__bytes(block);
	log->shared_bytes += sign * (ssize_t)block->shared_bytes;
}

static void free_block(struct state_log *log, struct log_block *block)
{
	const struct log_entry *entries = log_packer__unpack(log->packer, block);
	size_t i;

	for (i = 0; i < block->nr; i++) {
		if (entries[i].record && entries[i].record->refcount)
			sb_record__put(entries[i].record);
	}
	free(block);
}

/* Replace @block by one of the entries that are left. Return: NULL if there are none. */
static struct log_block *repack(struct state_log *log, struct log_block *block,
				const struct log_entry *entries, size_t nr)
{
	struct log_block *packed = nr ? log_packer__pack(log->packer, entries, nr) : NULL;

	if (nr && !packed)
		return block;
	free(block);
	return packed;
}

static void drop_packed(struct log_block *block, size_t i, const struct log_entry *entry)
{
	__set_bit(i, block->dropped);
	block->nr_dropped++;
	if (!entry->record->refcount)
		return;
	block->shared_bytes -= log_entry__bytes(entry);
	sb_record__put(entry->record);
}

/*
 * Note which entries are dropped. Pack the others once more if they are few, or if many of their
 * records have lost their other references. Return: the block, or NULL if nothing is left.
 */
static struct log_block *filter_block(struct state_log *log, struct log_block *block,
				      log_filter_t filter, void *arg)
{
	struct log_entry *entries = log_packer__unpack(log->packer, block), entry;
	size_t i, nr = 0, nr_unshared = 0;

	for (i = 0; i < block->nr; i++) {
		entry = entries[i];
		if (!entry.record)
			continue;
		if (!filter(arg, &entry)) {
			drop_packed(block, i, &entry);
			continue;
		}
		nr_unshared += entry.record->refcount == 1;
		entries[nr++] = entry;
	}
	if (!nr || nr < block->nr / 2 || nr_unshared > nr / 4)
		return repack(log, block, entries, nr);
	return block;
}

static void filter_blocks(struct state_log *log, log_filter_t filter, void *arg)
{
	struct log_block *block;
	size_t from, to = 0;

	for (from = 0; from < log->nr_blocks; from++) {
		block = log->blocks[from];
		count_block(log, block, -1);
		block = filter_block(log, block, filter, arg);
		if (!block)
			continue;
		count_block(log, block, 1);
		log->blocks[to++] = block;
	}
	log->nr_blocks = to;
}

static bool can_pack(struct state_log *log)
{
	if (!log->packer)
		log->packer = log_packer__new(log->format);
	return log->packer && !array__grow(&log->blocks, log->nr_blocks, 1, sizeof(*log->blocks),
					   &log->max_blocks);
}

void state_log__pack(struct state_log *log)
{
	size_t nr = min_t(size_t, log->max_unpacked, LOG_BLOCK_ENTRIES), done = 0;
	struct log_block *block;

	while (log->nr_applied - done >= log->max_unpacked + nr && can_pack(log)) {
		block = log_packer__pack(log->packer, log->entries + done, nr);
		if (!block)
			break;
		count_block(log, block, 1);
		log->blocks[log->nr_blocks++] = block;
		log->bytes -= block->entry_bytes;
		done += block->nr;
	}
	if (!done)
		return;
	log->nr -= done;
	log->nr_applied -= done;
	memmove(log->entries, log->entries + done, log->nr * sizeof(*log->entries));
}

/* Return: index of the entry before which @visit has stopped. */
static size_t visit_block(const struct state_log *log, struct log_block *block, size_t first,
			  log_visit_t visit, void *arg)
{
	struct log_entry *entries = log_packer__unpack(log->packer, block);
	size_t i;
	u32 file;

	for (i = first; i < block->nr; i++) {
		if (!entries[i].record)
			continue;
		file = entries[i].file;
		if (!visit(arg, &entries[i], true))
			break;
		if (entries[i].file != file) {
			block->file = entries[i].file;
			block->nr_written = i + 1;
		}
	}
	return i;
}

size_t state_log__visit(const struct state_log *log, size_t first, log_visit_t visit, void *arg)
{
	size_t base = 0, i, stopped;

	for (i = 0; i < log->nr_blocks; base += log->blocks[i++]->nr) {
		if (first >= base + log->blocks[i]->nr)
			continue;
		stopped = visit_block(log, log->blocks[i], max(first, base) - base, visit, arg);
		if (stopped < log->blocks[i]->nr)
			return base + stopped;
	}
	for (i = max(first, base) - base; i < log->nr; i++) {
		if (!visit(arg, &log->entries[i], i < log->nr_applied))
			break;
	}
	return base + i;
}

/*
 * Entries
 */

void state_log__init(struct state_log *log, const struct id_format *format)
{
	*log = (struct state_log){ .format = format, .max_unpacked = LOG_MAX_UNPACKED };
}

void state_log__exit(struct state_log *log)
{
	size_t i;

	for (i = 0; i < log->nr; i++)
		sb_record__put(log->entries[i].record);
	free(log->entries);
	for (i = 0; i < log->nr_blocks; i++)
		free_block(log, log->blocks[i]);
	free(log->blocks);
	log_packer__free(log->packer);
}

int state_log__add(struct state_log *log, struct sb_record *record, u32 file)
{
	struct log_entry *entry;
	int err = array__grow(&log->entries, log->nr, 1, sizeof(*log->entries), &log->capacity);

	if (err)
		return err;
	entry = &log->entries[log->nr++];
	*entry = (struct log_entry){
		.record	 = record,
		.arrival = log->nr_added++,
		.file	 = file,
	};
	log->bytes += log_entry__bytes(entry);
	return 0;
}

/*
 * Filter entries from @first to @last, and close the gap. Return: number of entries that are left
 * of them.
 */
static size_t filter_range(struct state_log *log, size_t first, size_t last, log_filter_t filter,
			   void *arg)
{
	size_t from, to = first;

	for (from = first; from < last; from++) {
		struct log_entry entry = log->entries[from];

		if (filter(arg, &entry)) {
			log->entries[to++] = entry;
		} else {
			log->bytes -= log_entry__bytes(&entry);
			sb_record__put(entry.record);
		}
	}
	if (to < last) {
		memmove(log->entries + to, log->entries + last,
			(log->nr - last) * sizeof(*log->entries));
		log->nr -= last - to;
	}
	return to - first;
}

void state_log__filter(struct state_log *log, log_filter_t filter, void *arg)
{
	filter_blocks(log, filter, arg);
	log->nr_applied = filter_range(log, 0, log->nr_applied, filter, arg);
}

static int by_time(const void *a, const void *b)
{
	const struct log_entry *x = a, *y = b;

	if (x->record->time != y->record->time)
		return x->record->time < y->record->time ? -1 : 1;
	return x->arrival < y->arrival ? -1 : 1;
}

void state_log__apply(struct state_log *log, u64 time, log_filter_t filter, void *arg)
{
	size_t last = log->nr_applied;

	if (log->nr == log->nr_applied)
		return;
	qsort(log->entries + log->nr_applied, log->nr - log->nr_applied, sizeof(*log->entries),
	      by_time);
	while (last < log->nr && log->entries[last].record->time <= time)
		last++;
	log->nr_applied += filter_range(log, log->nr_applied, last, filter, arg);
}

void state_log__shrink(struct state_log *log)
{
	size_t capacity = log->nr + log->nr / 2 + 1024;
	struct log_entry *entries;

	if (capacity >= log->capacity)
		return;
	entries = realloc(log->entries, capacity * sizeof(*entries));
	if (entries) {
		log->entries = entries;
		log->capacity = capacity;
	}
}
