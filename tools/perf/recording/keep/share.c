// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "drop.h"
#include "pack.h"
#include "share.h"

/* Of records without a cgroup; the kernel gives this id to none. */
#define NO_CGROUP		0

/* In a block, and in all; samples of others are not counted. */
#define MAX_HOLDERS		64
#define MAX_ALL_HOLDERS		256

/* Blocks that are thinned at once; in a file, a slot can replace only one other. */
#define MAX_RUN			32

/*
 * Cgroups of samples
 */

/*
 * Return: length of a sample from its cgroup on [bytes], or 0: none, or not known before parsing.
 */
static unsigned int tail_of(u64 type)
{
	if (!(type & PERF_SAMPLE_CGROUP) || type & PERF_SAMPLE_AUX)
		return 0;
	return sizeof(u64) * (1 + hweight64(type & (PERF_SAMPLE_DATA_PAGE_SIZE |
						    PERF_SAMPLE_CODE_PAGE_SIZE)));
}

static unsigned int find_tail(struct evlist *evlist)
{
	unsigned int tail = 0, other;
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel__is_kept(evsel))
			continue;
		other = tail_of(evsel->core.attr.sample_type);
		if (!other || (tail && other != tail)) {
			pr_warning("--keep-share: not all samples have their cgroup at the same place: the "
				   "memory is not shared.\n");
			return 0;
		}
		tail = other;
	}
	return tail;
}

static u64 cgroup_of(const struct perf_event_header *header, unsigned int tail)
{
	u64 cgroup;

	if (header->type != PERF_RECORD_SAMPLE || header->size < sizeof(*header) + tail)
		return NO_CGROUP;
	memcpy(&cgroup, (const void *)header + header->size - tail, sizeof(cgroup));
	return cgroup;
}

/* Return: the entry of @cgroup, or NULL if there are @max others. */
static struct keep_holder *find_holder(struct keep_holder *holders, unsigned int *nr,
				       unsigned int max, u64 cgroup)
{
	unsigned int i;

	for (i = 0; i < *nr; i++) {
		if (holders[i].cgroup == cgroup)
			return &holders[i];
	}
	if (i == max)
		return NULL;
	holders[(*nr)++] = (struct keep_holder){ .cgroup = cgroup };
	return &holders[i];
}

struct keep_holders *keep_holders__count(struct keep *keep, const void *records, size_t len)
{
	struct keep_holder found[MAX_HOLDERS], *holder = NULL;
	const struct perf_event_header *header;
	struct keep_share *share = &keep->share;
	struct keep_holders *holders;
	unsigned int nr = 0;
	size_t pos;
	u64 cgroup;

	if (!share->enabled)
		return NULL;
	if (!share->tail && keep->evlist)
		share->tail = find_tail(keep->evlist);
	share->enabled = share->tail;
	for (pos = 0; pos < len && share->enabled; pos += header->size) {
		header = records + pos;
		cgroup = cgroup_of(header, share->tail);
		if (!holder || holder->cgroup != cgroup)
			holder = find_holder(found, &nr, MAX_HOLDERS, cgroup);
		if (holder)
			holder->bytes += header->size;
	}
	holders = share->enabled ? malloc(sizeof(*holders) + nr * sizeof(*found)) : NULL;
	if (holders) {
		holders->nr = nr;
		memcpy(holders->holder, found, nr * sizeof(*found));
	}
	return holders;
}

static u64 bytes_of(const struct keep_block *block, u64 cgroup)
{
	unsigned int i;

	for (i = 0; block->holders && i < block->holders->nr; i++) {
		if (block->holders->holder[i].cgroup == cgroup)
			return block->holders->holder[i].bytes;
	}
	return 0;
}

/* Return: the memory that @bytes of the records take as part of the block [bytes]. */
static u64 share_of(const struct keep_block *block, u64 bytes)
{
	return bytes * block->mapped / block->raw_len;
}

