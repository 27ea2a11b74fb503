// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/kernel.h>
#include "util/debug.h"
#include "recording/lib/records.h"
#include "zstd_records.h"

#define HEADER_BYTES	sizeof(struct perf_record_compressed)
#define MAX_DATA	(PERF_SAMPLE_MAX_SIZE - HEADER_BYTES - 1)

#ifdef HAVE_ZSTD_SUPPORT
#include <zstd_errors.h>

_Static_assert(ZSTD_COMPRESSBOUND(ZSTD_RECORDS_PIECE) <= MAX_DATA,
	       "a piece may not fit into a record");

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
static ssize_t compress_piece(struct zstd_data *zstd, const void *data, size_t len, void *at,
			      ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = { data, len, 0 };
	ZSTD_outBuffer out = { at + HEADER_BYTES, MAX_DATA, 0 };
	size_t left = ZSTD_compressStream2(zstd->cstream, &out, &in, how);

	if (ZSTD_isError(left))
		return zstd_errno(left);
	if (left || in.pos < len)
		return -EIO;
	*(struct perf_event_header *)at = (struct perf_event_header){
		.type = PERF_RECORD_COMPRESSED, .size = HEADER_BYTES + out.pos,
	};
	return HEADER_BYTES + out.pos;
}

ssize_t zstd_records__compress(struct zstd_data *zstd, int level, const void *data, size_t len,
			       void *at, bool end)
{
	ssize_t size = create_stream(zstd, level);
	size_t pos, piece, done = 0;

	for (pos = 0; pos < len && size >= 0; pos += piece) {
		piece = min(ZSTD_RECORDS_PIECE, len - pos);
		size = compress_piece(zstd, data + pos, piece, at + done,
				      end && pos + piece == len ? ZSTD_e_end : ZSTD_e_flush);
		done += size;
	}
	return size < 0 ? size : (ssize_t)done;
}

static ssize_t decompress(ZSTD_DStream *stream, const void *records, size_t len, void *at,
			  size_t space)
{
	ZSTD_outBuffer out = { at, space, 0 };
	struct records run = records__of(records, len);
	struct record_iter iter;
	size_t ret = 1;

	records__for_each(&run, iter) {
		ZSTD_inBuffer in = { records + iter.pos + HEADER_BYTES, iter.size - HEADER_BYTES,
				     0 };

		if (iter.header.type != PERF_RECORD_COMPRESSED)
			return -EILSEQ;
		ret = ZSTD_decompressStream(stream, &out, &in);
		if (ZSTD_isError(ret) || in.pos < in.size)
			return -EILSEQ;
	}
	return ret || iter.pos < len ? -EILSEQ : (ssize_t)out.pos;
}

ssize_t zstd_records__decompress(const void *records, size_t len, void *at, size_t space)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ssize_t ret = stream ? decompress(stream, records, len, at, space) : -ENOMEM;

	ZSTD_freeDStream(stream);
	return ret;
}
#else
ssize_t zstd_records__decompress(const void *records __maybe_unused, size_t len __maybe_unused,
				 void *at __maybe_unused, size_t space __maybe_unused)
{
	return -EOPNOTSUPP;
}

ssize_t zstd_records__compress(struct zstd_data *zstd __maybe_unused, int level __maybe_unused,
			       const void *data __maybe_unused, size_t len __maybe_unused,
			       void *at __maybe_unused, bool end __maybe_unused)
{
	return -EOPNOTSUPP;
}
#endif
