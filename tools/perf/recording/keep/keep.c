// SPDX-License-Identifier: GPL-2.0-only
/* Append records to blocks, and hand these over to a snapshot. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "util/debug.h"
#include "util/time-utils.h"
#include "recording/lib/records.h"
#include "recording/lib/thread.h"
#include "recording/ring/channel.h"
#include "compress.h"
#include "drop.h"
#include "journal.h"
#include "keep.h"

/* A round that ends seals a block of this size, or of keep__max_span(). */
#define SEAL_BYTES	(KEEP_BLOCK_BYTES / 4)

/*
 * Appending; caller holds @append
 */

static void seal(struct keep *keep, bool ends_round)
{
	struct keep_block *block = keep->filling;

	keep->filling = NULL;
	block->ends_round = ends_round;
	block->raw_len = block->len;
	pthread_mutex_lock(&keep->lock);
	keep_block__seal(block);
	list_add_tail(&block->node, &keep->blocks);
	keep->newest = max(keep->newest, block->last);
	keep->newest_record = max(keep->newest_record, block->last);
	keep->arrived = max(keep->arrived, block->arrived);
	if (keep->level) {
		keep__set_raw(keep, block);
	} else {
		keep->bytes -= block->mapped;
		keep_block__trim(block);
		block->form = KEEP_INCOMPRESSIBLE;
		keep->bytes += block->mapped;
	}
	keep__trim(keep);
	pthread_mutex_unlock(&keep->lock);
	if (!keep->level)
		keep__measure(keep);
}

/* Return: an empty block in the memory that --keep leaves, or NULL. Caller holds @lock. */
static struct keep_block *new_block(struct keep *keep, struct keep_box *box)
{
	struct keep_block *block;
	void *memory;

	if (keep->nr_spare) {
		memory = keep->spare[--keep->nr_spare];
	} else {
		memory = keep_memory__map(box, KEEP_BLOCK_BYTES);
		keep->bytes += memory ? KEEP_BLOCK_BYTES : 0;
	}
	block = keep_block__new(box, memory);
	if (!block && memory) {
		keep_memory__unmap(box, memory, KEEP_BLOCK_BYTES);
		keep->bytes -= KEEP_BLOCK_BYTES;
	}
	return block;
}

/*
 * A file that is full makes room. Where a snapshot is being written and has all of it, records go
 * to memory outside: they will be in the next snapshot, but nobody can recover them.
 */
static int begin_block(struct keep *keep)
{
	struct keep_block *block;

	pthread_mutex_lock(&keep->lock);
	do {
		block = new_block(keep, keep->box);
	} while (!block && keep->box && keep__make_room(keep));
	if (!block && keep->box)
		block = new_block(keep, NULL);
	keep->filling = block;
	pthread_mutex_unlock(&keep->lock);
	if (!block)
		return -ENOMEM;
	block->begun = rdclock();
	return 0;
}

/* Return: length of the whole records from @pos on that fit into @space [bytes]. */
static size_t fitting(const struct records *records, size_t pos, size_t space)
{
	size_t len = records__len(records), end = pos, size;
	struct perf_event_header header;

	if (len - pos <= space)
		return len - pos;
	while ((size = records__header(records, end, &header)) && end + size - pos <= space)
		end += size;
	return end - pos;
}

/* perf inject recovers no records outside of the file, and their ring is about to be read on. */
static void note_outside(struct keep *keep)
{
	pthread_mutex_lock(&keep->lock);
	keep_box__note_dropped(keep->box, keep->filling->last, KEEP_LIMIT_MEMORY);
	pthread_mutex_unlock(&keep->lock);
}

static void copy(struct keep *keep, const struct records *records, struct ring_stats *stats)
{
	struct keep_block *block = keep->filling;
	u64 nr_records = stats->records, nr_samples = stats->samples;
	size_t len = records__len(records);

	ring_stats__add(stats, records, len);
	records__copy(records, 0, block->data + block->len, len);
	keep_block__append(block, len);
	block->records += stats->records - nr_records;
	block->samples += stats->samples - nr_samples;
	block->arrived = rdclock();
	if (!stats->run_first)
		return;
	if (!block->first || stats->run_first < block->first)
		block->first = stats->run_first;
	block->last = max(block->last, stats->run_last);
	if (keep->box && !block->slot)
		note_outside(keep);
}

