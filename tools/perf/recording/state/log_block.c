// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <linux/bitmap.h>
#include <linux/kernel.h>
#ifdef HAVE_ZSTD_SUPPORT
#include <zstd.h>
#endif
#include "log_block.h"
#include "log_entry.h"
#include "sb_record.h"

/* Limit for the records of a block, as they are in memory [bytes]. */
#define MAX_RECORD_BYTES	(96U << 10)

/* At most, a word of 4 bytes takes 5 and a bit of the mask; an entry takes 32 beside its record. */
#define MAX_CODED_BYTES		(MAX_RECORD_BYTES / 3 * 4 + 32 * LOG_BLOCK_ENTRIES)

/*
 * 34 bytes for the records of a short-lived program; with level 1 they are 40, with 6 they are 36.
 */
#define ZSTD_LEVEL		3

/* Instead of a key: the record has other references, and a pointer to it follows. */
#define SHARED			255

/**
 * struct log_packer
 * @format:	of the records
 * @zstd:	compresses
 * @unzstd:	decompresses
 * @last:	for each key the last record of the block, or NULL
 * @entries:	unpacked ones
 * @records:	of @entries
 * @coded:	entries before compression
 */
struct log_packer {
	const struct id_format	*format;
#ifdef HAVE_ZSTD_SUPPORT
	ZSTD_CCtx		*zstd;
	ZSTD_DCtx		*unzstd;
#endif
	const struct sb_record	*last[SHARED];
	struct log_entry	 entries[LOG_BLOCK_ENTRIES];
	u64			 records[MAX_RECORD_BYTES / sizeof(u64)];
	unsigned char		 coded[MAX_CODED_BYTES];
};

size_t log_block__bytes(const struct log_block *block)
{
	return sizeof(*block) + block->len;
}

/*
 * Compression
 */

#ifdef HAVE_ZSTD_SUPPORT
static bool begin_zstd(struct log_packer *packer)
{
	packer->zstd = ZSTD_createCCtx();
	packer->unzstd = ZSTD_createDCtx();
	return packer->zstd && packer->unzstd;
}

static void end_zstd(struct log_packer *packer)
{
	ZSTD_freeCCtx(packer->zstd);
	ZSTD_freeDCtx(packer->unzstd);
}

static size_t zstd_bytes(const struct log_packer *packer)
{
	return ZSTD_sizeof_CCtx(packer->zstd) + ZSTD_sizeof_DCtx(packer->unzstd);
}

/* Compress @len bytes of @packer->coded. Return: the length; @len if it is not smaller [bytes]. */
static size_t compress(struct log_packer *packer, size_t len, void *to)
{
	size_t size = ZSTD_compressCCtx(packer->zstd, to, len - 1, packer->coded, len, ZSTD_LEVEL);

	return ZSTD_isError(size) ? len : size;
}

/* No allocation, so it does not fail: the data are those that were compressed here. */
static void decompress(struct log_packer *packer, const struct log_block *block)
{
	size_t len = ZSTD_decompressDCtx(packer->unzstd, packer->coded, sizeof(packer->coded),
					 block->data, block->len);

	if (len != block->coded_len)
		abort();
}
#else
static bool begin_zstd(struct log_packer *packer __maybe_unused)
{
	return true;
}

static void end_zstd(struct log_packer *packer __maybe_unused)
{
}

static size_t zstd_bytes(const struct log_packer *packer __maybe_unused)
{
	return 0;
}

static size_t compress(struct log_packer *packer __maybe_unused, size_t len,
		       void *to __maybe_unused)
{
	return len;
}

static void decompress(struct log_packer *packer __maybe_unused,
		       const struct log_block *block __maybe_unused)
{
}
#endif

struct log_packer *log_packer__new(const struct id_format *format)
{
	struct log_packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return NULL;
	packer->format = format;
	if (begin_zstd(packer))
		return packer;
	log_packer__free(packer);
	return NULL;
}

void log_packer__free(struct log_packer *packer)
{
	if (packer)
		end_zstd(packer);
	free(packer);
}

size_t log_packer__bytes(const struct log_packer *packer)
{
	return packer ? sizeof(*packer) + zstd_bytes(packer) : 0;
}

/*
 * Code
 */

static size_t memory_of(const struct sb_record *record)
{
	return offsetof(struct sb_record, header) + record->header.size;
}

static u8 key_of(const struct log_packer *packer, const struct sb_record *record)
{
	const void *end = (const void *)&record->header + record->header.size;
	u64 hash = record->header.type << 16 | record->header.size, name = 0;

	switch (record->header.type) {
	case PERF_RECORD_COMM:
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		memcpy(&name, end - packer->format->size - sizeof(name), sizeof(name));
		break;
	default:
		break;
	}
	hash = (hash ^ name) * 0x9e3779b97f4a7c15ULL;
	return (hash >> 32) % SHARED;
}

/* Return: the record to which one with this key and size is compared, or NULL. */
static const struct sb_record *find_last(const struct log_packer *packer, u8 key, size_t size)
{
	const struct sb_record *last = packer->last[key];

	return last && last->header.size == size ? last : NULL;
}

static unsigned char *put(unsigned char *to, s64 difference)
{
	u64 number = ((u64)difference << 1) ^ (difference >> 63);

	for (; number >= 0x80; number >>= 7)
		*to++ = number | 0x80;
	*to++ = number;
	return to;
}

static const unsigned char *get(const unsigned char *from, s64 *difference)
{
	unsigned int shift = 0;
	u64 number = 0;

	do
		number |= (u64)(*from & 0x7f) << shift;
	while (shift += 7, *from++ & 0x80);
	*difference = (number >> 1) ^ -(number & 1);
	return from;
}

