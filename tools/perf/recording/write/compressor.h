/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compression (-z): a trace writer that writes to another queue.
 *
 *	records --> queue --- chunks ---> compressor --- PERF_RECORD_COMPRESSED ---> queue --> file
 *	            (raw)     of records  in the raw     of a chunk, in one          (the file's)
 *	                                  queue's thread
 *
 * What each chunk was is remembered until its compressed records are in the file: after an error the
 * file ends with the last chunk that is whole, and all records that are not in it are counted.
 */
#ifndef PERF_RECORDING_COMPRESSOR_H
#define PERF_RECORDING_COMPRESSOR_H

#include <linux/types.h>
#include "util/compress.h"
#include "queue.h"
#include "writer.h"

struct credit;

/**
 * struct compressor
 * @writer:	what the raw queue writes to
 * @out:	the file's queue
 * @zstd:	the compression stream, one for each file
 * @level:	of compression, 1 to 22
 * @records:	room for the compressed records of a chunk
 * @chunk:	the one that was submitted
 * @credits:	what the chunks were that are not known to be in the file, @nr of @room, in order
 * @straddling:	a record begins in the last chunk, and ends in the next
 * @straddler:	its type
 * @given_up:	records of chunks that were compressed, and could not be written
 * @raw:	bytes that were compressed
 * @compressed:	to so many
 */
struct compressor {
	struct writer		writer;
	struct write_queue	       *out;
	struct zstd_data	zstd;
	int			level;
	void		       *records;
	struct chunk	       *chunk;
	struct credit	       *credits;
	size_t			nr;
	size_t			room;
	bool			straddling;
	u32			straddler;
	struct unsaved	given_up;
	u64			raw;
	u64			compressed;
};

/** compressor__init - to the queue @out. Return: 0, or -ENOMEM */
int compressor__init(struct compressor *compressor, struct write_queue *out, int level);

/** compressor__exit - free it; harmless if it is zeroed */
void compressor__exit(struct compressor *compressor);

/** compressor__begin_file - what comes now can be read without what came before */
void compressor__begin_file(struct compressor *compressor);

/**
 * compressor__give_up - the file's queue has failed, and the file is good up to @end
 *
 * Both spools are closed.
 *
 * Return: where the last chunk ends that is whole.
 */
u64 compressor__give_up(struct compressor *compressor, u64 end);

#endif