static int append(struct keep *keep, const struct records *records, struct ring_stats *stats)
{
	size_t pos = 0, len = records__len(records), n;
	struct records part;
	int err;

	while (pos < len) {
		err = keep->filling ? 0 : begin_block(keep);
		if (err)
			return err;
		n = fitting(records, pos, KEEP_BLOCK_BYTES - keep->filling->len);
		if (n) {
			part = records__part(records, pos, n);
			copy(keep, &part, stats);
			pos += n;
		} else if (keep->filling->len) {
			seal(keep, false);
		} else {
			pr_warning("Malformed record: %zu bytes from there on are left out.\n",
				   len - pos);
			break;
		}
	}
	return 0;
}

/*
 * A ring that is full loses records until it has been read. If it stays silent after that, nothing
 * tells of the loss. What is read in the round after the next is published later than that, and so
 * are its times.
 */
#define UNSURE_ROUNDS	3

/* Caller holds @append. */
static void note_lost(struct keep *keep, const struct ring_stats *stats)
{
	if (!keep->box)
		return;
	keep->lost_since = max(keep->lost_since, stats->lost_at);
	if (stats->is_full)
		keep->unsure_rounds = UNSURE_ROUNDS;
	keep_box__note_lost(keep->box, keep->unsure_rounds ? UINT64_MAX : keep->lost_since);
}

/* A round has ended. The last one counts only if it has brought newer records. Likewise. */
static void become_sure(struct keep *keep)
{
	if (!keep->unsure_rounds ||
	    (keep->unsure_rounds == 1 && keep->round_newest == keep->round_before) ||
	    --keep->unsure_rounds)
		return;
	keep->lost_since = max(keep->lost_since, keep->round_newest);
	keep_box__note_lost(keep->box, keep->lost_since);
}

static int write_kept(struct record_sink *sink, const struct records *records, struct ring *ring)
{
	struct keep *keep = container_of(sink, struct keep, sink);
	bool first;
	int err;

	pthread_mutex_lock(&keep->append);
	/* Keep nothing after an error: the records of that ring would be appended twice. */
	first = !keep->no_memory;
	err = keep->no_memory ? -ENOMEM : append(keep, records, &ring->stats);
	keep->no_memory = err;
	note_lost(keep, &ring->stats);
	pthread_mutex_unlock(&keep->append);
	if (err && first)
		pr_err("\nNot enough memory to keep more records: this process cannot map another %lu MB (ulimit -v, "
		       "vm.overcommit_memory).\nThe recording ends; what is kept will be written. Use a smaller --keep than %"
		       PRIu64 "M.\n", KEEP_BLOCK_BYTES >> 20, keep->max_bytes >> 20);
	return err;
}

/*
 * Records that are appended after this mark are not older than any record before the last one
 * (rounds.h). What a ring had lost by the mark before that, the kernel tells with the first record
 * after the next visit; the visit for this mark has read it, if there is one. Caller holds @append.
 */
static void note_complete(struct keep *keep)
{
	const struct keep_block *block = keep->filling;

	if (!keep->box || (block && !block->slot))
		return;
	keep_box__note_complete(keep->box, keep->round_before);
	keep->round_before = keep->round_newest;
	pthread_mutex_lock(&keep->lock);
	keep->round_newest = max(keep->round_newest, keep->newest_record);
	pthread_mutex_unlock(&keep->lock);
	if (block)
		keep->round_newest = max(keep->round_newest, block->last);
	become_sure(keep);
}

int keep__end_round(struct keep *keep)
{
	const struct keep_block *block;

	pthread_mutex_lock(&keep->append);
	note_complete(keep);
	block = keep->filling;
	if (block &&
	    (block->len >= SEAL_BYTES || block->last - block->first >= keep__max_span(keep)))
		seal(keep, true);
	pthread_mutex_unlock(&keep->append);
	return 0;
}

/*
 * Records of rare events
 */