static unsigned char *put_record(unsigned char *to, const struct sb_record *record,
				 const struct sb_record *last)
{
	const u32 *word = (const u32 *)&record->header;
	const u32 *other = last ? (const u32 *)&last->header : NULL;
	unsigned int i, nr = record->header.size / sizeof(*word);
	unsigned char *mask;
	s32 difference;

	to = put(to, record->header.size / sizeof(u64));
	mask = to;
	to += DIV_ROUND_UP(nr, 8);
	memset(mask, 0, to - mask);
	for (i = 0; i < nr; i++) {
		difference = word[i] - (other ? other[i] : 0);
		if (!difference)
			continue;
		mask[i / 8] |= 1 << (i % 8);
		to = put(to, difference);
	}
	return to;
}

/* The first words are those of the header, so the size must be known before. */
static const unsigned char *get_record(struct log_packer *packer, const unsigned char *from, u8 key,
				       struct sb_record *record)
{
	u32 *word = (u32 *)&record->header;
	const struct sb_record *last;
	const unsigned char *mask;
	unsigned int i, nr;
	const u32 *other;
	s64 number;

	from = get(from, &number);
	last = find_last(packer, key, number * sizeof(u64));
	other = last ? (const u32 *)&last->header : NULL;
	nr = number * sizeof(u64) / sizeof(*word);
	mask = from;
	from += DIV_ROUND_UP(nr, 8);
	for (i = 0; i < nr; i++) {
		number = 0;
		if (mask[i / 8] & (1 << (i % 8)))
			from = get(from, &number);
		word[i] = (other ? other[i] : 0) + number;
	}
	record->refcount = 0;
	memcpy(&record->time, (void *)word + record->header.size - packer->format->time,
	       sizeof(record->time));
	return from;
}

/*
 * Blocks
 */

static bool is_shared(const struct log_entry *entry)
{
	return entry->record->refcount > 1;
}

static unsigned char *put_entry(struct log_packer *packer, unsigned char *to,
				const struct log_entry *entry, const struct log_entry *before)
{
	u8 key = is_shared(entry) ? SHARED : key_of(packer, entry->record);

	*to++ = key;
	to = put(to, (uintptr_t)entry->task - (uintptr_t)before->task);
	to = put(to, (s64)entry->file - before->file);
	if (key == SHARED) {
		memcpy(to, &entry->record, sizeof(entry->record));
		return to + sizeof(entry->record);
	}
	to = put_record(to, entry->record, find_last(packer, key, entry->record->header.size));
	packer->last[key] = entry->record;
	return to;
}

/* Code entries to @packer->coded. Set @nr to their number. Return: the length [bytes]. */
static size_t code(struct log_packer *packer, const struct log_entry *entries, size_t *nr)
{
	const struct log_entry none = { 0 }, *before = &none;
	size_t max = min_t(size_t, *nr, LOG_BLOCK_ENTRIES), bytes = 0;
	unsigned char *to = packer->coded;

	memset(packer->last, 0, sizeof(packer->last));
	for (*nr = 0; *nr < max; before = &entries[(*nr)++]) {
		bytes += memory_of(entries[*nr].record);
		if (bytes > sizeof(packer->records))
			break;
		to = put_entry(packer, to, &entries[*nr], before);
	}
	return to - packer->coded;
}

static void take_over(struct log_block *block, const struct log_entry *entries)
{
	size_t i;

	for (i = 0; i < block->nr; i++) {
		block->entry_bytes += log_entry__bytes(&entries[i]);
		if (is_shared(&entries[i]))
			block->shared_bytes += log_entry__bytes(&entries[i]);
		else if (entries[i].record->refcount)
			sb_record__put(entries[i].record);
	}
}

struct log_block *log_packer__pack(struct log_packer *packer, const struct log_entry *entries,
				   size_t nr)
{
	size_t coded_len = code(packer, entries, &nr), len;
	struct log_block *block = malloc(sizeof(*block) + coded_len), *smaller;

	if (!block)
		return NULL;
	len = compress(packer, coded_len, block->data);
	if (len == coded_len)
		memcpy(block->data, packer->coded, len);
	*block = (struct log_block){ .nr = nr, .len = len, .coded_len = coded_len };
	take_over(block, entries);
	smaller = realloc(block, log_block__bytes(block));
	return smaller ?: block;
}

struct log_entry *log_packer__unpack(struct log_packer *packer, const struct log_block *block)
{
	struct log_entry *entry = packer->entries, before = { 0 };
	const unsigned char *from = block->data;
	void *record = packer->records;
	s64 difference;
	size_t i;
	u8 key;

	if (block->len < block->coded_len) {
		decompress(packer, block);
		from = packer->coded;
	}
	memset(packer->last, 0, sizeof(packer->last));
	for (i = 0; i < block->nr; i++, before = *entry++) {
		*entry = before;
		key = *from++;
		from = get(from, &difference);
		entry->task = (void *)((uintptr_t)before.task + difference);
		from = get(from, &difference);
		entry->file = before.file + difference;
		if (key == SHARED) {
			memcpy(&entry->record, from, sizeof(entry->record));
			from += sizeof(entry->record);
			continue;
		}
		entry->record = record;
		from = get_record(packer, from, key, record);
		packer->last[key] = record;
		record += memory_of(record);
	}
	for (i = 0; i < block->nr; i++) {
		entry = &packer->entries[i];
		if (test_bit(i, block->dropped))
			entry->record = NULL;
		if (i < block->nr_written)
			entry->file = max(entry->file, block->file);
	}
	return packer->entries;
}
