/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compress data into PERF_RECORD_COMPRESSED records, which any perf since 5.2 reads.
 */
#ifndef PERF_RECORDING_ZSTD_RECORDS_H
#define PERF_RECORDING_ZSTD_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <sys/types.h>
#include <perf/event.h>
#include "util/compress.h"
#include "util/event.h"

/* So many bytes always fit into one record, even if they cannot be compressed. */
#define ZSTD_RECORDS_PIECE	(60UL << 10)

/* Readers of the file allocate this for the data of each record (mmap_len of the header) [bytes] */
#define ZSTD_RECORDS_MMAP_LEN	(256UL << 10)

/** ZSTD_RECORDS_BYTES - bound of the records of @len bytes of data [bytes] */
#define ZSTD_RECORDS_BYTES(len)	(DIV_ROUND_UP(len, ZSTD_RECORDS_PIECE) * PERF_SAMPLE_MAX_SIZE)

/**
 * zstd_records__compress - compress @len bytes at @data into records at @at
 * @zstd:	its compression stream, which is created when it is missing
 * @level:	compression level of a new stream
 * @at:		ZSTD_RECORDS_BYTES(@len) bytes
 * @end:	end the frame: what is compressed next can be read without these records
 *
 * util's zstd_compress_stream_to_records() is not used because it does not return errors, and makes
 * records that decompress to nothing when data can hardly be compressed.
 *
 * Return: length of the records [bytes], or a negative errno; -EOPNOTSUPP without zstd.
 */
ssize_t zstd_records__compress(struct zstd_data *zstd, int level, const void *data, size_t len,
			       void *at, bool end);

/**
 * zstd_records__decompress - decompress records of one frame
 * @records:	@len bytes, made by zstd_records__compress() with @end set, and undamaged
 * @at:		@space bytes
 *
 * Return: length of the data [bytes], or a negative errno: -EILSEQ if the records are others, or if
 * the data need more space; -EOPNOTSUPP without zstd.
 */
ssize_t zstd_records__decompress(const void *records, size_t len, void *at, size_t space);

#endif
