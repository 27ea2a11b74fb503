// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packed entries of the log of the live state: unpacked, they are what they were.
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include <stdlib.h>
#include <string.h>
#include <linux/bitmap.h>
#include <linux/err.h>
#include "recording/state/log.h"
#include "recording/state/log.h"
#include "recording/state/log_block.h"
#include "state_fixture.h"
#include "../random.h"
#include "perf/tests/tap.h"

#define NR	LOG_BLOCK_ENTRIES

static struct id_format format;
static struct log_packer *packer;
static u64 seed;

/* Entries as they were added, with copies of their records. */
static struct log_entry entry[NR];
static struct sb_record *copy[NR];

static u64 draw(u64 below)
{
	return random_below(&seed, below);
}

static struct sb_record *new_record(u32 type, size_t body, const char *name)
{
	static u64 words[(UINT16_MAX + 1) / sizeof(u64)];
	union perf_event *event = (void *)words;
	size_t i, size = body + HISTORY_ID_SIZE;
	struct sb_record *record;
	struct records run;

	for (i = 0; i < size / sizeof(u64); i++)
		words[i] = draw(4) ? draw(3) : draw(UINT64_MAX);
	event->header = (struct perf_event_header){ .type = type, .misc = draw(3), .size = size };
	if (name)
		strcpy(event->mmap2.filename, name);
	run = records__of(words, size);
	record = sb_record__new(&format, &run, 0, size);
	if (IS_ERR(record))
		abort();
	return record;
}

/* A map of one of a few files, a record that resembles no other, or one of any size. */
static struct sb_record *draw_record(size_t max_body)
{
	static const char * const names[] = { "/bin/true", "/lib/libc.so.6", "[vdso]" };

	if (draw(4))
		return new_record(PERF_RECORD_MMAP2,
				  offsetof(struct perf_record_mmap2, filename) + 16,
				  names[draw(ARRAY_SIZE(names))]);
	return new_record(PERF_RECORD_SWITCH, 8 + draw(max_body / 8) * 8, NULL);
}

static void fill(size_t nr, size_t max_body)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		entry[i] = (struct log_entry){
			.record = draw_record(max_body),
			.task = (void *)(uintptr_t)(draw(2) ? 0 : draw(UINT64_MAX)),
			.file = draw(3) ? 7 : draw(UINT32_MAX),
		};
		copy[i] = malloc(sizeof(struct sb_record) + entry[i].record->header.size);
		if (!copy[i])
			abort();
		memcpy(copy[i], entry[i].record, offsetof(struct sb_record, header) +
		       entry[i].record->header.size);
	}
}

static void drop_copies(size_t nr)
{
	while (nr--)
		free(copy[nr]);
}

static bool is_equal(const struct log_entry *unpacked, size_t i)
{
	return unpacked->task == entry[i].task && unpacked->file == entry[i].file &&
	       unpacked->record->time == copy[i]->time &&
	       !memcmp(&unpacked->record->header, &copy[i]->header, copy[i]->header.size);
}

static void put_shared(struct log_block *block)
{
	struct log_entry *unpacked = log_packer__unpack(packer, block);
	size_t i;

	for (i = 0; i < block->nr; i++) {
		if (unpacked[i].record && unpacked[i].record->refcount)
			sb_record__put(unpacked[i].record);
	}
	free(block);
}

static void test_round_trips(void)
{
	size_t round, i, nr_wrong = 0, nr_shared = 0, before = sb_records__bytes();
	struct log_entry *unpacked;
	struct log_block *block;

	for (round = 0; round < 100; round++) {
		fill(NR, 100);
		for (i = 0; i < NR; i += 1 + draw(50))
			sb_record__get(entry[i].record);
		block = log_packer__pack(packer, entry, NR);
		if (!block || block->nr != NR)
			abort();
		unpacked = log_packer__unpack(packer, block);
		for (i = 0; i < NR; i++) {
			nr_wrong += !is_equal(&unpacked[i], i);
			if (!unpacked[i].record->refcount)
				continue;
			nr_shared++;
			nr_wrong += unpacked[i].record != entry[i].record;
			sb_record__put(entry[i].record);
		}
		put_shared(block);
		drop_copies(NR);
	}
	check(!nr_wrong && nr_shared, "unpacked entries are equal to the packed ones");
	check(sb_records__bytes() == before, "a block has references to shared records only");
}

