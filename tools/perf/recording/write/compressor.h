/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compress records (-z): a writer of one queue that appends to another queue.
 *
 *	records --> queue --- chunks ---> compressor --- PERF_RECORD_COMPRESSED ---> queue --> file
 *	            (raw)     of records  in the raw     of one chunk, as one        (the file's)
 *	                                  queue's thread unit
 *
 * The compressor keeps a list of the chunks that are not yet in the file. After an error the file
 * ends behind the last chunk that is whole, and all records that are not in it are counted.
 */
#ifndef PERF_RECORDING_COMPRESSOR_H
#define PERF_RECORDING_COMPRESSOR_H

#include <linux/types.h>
#include "util/compress.h"
#include "queue.h"
#include "writer.h"

struct compressed_chunk;

/**
 * struct compressor
 * @writer:	what the raw queue writes to
 * @out:	the file's queue
 * @zstd:	the compression stream, a new one for each file
 * @level:	compression level, 1 to 22
 * @cuttable:	end the frame with each chunk, so that another stream can continue behind any of
 *		them; set by the caller
 * @records:	buffer for the compressed records of a chunk
 * @chunk:	the chunk that was submitted
 * @chunks:	what was compressed and may not be in the file yet, in the order of the file
 * @nr_chunks:	length of @chunks
 * @max_chunks:	allocated length of @chunks
 * @has_partial: the last chunk ends inside a record
 * @partial_type: type of that record
 * @unsaved:	records of chunks that were compressed, but could not be written
 * @raw_bytes:	bytes that were compressed
 * @compressed_bytes: length of the compressed records [bytes]
 */
struct compressor {
	struct writer		 writer;
	struct write_queue	*out;
	struct zstd_data	 zstd;
	int			 level;
	bool			 cuttable;
	void			*records;
	struct chunk		*chunk;
	struct compressed_chunk	*chunks;
	size_t			 nr_chunks;
	size_t			 max_chunks;
	bool			 has_partial;
	u32			 partial_type;
	struct unsaved		 unsaved;
	u64			 raw_bytes;
	u64			 compressed_bytes;
};

/** compressor__init - prepare to append to @out. Return: 0, or -ENOMEM */
int compressor__init(struct compressor *compressor, struct write_queue *out, int level);

/** compressor__exit - free the compressor; harmless if it is zeroed */
void compressor__exit(struct compressor *compressor);

/** compressor__begin_file - begin a new stream, which can be read without what came before */
void compressor__begin_file(struct compressor *compressor);

/**
 * compressor__drop - count the records of chunks that are not whole in the file
 * @end:	the file is good up to this position
 *
 * Called after an error, when both queues are closed.
 *
 * Return: where the last whole chunk ends in the file.
 */
u64 compressor__drop(struct compressor *compressor, u64 end);

#endif
