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
#include "recording/lib/records.h"

#define HEADER_BYTES	sizeof(struct perf_record_compressed)
#define MAX_DATA	(PERF_SAMPLE_MAX_SIZE - HEADER_BYTES - 1)
/* So many bytes always fit into one record, even if they cannot be compressed. */
#define PIECE_BYTES	(60UL << 10)
/* Incompressible data grow a little, and each record has a header. */
#define RECORDS_BYTES	(2 * CHUNK_SIZE)

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

#ifdef HAVE_ZSTD_SUPPORT
#include <zstd_errors.h>

_Static_assert(ZSTD_COMPRESSBOUND(PIECE_BYTES) <= MAX_DATA, "a piece may not fit into a record");
_Static_assert((CHUNK_SIZE / PIECE_BYTES + 1) * PERF_SAMPLE_MAX_SIZE <= RECORDS_BYTES,
	       "a chunk may not fit");

static int zstd_errno(size_t ret)
{
	pr_debug("zstd: %s\n", ZSTD_getErrorName(ret));
	return ZSTD_getErrorCode(ret) == ZSTD_error_memory_allocation ? -ENOMEM : -EIO;
}

static int create_stream(struct zstd_data *zstd, int level)
{
	size_t ret;

	if (zstd->cstream)
		return 0;
	zstd->cstream = ZSTD_createCStream();
	if (!zstd->cstream)
		return -ENOMEM;
	ret = ZSTD_initCStream(zstd->cstream, level);
	return ZSTD_isError(ret) ? zstd_errno(ret) : 0;
}

/*
 * Make one record of @len bytes at @data. The record can be decompressed without the next one: perf
 * takes a record that decompresses to nothing for a broken file.
 *
 * Return: size of the record [bytes], or a negative errno.
 */
static ssize_t compress_piece(struct zstd_data *zstd, const void *data, size_t len, void *at)
{
	ZSTD_inBuffer in = { data, len, 0 };
	ZSTD_outBuffer out = { at + HEADER_BYTES, MAX_DATA, 0 };
	size_t left = ZSTD_compressStream2(zstd->cstream, &out, &in, ZSTD_e_flush);

	if (ZSTD_isError(left))
		return zstd_errno(left);
	if (left || in.pos < len)
		return -EIO;
	*(struct perf_event_header *)at = (struct perf_event_header){
		.type = PERF_RECORD_COMPRESSED, .size = HEADER_BYTES + out.pos,
	};
	return HEADER_BYTES + out.pos;
}

/*
 * Compress @chunk into @records. util's zstd_compress_stream_to_records() is not used because it
 * does not return errors, and makes records that decompress to nothing when data can hardly be
 * compressed.
 *
 * Return: length of the records [bytes], or a negative errno.
 */
static ssize_t compress(struct compressor *compressor, const struct chunk *chunk)
{
	ssize_t size = create_stream(&compressor->zstd, compressor->level);
	size_t pos, len = 0;

	for (pos = 0; pos < chunk->len && size >= 0; pos += PIECE_BYTES) {
		size = compress_piece(&compressor->zstd, chunk->data + pos,
				      min(PIECE_BYTES, chunk->len - pos), compressor->records + len);
		len += size;
	}
	return size < 0 ? size : (ssize_t)len;
}
#else
static ssize_t compress(struct compressor *compressor __maybe_unused,
			const struct chunk *chunk __maybe_unused)
{
	return -EOPNOTSUPP;
}
#endif

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

/*
 * Make sure that @chunks has space for one more entry: remove entries that are written, or
 * reallocate.
 */
static int reserve_entry(struct compressor *compressor)
{
	u64 written = write_queue__written(compressor->out);
	struct compressed_chunk *chunks;
	size_t nr_written = 0;

	if (compressor->nr_chunks < compressor->max_chunks)
		return 0;
	while (nr_written < compressor->nr_chunks && compressor->chunks[nr_written].end <= written)
		nr_written++;
	compressor->nr_chunks -= nr_written;
	memmove(compressor->chunks, compressor->chunks + nr_written,
		compressor->nr_chunks * sizeof(*chunks));
	if (compressor->nr_chunks < compressor->max_chunks / 2)
		return 0;
	chunks = realloc(compressor->chunks, (2 * compressor->max_chunks + 64) * sizeof(*chunks));
	if (!chunks)
		return -ENOMEM;
	compressor->chunks = chunks;
	compressor->max_chunks = 2 * compressor->max_chunks + 64;
	return 0;
}

static int write_chunk(struct compressor *compressor, struct chunk *chunk)
{
	struct records compressed;
	struct compressed_chunk *entry;
	ssize_t len;
	int err = reserve_entry(compressor);

	if (err)
		return err;
	len = compress(compressor, chunk);
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

static struct chunk *compressor__complete(struct writer *writer)
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