/* A block has as many entries as there is space for; the others stay with the caller. */
static void test_large(void)
{
	struct log_entry *unpacked;
	struct log_block *block;
	size_t i, nr_wrong = 0, nr_parts = 0, nr;
	int round;

	for (round = 0; round < 20; round++) {
		fill(20, UINT16_MAX - 8 - HISTORY_ID_SIZE);
		block = log_packer__pack(packer, entry, 20);
		if (!block)
			abort();
		nr = block->nr;
		nr_wrong += !nr;
		nr_parts += nr < 20;
		unpacked = log_packer__unpack(packer, block);
		for (i = 0; i < nr; i++)
			nr_wrong += !is_equal(&unpacked[i], i);
		for (; i < 20; i++) {
			nr_wrong += entry[i].record->refcount != 1;
			sb_record__put(entry[i].record);
		}
		free(block);
		drop_copies(20);
	}
	check(!nr_wrong && nr_parts, "large records are packed, as many as fit");
}

static void test_marks(void)
{
	struct log_entry *unpacked;
	struct log_block *block, *again;

	fill(10, 100);
	entry[3].file = entry[4].file = entry[5].file = 7;
	block = log_packer__pack(packer, entry, 10);
	if (!block)
		abort();
	block->file = 8;
	block->nr_written = 5;
	__set_bit(3, block->dropped);
	unpacked = log_packer__unpack(packer, block);
	check(!unpacked[3].record && unpacked[2].record, "dropped entries have no records");
	check(unpacked[4].file == 8 && unpacked[5].file == 7, "the first entries are in the file");
	again = log_packer__pack(packer, unpacked + 4, 6);
	if (!again)
		abort();
	free(block);
	unpacked = log_packer__unpack(packer, again);
	entry[4].file = 8;
	check(is_equal(&unpacked[0], 4) && is_equal(&unpacked[1], 5) && is_equal(&unpacked[5], 9),
	      "unpacked entries can be packed again");
	free(again);
	drop_copies(10);
}

/* A log_filter_t: keep the first of @arg entries */
static bool keep_first(void *arg, struct log_entry *kept)
{
	size_t *nr = arg;

	(void)kept;
	return *nr && (*nr)--;
}

/* One that is left is packed alone. */
static void test_last_entry(void)
{
	struct state_log log;
	size_t i, nr = 20;

	state_log__init(&log, &format);
	log.max_unpacked = nr / 2;
	for (i = 0; i < nr; i++) {
		if (state_log__add(&log, draw_record(100), 0))
			abort();
	}
	state_log__apply(&log, UINT64_MAX, keep_first, &nr);
	state_log__pack(&log);
	nr = 1;
	state_log__filter(&log, keep_first, &nr);
	check(log.nr_blocks == 1 && log.nr_packed == 1, "one of the packed entries is left");
	nr = 0;
	state_log__filter(&log, keep_first, &nr);
	check(!log.nr_blocks && !log.block_bytes,
	      "no block is left when its last entry is dropped");
	state_log__exit(&log);
}

/* The log subtracts for each entry what it has added for it. */
static void test_bytes(void)
{
	struct sb_record *shared[20];
	size_t i, nr = ARRAY_SIZE(shared), all, bytes = 0, left;
	struct state_log log;

	state_log__init(&log, &format);
	log.max_unpacked = nr / 2;
	for (i = 0; i < nr; i++) {
		shared[i] = draw_record(100);
		if (state_log__add(&log, sb_record__get(shared[i]), 0))
			abort();
	}
	all = log.bytes;
	left = nr;
	state_log__apply(&log, UINT64_MAX, keep_first, &left);
	state_log__pack(&log);
	for (i = 0; i < log.nr; i++)
		bytes += log_entry__bytes(&log.entries[i]);
	check(log.nr_blocks == 1 && log.bytes == bytes, "packed entries are not counted as others");
	check(log.shared_bytes == all - bytes, "shared records are counted beside the block");
	left = 7;
	state_log__filter(&log, keep_first, &left);
	check(log.shared_bytes < all - bytes && !log.bytes && log.nr_packed == 7,
	      "dropped ones are not");
	left = 0;
	state_log__filter(&log, keep_first, &left);
	check(!state_log__total_bytes(&log) && !log.nr_packed,
	      "nothing is left of dropped entries");
	for (i = 0; i < nr; i++)
		sb_record__put(shared[i]);
	state_log__exit(&log);
}

int main(void)
{
	history__format(&format);
	packer = log_packer__new(&format);
	if (!packer)
		abort();
	test_round_trips();
	test_large();
	test_marks();
	test_last_entry();
	test_bytes();
	log_packer__free(packer);
	return tap_end();
}
