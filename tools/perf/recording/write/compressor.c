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
/* What this becomes fits into one record, however little it can be compressed. */
#define PIECE		(60UL << 10)
/* What cannot be made smaller grows a little, and each record has a header. */
#define ROOM		(2 * CHUNK_SIZE)

/**
 * struct credit - what is in the file if the compressed records of a chunk are
 * @start:	where they begin in the file
 * @end:	where they end
 * @saved:	records that end in the chunk
 */
struct credit {
	u64			start;
	u64			end;
	struct unsaved	saved;
};

static struct compressor *compressor_of(struct writer *writer)
{
	return container_of(writer, struct compressor, writer);
}

#ifdef HAVE_ZSTD_SUPPORT
#include <zstd_errors.h>

_Static_assert(ZSTD_COMPRESSBOUND(PIECE) <= MAX_DATA, "a piece may not fit into a record");
_Static_assert((CHUNK_SIZE / PIECE + 1) * PERF_SAMPLE_MAX_SIZE <= ROOM, "a chunk may not fit");

static int refused(size_t ret)
{
	pr_debug("zstd: %s\n", ZSTD_getErrorName(ret));
	return ZSTD_getErrorCode(ret) == ZSTD_error_memory_allocation ? -ENOMEM : -EIO;
}

static int begin_stream(struct zstd_data *zstd, int level)
{
	size_t ret;

	if (zstd->cstream)
		return 0;
	zstd->cstream = ZSTD_createCStream();
	if (!zstd->cstream)
		return -ENOMEM;
	ret = ZSTD_initCStream(zstd->cstream, level);
	return ZSTD_isError(ret) ? refused(ret) : 0;
}

/*
 * Returns the size of a record with all of @len bytes, or a negative errno. It does not need the next one:
 * perf takes a record of which nothing comes out for a broken file.
 */
static ssize_t compress_piece(struct zstd_data *zstd, const void *data, size_t len, void *at)
{
	ZSTD_inBuffer in = { data, len, 0 };
	ZSTD_outBuffer out = { at + HEADER_BYTES, MAX_DATA, 0 };
	size_t left = ZSTD_compressStream2(zstd->cstream, &out, &in, ZSTD_e_flush);

	if (ZSTD_isError(left))
		return refused(left);
	if (left || in.pos < len)
		return -EIO;
	*(struct perf_event_header *)at = (struct perf_event_header){
		.type = PERF_RECORD_COMPRESSED, .size = HEADER_BYTES + out.pos,
	};
	return HEADER_BYTES + out.pos;
}

/*
 * Returns the length of the records, or a negative errno. util's zstd_compress_stream_to_records() does not tell
 * of errors, and makes records out of which nothing comes where data can hardly be compressed.
 */
static ssize_t compress(struct compressor *compressor, const struct chunk *chunk)
{
	ssize_t size = begin_stream(&compressor->zstd, compressor->level);
	size_t pos, len = 0;

	for (pos = 0; pos < chunk->len && size >= 0; pos += PIECE) {
		size = compress_piece(&compressor->zstd, chunk->data + pos,
				      min(PIECE, chunk->len - pos), compressor->records + len);
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

static void count(struct unsaved *sum, u32 type)
{
	sum->records++;
	sum->samples += type == PERF_RECORD_SAMPLE;
}

/* The records that end in @chunk. */
static struct unsaved ending(struct compressor *compressor, const struct chunk *chunk)
{
	const struct records records = records__of(chunk->data, chunk->len);
	struct unsaved sum = { .bytes = chunk->len };
	u64 pos = chunk->first - chunk->pos, size;
	u32 type;

	if (pos > chunk->len)			/* one that is longer than a chunk */
		return sum;
	if (compressor->straddling)
		count(&sum, compressor->straddler);
	compressor->straddling = false;
	while ((size = records__extent(&records, pos, &type))) {
		compressor->straddling = pos + size > chunk->len;
		compressor->straddler = type;
		if (compressor->straddling)
			break;
		count(&sum, type);
		pos += size;
	}
	return sum;
}

/* What is written is forgotten; and there is room for one more credit, or none for want of memory. */
static int make_room(struct compressor *compressor)
{
	u64 written = write_queue__written(compressor->out);
	struct credit *credits;
	size_t old = 0;

	if (compressor->nr < compressor->room)
		return 0;
	while (old < compressor->nr && compressor->credits[old].end <= written)
		old++;
	compressor->nr -= old;
	memmove(compressor->credits, compressor->credits + old,
		compressor->nr * sizeof(*credits));
	if (compressor->nr < compressor->room / 2)
		return 0;
	credits = realloc(compressor->credits, (2 * compressor->room + 64) * sizeof(*credits));
	if (!credits)
		return -ENOMEM;
	compressor->credits = credits;
	compressor->room = 2 * compressor->room + 64;
	return 0;
}

static int write_chunk(struct compressor *compressor, struct chunk *chunk)
{
	struct records compressed;
	struct credit *credit;
	ssize_t len;
	int err = make_room(compressor);

	if (err)
		return err;
	len = compress(compressor, chunk);
	if (len < 0)
		return len;
	compressed = records__of(compressor->records, len);
	credit = &compressor->credits[compressor->nr];
	err = write_queue__append_unit(compressor->out, &compressed, &credit->start);
	if (err)
		return err;
	credit->end = credit->start + len;
	credit->saved = ending(compressor, chunk);
	compressor->nr++;
	compressor->raw += chunk->len;
	compressor->compressed += len;
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
	compressor->nr = 0;
}

u64 compressor__give_up(struct compressor *compressor, u64 end)
{
	size_t i = compressor->nr;

	while (i-- && compressor->credits[i].end > end) {
		struct credit *credit = &compressor->credits[i];

		compressor->given_up.records += credit->saved.records;
		compressor->given_up.samples += credit->saved.samples;
		compressor->given_up.bytes += credit->saved.bytes;
		if (credit->start < end)
			end = credit->start;
	}
	return end;
}

int compressor__init(struct compressor *compressor, struct write_queue *out, int level)
{
	*compressor = (struct compressor){
		.writer	 = { .ops = &compressor_ops, .depth = 1, .fd = -1 },
		.out	 = out,
		.level	 = level,
		.records = malloc(ROOM),
	};
	return compressor->records ? 0 : -ENOMEM;
}

void compressor__exit(struct compressor *compressor)
{
	zstd_fini(&compressor->zstd);
	zfree(&compressor->records);
	zfree(&compressor->credits);
}