/* Seal the block that is filled before the age of its first record keeps too much of others. */
static void seal_old(struct keep *keep, u64 time, u64 now)
{
	const struct keep_block *block = keep->filling;
	u64 max_age = keep->max_ns / KEEP_SEAL_PART;

	if (block && block->first + max_age <= time && block->begun + max_age <= now)
		seal(keep, false);
}

void keep__age(struct keep *keep, u64 time)
{
	u64 now = rdclock();

	if (!keep->max_ns)
		return;
	pthread_mutex_lock(&keep->append);
	seal_old(keep, time, now);
	pthread_mutex_unlock(&keep->append);
	pthread_mutex_lock(&keep->lock);
	keep->newest = max(keep->newest, time);
	keep->arrived = max(keep->arrived, now);
	keep__trim(keep);
	pthread_mutex_unlock(&keep->lock);
}

/* Return: what is older than this is to be dropped [ns]. Caller holds @lock. */
static u64 end_of_first_quarter(const struct keep *keep)
{
	const struct keep_block *block;
	u64 first = UINT64_MAX;

	list_for_each_entry(block, &keep->blocks, node) {
		if (block->first)
			first = min(first, block->first);
	}
	return first < keep->newest ? first + (keep->newest - first) / 4 : first;
}

bool keep__drop_oldest(struct keep *keep, u64 time)
{
	struct keep_block *block, *next;
	bool dropped = false;
	u64 end;

	pthread_mutex_lock(&keep->append);
	if (keep->filling)
		seal(keep, false);
	pthread_mutex_lock(&keep->lock);
	end = end_of_first_quarter(keep);
	list_for_each_entry_safe(block, next, &keep->blocks, node) {
		if (dropped && block->first > end)
			break;
		if (block->last >= time)
			continue;
		keep__drop(keep, block, KEEP_LIMIT_MEMORY);
		dropped = true;
	}
	pthread_mutex_unlock(&keep->lock);
	pthread_mutex_unlock(&keep->append);
	return dropped;
}

/*
 * Snapshots
 */

void keep__request(struct keep *keep)
{
	if (!keep__enabled(keep))
		return;
	pthread_mutex_lock(&keep->lock);
	keep->requested = true;
	pthread_mutex_unlock(&keep->lock);
}

static size_t nr_blocks(const struct keep *keep)
{
	const struct keep_block *block;
	size_t nr = 0;

	list_for_each_entry(block, &keep->blocks, node)
		nr++;
	return nr;
}

static u64 advise(const struct keep *keep, const struct keep_stats *stats)
{
	u64 span = stats->end > stats->others_begin ? stats->end - stats->others_begin : 0;

	if (!keep->dropped_last || stats->limit < KEEP_LIMIT_MEMORY || !span ||
	    span >= keep->max_ns)
		return 0;
	return keep__needed_instead(keep, span);
}

/* Some cgroups reach back less far than others, see share.h. Caller holds @lock. */
static void take_cuts(const struct keep *keep, struct keep_stats *stats)
{
	const struct keep_cut *cut;

	for (cut = keep->share.cuts; cut < keep->share.cuts + keep->share.nr_cuts; cut++) {
		if (cut->last <= stats->others_begin)
			continue;
		stats->cuts[stats->nr_cuts++] = *cut;
		if (cut->last > stats->begin) {
			stats->begin = cut->last;
			stats->limit = KEEP_LIMIT_MEMORY;
		}
	}
}

/* Fill @taken. Caller holds @lock. */
static void take(struct keep *keep, struct keep_stats *stats)
{
	struct keep_block *block;
	u64 first = 0;

	list_for_each_entry(block, &keep->blocks, node) {
		keep_stats__count(stats, block);
		if (block->first && (!first || block->first < first))
			first = block->first;
		stats->end = max(stats->end, block->last);
		keep->taken[keep->nr_taken++] = block;
		block->written = true;
		block->taken = true;
		block->refs++;
		keep->taken_seq = max(keep->taken_seq, keep_block__seq(block));
	}
	stats->begin = stats->others_begin = max(first, keep->dropped_last);
	stats->limit = keep->dropped_last ? keep->limit : KEEP_NO_LIMIT;
	take_cuts(keep, stats);
	stats->advised_bytes = advise(keep, stats);
	if (!keep->overlap) {
		keep->unsaved_last = keep->dropped_last;
		keep->unsaved_limit = keep->limit;
		keep->dropped_last = 0;
	}
	keep->requested = false;
}

