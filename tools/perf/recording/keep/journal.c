// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include <internal/lib.h>
#include "util/debug.h"
#include "util/time-utils.h"
#include "recording/lib/array.h"
#include "recording/lib/records.h"
#include "recording/write/zstd_records.h"
#include "budget.h"
#include "drop.h"
#include "journal.h"
#include "keep_data.h"

/* Records since the last generation: at least this part of the file, before a new one is due. */
#define DUE_PART	32

/* While there is no room for a complete generation, try again after this time. */
#define RETRY_NS	(10 * NSEC_PER_SEC)

/*
 * Allocate an extent. Blocks of events make room, as long as half of the file is left to them.
 * Caller holds @lock.
 */
static void *alloc(struct keep *keep, size_t len)
{
	void *data;

	if (keep->journal.mapped + len > keep_box__capacity(keep->box) / 2)
		return NULL;
	do {
		data = keep_box__alloc(keep->box, len);
	} while (!data && keep__make_room(keep));
	if (data)
		keep->journal.mapped += round_up(len, page_size);
	return data;
}

static void release(struct keep *keep, void *data, size_t len)
{
	keep_box__free(keep->box, data, len);
	keep->journal.mapped -= round_up(len, page_size);
}

/* A reader is told that names may be missing. */
static void lose(struct keep *keep, const struct records *records)
{
	struct record_iter iter;

	records__for_each(records, iter)
		keep->box->header->incomplete++;
	keep->journal.incomplete = true;
	keep->journal.failed_ns = rdclock();
}

/*
 * Full extents
 */

/* Note a full extent, to free it with its generation. Return: false: no memory. */
static bool note_extent(struct journal *journal, struct box_slot *slot, void *data, size_t len)
{
	if (array__grow(&journal->extents, journal->nr_extents, 1, sizeof(*journal->extents),
			&journal->max_extents))
		return false;
	journal->extents[journal->nr_extents++] = (struct journal_extent){
		slot, data, round_up(len, page_size), journal->generation,
	};
	return true;
}

/* Return: length of the compressed form in @compressed, or 0 if it is not smaller. */
static size_t compress(struct keep *keep)
{
	struct journal *journal = &keep->journal;
	ssize_t len;

	if (!keep->level)
		return 0;
	if (!journal->compressed) {
		journal->compressed = malloc(ZSTD_RECORDS_BYTES(KEEP_BLOCK_BYTES));
		zstd_init(&journal->zstd, keep->level);
	}
	if (!journal->compressed)
		return 0;
	len = zstd_records__compress(&journal->zstd, keep->level, journal->data, journal->len,
				     journal->compressed, true);
	if (len < 0)		/* a stream after an error is in no defined state */
		zstd_fini(&journal->zstd);
	return len > 0 && (size_t)len < journal->len ? len : 0;
}

/* Return: does the compressed form, @len bytes, replace the extent? Caller holds @lock. */
static bool replace(struct keep *keep, struct box_slot *fields, size_t len)
{
	struct journal *journal = &keep->journal;
	void *copy = alloc(keep, len);
	struct box_slot *slot;

	if (!copy)
		return false;
	memcpy(copy, journal->compressed, len);
	fields->len = len;
	fields->encoding = BOX_ZSTD_RECORDS;
	fields->data_sum = checksum(copy, len);
	slot = keep_box__add(keep->box, fields, copy);
	if (slot && note_extent(journal, slot, copy, len)) {
		keep_box__free_slot(keep->box, journal->slot);
		release(keep, journal->data, KEEP_BLOCK_BYTES);
		return true;
	}
	if (slot)
		keep_box__free_slot(keep->box, slot);
	release(keep, copy, len);
	return false;
}

/* The extent stays as it is, without the pages behind the records. Caller holds @lock. */
static void trim(struct keep *keep, struct box_slot *fields)
{
	struct journal *journal = &keep->journal;
	size_t used = max(round_up(journal->len, page_size), (size_t)page_size);

	fields->len = journal->len;
	fields->encoding = BOX_RECORDS;
	fields->data_sum = checksum(journal->data, journal->len);
	keep_box__close(journal->slot, fields);
	if (!note_extent(journal, journal->slot, journal->data, used))
		return;			/* its pages are not used again */
	if (used < KEEP_BLOCK_BYTES)
		release(keep, journal->data + used, KEEP_BLOCK_BYTES - used);
}