/* Return: the cgroup that has most memory, or NO_CGROUP. Caller holds @lock. */
static u64 find_largest(const struct keep *keep)
{
	struct keep_holder all[MAX_ALL_HOLDERS], *largest = NULL, *holder;
	const struct keep_block *block;
	unsigned int nr = 0, i;

	list_for_each_entry(block, &keep->blocks, node) {
		for (i = 0; block->holders && i < block->holders->nr; i++) {
			holder = find_holder(all, &nr, MAX_ALL_HOLDERS,
					     block->holders->holder[i].cgroup);
			if (holder)
				holder->bytes += share_of(block, block->holders->holder[i].bytes);
			if (holder && (!largest || holder->bytes > largest->bytes))
				largest = holder;
		}
	}
	return largest ? largest->cgroup : NO_CGROUP;
}

/* Return: the entry of @cgroup, or NULL if too many others have entries. Caller holds @lock. */
static struct keep_cut *find_cut(struct keep *keep, u64 cgroup)
{
	struct keep_share *share = &keep->share;
	unsigned int i, nr = 0;

	for (i = 0; i < share->nr_cuts; i++) {		/* forget what all have lost since then */
		if (share->cuts[i].last > keep->dropped_last)
			share->cuts[nr++] = share->cuts[i];
	}
	share->nr_cuts = nr;
	for (i = 0; i < nr; i++) {
		if (share->cuts[i].cgroup == cgroup)
			return &share->cuts[i];
	}
	if (nr == KEEP_MAX_CUTS)
		return NULL;
	share->cuts[share->nr_cuts++] = (struct keep_cut){ .cgroup = cgroup };
	return &share->cuts[nr];
}

/*
 * Thin
 */

/**
 * struct run - adjoining blocks that are thinned
 * @cgroup:	loses its samples
 * @blocks:	@nr blocks, each with a reference
 * @holders:	of what is left
 * @first, @last: times of the records that they had
 * @arrived:	when the last of them arrived
 * @nr_removed:	samples of @cgroup
 * @len:	length of what is left [bytes]
 */
struct run {
	u64			 cgroup;
	struct keep_block	*blocks[MAX_RUN];
	unsigned int		 nr;
	struct keep_holders	*holders;
	u64			 first;
	u64			 last;
	u64			 arrived;
	u64			 nr_removed;
	size_t			 len;
};

/*
 * So much memory is left for blocks that wait to be packed: as much as they took lately. Where it
 * is not enough, readers drop whole blocks. Caller holds @lock.
 */
static u64 reserve(struct keep *keep)
{
	u64 *peak = &keep->share.raw_peak;

	*peak = max(keep->raw_bytes, *peak - *peak / 256);
	return min(max(*peak, keep->limit_bytes / 4), keep->limit_bytes / 2);
}

/* Return: the memory of packed blocks [bytes]. Caller holds @lock. */
static u64 packed_bytes(const struct keep *keep)
{
	return keep->bytes - keep->raw_bytes - keep->nr_spare * KEEP_BLOCK_BYTES;
}

static void extend_times(struct run *run, const struct keep_block *block)
{
	run->first = min(run->first ?: block->first, block->first ?: run->first);
	run->last = max(run->last, block->last);
	run->arrived = max(run->arrived, block->arrived);
}

static void add(struct run *run, struct keep_block *block)
{
	extend_times(run, block);
	run->blocks[run->nr++] = block;
	block->refs++;
}

/* Find the oldest blocks that have samples of the cgroup. Caller holds @lock. */
static void find_run(struct keep *keep, struct run *run, u64 enough)
{
	unsigned int max_blocks = keep->box ? 1 : MAX_RUN;
	u64 freed = 0, max_span = keep__max_span(keep), first;
	struct keep_block *block;

	list_for_each_entry(block, &keep->blocks, node) {
		if (block->written || run->nr == max_blocks || freed >= enough)
			break;
		if (!run->nr && !bytes_of(block, run->cgroup))
			continue;
		first = min(run->first ?: block->first, block->first);
		if (run->nr && (!block->holders || block->saved != run->blocks[0]->saved ||
				max(run->last, block->last) - first > max_span))
			break;
		freed += share_of(block, bytes_of(block, run->cgroup));
		add(run, block);
	}
}

