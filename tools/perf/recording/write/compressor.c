// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <perf/event.h>
#include "util/debug.h"
#include "util/event.h"
#include "compressor.h"
#include "zstd_records.h"
#include "recording/lib/array.h"
#include "recording/lib/records.h"

/* Incompressible data grow a little, and each record has a header. */
#define RECORDS_BYTES	ZSTD_RECORDS_BYTES(CHUNK_SIZE_MAX)

/**
 * struct compressed_chunk - a chunk whose compressed records were appended to the file's queue
 * @start:	position in the file where its compressed records begin
 * @end:	position where they end
 * @saved:	the records that are saved once those are written: all that end in the chunk
 */
struct compressed_chunk {
	u64		start;
	u64		end;
	struct unsaved	saved;
};

static struct compressor *compressor_of(struct writer *writer)
{
	return container_of(writer, struct compressor, writer);
}

static void count_record(struct unsaved *sum, u32 type)
{
	sum->records++;
	sum->samples += type == PERF_RECORD_SAMPLE;
}

/* Count the records that end in @chunk. */
static struct unsaved records_ending(struct compressor *compressor, const struct chunk *chunk)
{
	const struct records records = records__of(chunk->data, chunk->len);
	struct unsaved sum = { .bytes = chunk->len };
	u64 pos = chunk->first_record - chunk->pos, size;
	u32 type;

	if (pos > chunk->len)			/* a record is longer than the chunk */
		return sum;
	if (compressor->has_partial)
		count_record(&sum, compressor->partial_type);
	compressor->has_partial = false;
	while ((size = records__extent(&records, pos, &type))) {
		compressor->has_partial = pos + size > chunk->len;
		compressor->partial_type = type;
		if (compressor->has_partial)
			break;
		count_record(&sum, type);
		pos += size;
	}
	return sum;
}

/* Remove entries that are written, and make sure that @chunks has space for one more. */
static int reserve_entry(struct compressor *compressor)
{
	u64 written = write_queue__written(compressor->out);
	struct compressed_chunk *chunks = compressor->chunks;
	size_t nr = 0;

	while (nr < compressor->nr_chunks && chunks[nr].end <= written)
		nr++;
	compressor->nr_chunks -= nr;
	if (nr)
		memmove(chunks, chunks + nr, compressor->nr_chunks * sizeof(*chunks));
	return array__grow(&compressor->chunks, compressor->nr_chunks, 1, sizeof(*chunks),
			   &compressor->max_chunks);
}

static int write_chunk(struct compressor *compressor, struct chunk *chunk)
{
	struct records compressed;
	struct compressed_chunk *entry;
	ssize_t len;
	int err = reserve_entry(compressor);

	if (err)
		return err;
	len = zstd_records__compress(&compressor->zstd, compressor->level, chunk->data, chunk->len,
				     compressor->records, compressor->cuttable);
	if (len < 0)
		return len;
	compressed = records__of(compressor->records, len);
	entry = &compressor->chunks[compressor->nr_chunks];
	err = write_queue__append_unit(compressor->out, &compressed, &entry->start);
	if (err)
		return err;
	entry->end = entry->start + len;
	entry->saved = records_ending(compressor, chunk);
	compressor->nr_chunks++;
	compressor->raw_bytes += chunk->len;
	compressor->compressed_bytes += len;
	return 0;
}

static void compressor__submit(struct writer *writer, struct chunk *chunk)
{
	struct compressor *compressor = compressor_of(writer);

	chunk->err = write_chunk(compressor, chunk);
	chunk->done = chunk->err ? 0 : chunk->len;
	chunk->finished = true;
	compressor->chunk = chunk;
}

static struct chunk *compressor__complete(struct writer *writer, u64 timeout_ns __maybe_unused)
{
	return compressor_of(writer)->chunk;
}

static const struct writer_ops compressor_ops = {
	.name	  = "zstd",
	.submit	  = compressor__submit,
	.complete = compressor__complete,
};

void compressor__begin_file(struct compressor *compressor)
{
	zstd_fini(&compressor->zstd);
	zstd_init(&compressor->zstd, compressor->level);
	compressor->nr_chunks = 0;
	compressor->has_partial = false;
}

u64 compressor__drop(struct compressor *compressor, u64 end)
{
	size_t i = compressor->nr_chunks;

	while (i-- && compressor->chunks[i].end > end) {
		struct compressed_chunk *entry = &compressor->chunks[i];

		compressor->unsaved.records += entry->saved.records;
		compressor->unsaved.samples += entry->saved.samples;
		compressor->unsaved.bytes += entry->saved.bytes;
		if (entry->start < end)
			end = entry->start;
	}
	return end;
}

int compressor__init(struct compressor *compressor, struct write_queue *out, int level)
{
	*compressor = (struct compressor){
		.writer	 = { .ops = &compressor_ops, .depth = 1, .fd = -1 },
		.out	 = out,
		.level	 = level,
		.records = malloc(RECORDS_BYTES),
	};
	return compressor->records ? 0 : -ENOMEM;
}

void compressor__exit(struct compressor *compressor)
{
	zstd_fini(&compressor->zstd);
	zfree(&compressor->records);
	zfree(&compressor->chunks);
}