static void end_extent(struct keep *keep)
{
	struct journal *journal = &keep->journal;
	struct box_slot fields;
	size_t len;

	if (!journal->data)
		return;
	len = compress(keep);
	pthread_mutex_lock(&keep->lock);
	fields = (struct box_slot){
		.kind = BOX_SIDEBAND, .generation = journal->generation, .seq = journal->slot->seq,
		.raw_len = journal->len,
	};
	if (!len || !replace(keep, &fields, len))
		trim(keep, &fields);
	pthread_mutex_unlock(&keep->lock);
	journal->data = NULL;
	journal->slot = NULL;
	keep__measure(keep);
}

static bool begin_extent(struct keep *keep)
{
	struct journal *journal = &keep->journal;

	pthread_mutex_lock(&keep->lock);
	journal->data = alloc(keep, KEEP_BLOCK_BYTES);
	if (journal->data)
		journal->slot = keep_box__open(keep->box, BOX_SIDEBAND, journal->generation,
					       journal->data);
	if (journal->data && !journal->slot) {
		release(keep, journal->data, KEEP_BLOCK_BYTES);
		journal->data = NULL;
	}
	pthread_mutex_unlock(&keep->lock);
	journal->len = 0;
	return journal->data;
}

/*
 * Append
 */

static void append(struct keep *keep, const struct records *records, size_t len)
{
	struct journal *journal = &keep->journal;

	if (journal->data && KEEP_BLOCK_BYTES - journal->len < len)
		end_extent(keep);
	if (!journal->data && !begin_extent(keep)) {
		lose(keep, records);
		return;
	}
	records__copy(records, 0, journal->data + journal->len, len);
	journal->len += len;
	keep_box__set_len(journal->slot, journal->len);
}

/* Append as many records at once as fit into any extent, and no part of a malformed one. */
void journal__add(struct keep *keep, const struct records *records)
{
	struct record_iter iter;
	struct records part;
	size_t begin = 0;

	if (!keep->box || !keep->journal.generation)
		return;
	records__for_each(records, iter) {
		if (iter.pos + iter.size - begin <= KEEP_BLOCK_BYTES / 4)
			continue;
		part = records__part(records, begin, iter.pos - begin);
		append(keep, &part, iter.pos - begin);
		begin = iter.pos;
	}
	part = records__part(records, begin, iter.pos - begin);
	if (iter.pos > begin)
		append(keep, &part, iter.pos - begin);
}

/*
 * Generations
 */

bool journal__due(const struct keep *keep)
{
	const struct journal *journal = &keep->journal;

	if (!keep->box)
		return false;
	if (journal->incomplete)
		return rdclock() - journal->failed_ns >= RETRY_NS;
	return journal->mapped - journal->state_bytes >
	       max(journal->state_bytes, keep->box->bytes / DUE_PART);
}

void journal__begin_state(struct keep *keep)
{
	struct journal *journal = &keep->journal;

	if (!keep->box)
		return;
	end_extent(keep);
	journal->generation++;
	journal->incomplete = false;
	journal->missing_before = keep->box->header->incomplete;
}

/* Free the extents of one generation, or those of all others. Caller holds @lock. */
static void free_extents(struct keep *keep, u64 generation, bool others)
{
	struct journal *journal = &keep->journal;
	struct journal_extent *extent;
	size_t i, nr = 0;

	for (i = 0; i < journal->nr_extents; i++) {
		bool other;

		extent = &journal->extents[i];
		other = extent->generation != generation;
		if (other != others) {
			journal->extents[nr++] = *extent;
			continue;
		}
		keep_box__free_slot(keep->box, extent->slot);
		release(keep, extent->data, extent->mapped);
	}
	journal->nr_extents = nr;
}

/* The generation before is still whole, and its records continue in the next extent. */
static void give_up(struct keep *keep)
{
	struct journal *journal = &keep->journal;

	free_extents(keep, journal->generation--, false);
	keep->box->header->incomplete = journal->missing_before;
	pr_debug("The live state does not fit into %s.\n", keep->box->path);
}

void journal__end_state(struct keep *keep)
{
	struct journal *journal = &keep->journal;

	if (!keep->box)
		return;
	end_extent(keep);
	pthread_mutex_lock(&keep->lock);
	if (journal->incomplete && journal->generation > 1) {
		give_up(keep);
	} else {
		keep_box__set_generation(keep->box, journal->generation);
		if (!journal->incomplete)
			keep->box->header->incomplete = 0;
		free_extents(keep, journal->generation, true);
		journal->state_bytes = journal->mapped;
	}
	pthread_mutex_unlock(&keep->lock);
	pr_debug2("The live state takes %" PRIu64 " kB of %s.\n", journal->state_bytes >> 10,
		  keep->box->path);
	keep__measure(keep);
}

void journal__exit(struct journal *journal)
{
	zstd_fini(&journal->zstd);
	zfree(&journal->compressed);
	zfree(&journal->extents);
	*journal = (struct journal){ 0 };
}