/* Drop the references of the blocks from @from on. Caller holds @lock. */
static void release(struct keep *keep, struct run *run, unsigned int from)
{
	while (run->nr > from)
		keep__put(keep, run->blocks[--run->nr]);
}

/* Leave out the blocks from @nr on, and their times. Caller holds @lock. */
static void shorten(struct keep *keep, struct run *run, unsigned int nr)
{
	unsigned int i;

	release(keep, run, nr);
	run->first = run->last = run->arrived = 0;
	for (i = 0; i < nr; i++)
		extend_times(run, run->blocks[i]);
}

/* Return: have the blocks samples of the cgroup and nothing else? */
static bool is_all(const struct run *run)
{
	unsigned int i;

	for (i = 0; i < run->nr; i++) {
		if (bytes_of(run->blocks[i], run->cgroup) != run->blocks[i]->raw_len)
			return false;
	}
	return true;
}

/* Return: the records of the block, or NULL if they cannot be restored. */
static const void *restore(struct keep_share *share, const struct keep_block *block)
{
	void *records = block->data;

	if (block->form == KEEP_COMPRESSED &&
	    keep_unpacker__unpack(share->unpacker, block->data, block->len, &records) !=
	    (ssize_t)block->raw_len)
		return NULL;
	return records;
}

/* Append what @records have of other cgroups. Return: did it fit? */
static bool append_others(struct keep_share *share, struct run *run, const void *records,
			  size_t len)
{
	const struct perf_event_header *header;
	size_t pos, begin = run->len;
	u64 nr_removed = 0;

	for (pos = 0; pos < len; pos += header->size) {
		header = records + pos;
		if (cgroup_of(header, share->tail) == run->cgroup) {
			nr_removed++;
			continue;
		}
		if (run->len + header->size > KEEP_BLOCK_BYTES) {
			run->len = begin;
			return false;
		}
		memcpy(share->records + run->len, header, header->size);
		run->len += header->size;
	}
	run->nr_removed += nr_removed;
	return true;
}

/* Return: number of blocks of which the other records were copied. */
static unsigned int filter(struct keep *keep, struct run *run)
{
	const void *records;
	unsigned int i;

	for (i = 0; i < run->nr; i++) {
		records = restore(&keep->share, run->blocks[i]);
		if (!records || !append_others(&keep->share, run, records, run->blocks[i]->raw_len))
			break;
	}
	return i;
}

/* Return: is the run as find_run() has found it? Caller holds @lock. */
static bool is_unchanged(const struct run *run)
{
	unsigned int i;

	for (i = 0; i < run->nr; i++) {
		if (list_empty(&run->blocks[i]->node) || run->blocks[i]->written)
			return false;
	}
	return run->nr;
}

/*
 * Replace the first block by what is left of all, @len bytes at @data. Return: false if there was
 * no memory. Caller holds @lock.
 */
static bool replace(struct keep *keep, struct run *run, const void *data, size_t len, bool packed)
{
	struct keep_block *block = run->blocks[0], before = *block;
	unsigned int i;
	void *memory;

	for (i = 1; i < run->nr; i++) {
		block->records += run->blocks[i]->records;
		block->samples += run->blocks[i]->samples;
	}
	block->records -= run->nr_removed;
	block->samples -= run->nr_removed;
	block->raw_len = run->len;
	block->first = run->first;
	block->last = run->last;
	block->arrived = run->arrived;
	block->ends_round = run->blocks[run->nr - 1]->ends_round;
	memory = keep_block__replace(block, data, len, packed);
	if (!memory) {
		*block = before;
		return false;
	}
	keep_memory__unmap(keep->box, memory, before.mapped);
	keep->bytes += block->mapped;
	keep->bytes -= before.mapped;
	block->form = packed ? KEEP_COMPRESSED : KEEP_INCOMPRESSIBLE;
	free(block->holders);
	block->holders = run->holders;
	run->holders = NULL;
	return true;
}