int keep__hand_over(struct keep *keep, struct keep_stats *stats)
{
	int err = 0;

	*stats = (struct keep_stats){ 0 };
	if (!keep__enabled(keep))
		return 0;
	pthread_mutex_lock(&keep->append);
	if (keep->filling)
		seal(keep, false);
	pthread_mutex_lock(&keep->lock);
	keep->taken = calloc(nr_blocks(keep) + 1, sizeof(*keep->taken));
	if (keep->taken)
		take(keep, stats);
	else
		err = -ENOMEM;
	pthread_mutex_unlock(&keep->lock);
	pthread_mutex_unlock(&keep->append);
	return err;
}

void keep_stats__lose(struct keep_stats *stats, u64 time)
{
	time = min(time, stats->end);
	stats->others_begin = max(stats->others_begin, time);
	if (time <= stats->begin)
		return;
	stats->begin = time;
	stats->limit = KEEP_LIMIT_LOST;
}

/*
 * Take the blocks of the snapshot out of the list, or leave them to the next snapshot if this one
 * was not saved, unless newer blocks were dropped meanwhile.
 */
static void settle(struct keep *keep, bool saved)
{
	bool leave = !saved && !keep->dropped_last;
	struct keep_block *block, *next;

	list_for_each_entry_safe(block, next, &keep->blocks, node) {
		if (!block->written)
			break;
		if (leave)
			block->written = false;
		else
			keep__drop(keep, block, keep->limit);
	}
}

/* With overlap the blocks stay in the list. Note which ones are in a file. */
static void note_saved(struct keep *keep, bool saved)
{
	struct keep_block *block;

	list_for_each_entry(block, &keep->blocks, node) {
		block->saved |= block->written && saved;
		block->written = false;
	}
}

/* The snapshot was not saved: what was dropped of it meanwhile is in no file. */
static void drop_unsaved(struct keep *keep)
{
	keep->dropped.records += keep->unsaved.records;
	keep->dropped.samples += keep->unsaved.samples;
	if (keep->unsaved_last > keep->dropped_last) {
		keep->dropped_last = keep->unsaved_last;
		keep->limit = keep->unsaved_limit;
	}
}

void keep__save_part(struct keep *keep)
{
	struct keep_block *block, *next;

	pthread_mutex_lock(&keep->lock);
	list_for_each_entry_safe(block, next, &keep->blocks, node) {
		if (!block->written || block->taken)
			break;
		block->saved = true;
		if (keep->overlap)
			continue;
		list_del_init(&block->node);
		keep__put(keep, block);
	}
	keep->unsaved = (struct keep_stats){ 0 };
	keep->unsaved_last = 0;
	if (!keep->overlap)
		keep->share.nr_cuts = 0;
	pthread_mutex_unlock(&keep->lock);
}

void keep__end_snapshot(struct keep *keep, bool saved)
{
	if (!keep__enabled(keep))
		return;
	pthread_mutex_lock(&keep->lock);
	while (keep->nr_written < keep->nr_taken)
		keep__put_taken(keep);
	if (keep->box && saved && !keep->overlap)
		keep_box__note_saved(keep->box, keep->taken_seq);
	if (keep->overlap)
		note_saved(keep, saved);
	else
		settle(keep, saved);
	if (!saved)
		drop_unsaved(keep);
	else if (!keep->overlap)
		keep->share.nr_cuts = 0;
	keep->unsaved = (struct keep_stats){ 0 };
	keep->unsaved_last = 0;
	keep__trim(keep);
	pthread_mutex_unlock(&keep->lock);
	zfree(&keep->taken);
	keep->nr_taken = keep->nr_written = 0;
}

/* Return: what the block takes in a file [bytes]: records take twice their columns. */
static u64 file_bytes(const struct keep_block *block)
{
	return block->file_len ?: block->form == KEEP_COMPRESSED ? 2 * block->len : block->len;
}

static struct keep_block *find_waiting(struct keep *keep)
{
	struct keep_block *block;

