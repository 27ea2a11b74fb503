// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <perf/event.h>
#include "util/event.h"
#include "compressor.h"
#include "unit.h"

#define HEADER_BYTES	sizeof(struct perf_record_compressed)
#define MAX_DATA	(PERF_SAMPLE_MAX_SIZE - HEADER_BYTES - 1)
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
	struct spool_unsaved	saved;
};

static struct compressor *compressor_of(struct writer *writer)
{
	return container_of(writer, struct compressor, writer);
}

#ifdef HAVE_ZSTD_SUPPORT
/* Called by util: first to begin a record, then with the length of its data. */
static size_t add_to_record(void *at, size_t len)
{
	struct perf_event_header *header = at;

	if (!len) {
		*header = (struct perf_event_header){
			.type = PERF_RECORD_COMPRESSED, .size = HEADER_BYTES,
		};
		return HEADER_BYTES;
	}
	header->size += len;
	return len;
}

static ssize_t compress(struct compressor *compressor, const struct chunk *chunk)
{
	return zstd_compress_stream_to_records(&compressor->zstd, compressor->records, ROOM,
					       chunk->data, chunk->len, MAX_DATA, add_to_record);
}
#else
static ssize_t compress(struct compressor *compressor __maybe_unused,
			const struct chunk *chunk __maybe_unused)
{
	return -1;
}
#endif

static void count(struct spool_unsaved *sum, u32 type)
{
	sum->records++;
	sum->samples += type == PERF_RECORD_SAMPLE;
}

/* The records that end in @chunk. */
static struct spool_unsaved ending(struct compressor *compressor, const struct chunk *chunk)
{
	struct iovec part = { chunk->data, chunk->len };
	const struct unit unit = unit__of(&part, 1, false);
	struct spool_unsaved sum = { .bytes = chunk->len };
	u64 pos = chunk->first - chunk->pos, size;
	u32 type;

	if (pos > chunk->len)			/* one that is longer than a chunk */
		return sum;
	if (compressor->straddling)
		count(&sum, compressor->straddler);
	compressor->straddling = false;
	while ((size = unit__record(&unit, pos, &type))) {
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
	u64 written = spool__written(compressor->out);
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
	struct iovec part = { .iov_base = compressor->records };
	struct credit *credit;
	ssize_t len;
	int err = make_room(compressor);

	if (err)
		return err;
	len = compress(compressor, chunk);
	if (len <= 0)
		return -EIO;
	part.iov_len = len;
	credit = &compressor->credits[compressor->nr];
	err = spool__append_unit(compressor->out, &part, 1, &credit->start);
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

int compressor__init(struct compressor *compressor, struct spool *out, int level)
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