/*
 * The samples of the cgroup are dropped, and the blocks but the first are part of it. Caller holds
 * @lock.
 */
static void note_cut(struct keep *keep, struct run *run, struct keep_cut *cut)
{
	struct keep_block *block = run->blocks[0];

	cut->last = max(cut->last, run->last);
	cut->records += run->nr_removed;
	if (!block->saved) {
		keep->dropped.records += run->nr_removed;
		keep->dropped.samples += run->nr_removed;
	}
}

/*
 * Let the file say so before the slot is replaced or freed (D of box_format.h). If it cannot be
 * replaced, the file claims less than it has. Caller holds @lock.
 */
static void note_dropped(struct keep *keep, const struct run *run)
{
	if (keep->box && keep_block__seq(run->blocks[0]) > keep->box->header->saved)
		keep_box__note_dropped(keep->box, run->last, KEEP_LIMIT_MEMORY);
}

/* Remove the blocks from the list from @from on. Caller holds @lock. */
static void remove_blocks(struct keep *keep, struct run *run, unsigned int from)
{
	unsigned int i;

	for (i = from; i < run->nr; i++) {
		list_del_init(&run->blocks[i]->node);
		keep__put(keep, run->blocks[i]);
	}
}

static void drop_all(struct keep *keep, struct run *run, struct keep_cut *cut)
{
	unsigned int i;

	run->nr_removed = 0;
	for (i = 0; i < run->nr; i++)
		run->nr_removed += run->blocks[i]->records;
	note_cut(keep, run, cut);
	remove_blocks(keep, run, 0);
}

static void finish(struct keep *keep, struct run *run, const void *packed, size_t len)
{
	struct keep_cut *cut = is_unchanged(run) ? find_cut(keep, run->cgroup) : NULL;

	if (!cut)
		return;
	note_dropped(keep, run);
	if (!run->len) {
		drop_all(keep, run, cut);
	} else if (replace(keep, run, len ? packed : keep->share.records, len ?: run->len, len)) {
		note_cut(keep, run, cut);
		remove_blocks(keep, run, 1);
	}
}

static bool allocate(struct keep_share *share)
{
	if (!share->unpacker)
		share->unpacker = keep_unpacker__new(KEEP_BLOCK_BYTES);
	if (!share->records)
		share->records = malloc(KEEP_BLOCK_BYTES);
	return share->unpacker && share->records;
}

bool keep__thin(struct keep *keep)
{
	u64 used = packed_bytes(keep), left = reserve(keep);
	struct run run = { 0 };
	const void *packed = NULL;
	unsigned int nr;
	size_t len = 0;

	if (!keep->share.enabled || used + left <= keep->limit_bytes)
		return false;
	run.cgroup = find_largest(keep);
	if (run.cgroup == NO_CGROUP || !find_cut(keep, run.cgroup) || !allocate(&keep->share))
		return false;
	find_run(keep, &run, used + left - keep->limit_bytes + keep->limit_bytes / 32);
	nr = run.nr;
	if (!is_all(&run)) {
		pthread_mutex_unlock(&keep->lock);
		nr = filter(keep, &run);
		if (run.len) {
			len = keep_packer__pack(keep->packer, keep->share.records, run.len, false,
						&packed);
			run.holders = keep_holders__count(keep, keep->share.records, run.len);
		}
		pthread_mutex_lock(&keep->lock);
	}
	shorten(keep, &run, nr);
	finish(keep, &run, packed, len);
	release(keep, &run, 0);
	free(run.holders);
	return packed_bytes(keep) < used;
}

void keep__exit_share(struct keep *keep)
{
	keep_unpacker__free(keep->share.unpacker);
	keep->share.unpacker = NULL;
	zfree(&keep->share.records);
}