	list_for_each_entry(block, &keep->blocks, node) {
		if (block->form == KEEP_RAW || block->form == KEEP_COMPRESSING)
			return block;
	}
	return NULL;
}

/* The compressor's thread may drop blocks meanwhile. Caller holds @lock. */
static void wait_all_compressed(struct keep *keep)
{
	struct keep_block *block;

	while ((block = find_waiting(keep))) {
		block->refs++;
		keep__wait_compressed(keep, block);
		keep__put(keep, block);
	}
}

bool keep__limit_size(struct keep *keep, u64 max_bytes)
{
	struct keep_block *block, *next;
	u64 bytes = 0;

	pthread_mutex_lock(&keep->lock);
	wait_all_compressed(keep);
	list_for_each_entry(block, &keep->blocks, node)
		bytes += file_bytes(block);
	list_for_each_entry_safe(block, next, &keep->blocks, node) {
		if (bytes <= max_bytes)
			break;
		bytes -= file_bytes(block);
		keep__drop(keep, block, KEEP_LIMIT_SPACE);
	}
	pthread_mutex_unlock(&keep->lock);
	return bytes;
}

void keep__synced(struct keep *keep, u64 time)
{
	keep->synced_time = time;
}

u64 keep__horizon(struct keep *keep)
{
	const struct keep_block *block;
	u64 horizon = keep->synced_time;

	pthread_mutex_lock(&keep->append);
	if (keep->filling && keep->filling->first)
		horizon = min(horizon, keep->filling->first);
	pthread_mutex_lock(&keep->lock);
	list_for_each_entry(block, &keep->blocks, node) {
		if (block->first)
			horizon = min(horizon, block->first);
	}
	pthread_mutex_unlock(&keep->lock);
	pthread_mutex_unlock(&keep->append);
	return horizon;
}

const char *keep_limit__name(enum keep_limit limit)
{
	static const char * const names[] = {
		[KEEP_NO_LIMIT]	    = "none",
		[KEEP_LIMIT_TIME]   = "time",
		[KEEP_LIMIT_MEMORY] = "memory",
		[KEEP_LIMIT_CPU]    = "cpu",
		[KEEP_LIMIT_LOST]   = "lost",
		[KEEP_LIMIT_SPACE]  = "space",
	};

	return names[limit];
}

/*
 * Begin and end
 */

int keep__init(struct keep *keep)
{
	int err;

	if (!keep__enabled(keep))
		return 0;
	keep->sink.write = write_kept;
	thread__init_lock(&keep->append);
	thread__init_lock(&keep->lock);
	pthread_cond_init(&keep->work, NULL);
	pthread_cond_init(&keep->compressed, NULL);
	INIT_LIST_HEAD(&keep->blocks);
	INIT_LIST_HEAD(&keep->raw);
	err = keep->file ? keep_box__new(keep->file, keep->max_bytes, &keep->box) : 0;
	if (err)
		return err;
	keep__measure(keep);
	err = restorer__init(&keep->restorer, keep->level) ?: keep__start_compressor(keep);
	if (err)
		pr_err("Cannot create the thread that compresses what is kept: %s\n",
		       strerror(-err));
	return err;
}

/* Blocks in the file of --keep-file stay there: the file is removed as a whole, or remains. */
static void free_blocks(struct keep *keep)
{
	struct keep_block *block, *next;
	void *memory;

	if (keep->filling)
		keep_block__discard(keep->filling);
	list_for_each_entry_safe(block, next, &keep->blocks, node)
		keep_block__discard(block);
	while (keep->nr_spare) {
		memory = keep->spare[--keep->nr_spare];
		if (!keep->box)
			keep_memory__unmap(NULL, memory, KEEP_BLOCK_BYTES);
	}
}

void keep__exit(struct keep *keep)
{
	if (!keep->sink.write)
		return;
	keep__stop_compressor(keep);
	restorer__exit(&keep->restorer);
	free_blocks(keep);
	if (keep->box)
		keep_box__delete(keep->box, !keep->unsaved_end);
	keep->box = NULL;
	journal__exit(&keep->journal);
	keep->sink.write = NULL;
}
