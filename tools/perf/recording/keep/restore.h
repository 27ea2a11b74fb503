/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Restore the records of a packed block, and compress them as any perf can read them.
 */
#ifndef PERF_RECORDING_KEEP_RESTORE_H
#define PERF_RECORDING_KEEP_RESTORE_H

#include "recording/lib/records.h"
#include "util/compress.h"

struct keep_unpacker;

/**
 * struct restorer - used by one thread
 * @level:	compression level of what goes to the file, 0 for none
 * @unpacker:	restores records
 * @zstd:	the stream that compresses them, which begins a frame with each block
 * @records:	its buffer
 */
struct restorer {
	int			 level;
	struct keep_unpacker	*unpacker;
	struct zstd_data	 zstd;
	void			*records;
};

/**
 * restorer__init - allocate memory for one block, which restorer__restore() touches
 * @level:	of the packed blocks; 0: there will be none
 *
 * Return: 0, or -ENOMEM. restorer__exit() is needed in both cases.
 */
int restorer__init(struct restorer *restorer, int level);

/** restorer__exit - free the memory; harmless if @restorer is zeroed */
void restorer__exit(struct restorer *restorer);

/**
 * restorer__restore - replace a packed block by records for the file
 * @records:	the block in one piece; receives PERF_RECORD_COMPRESSED records that are a zstd
 *		frame of their own, or the records. They are valid until the next call.
 *
 * Return: 0, or a negative errno after an error message.
 */
int restorer__restore(struct restorer *restorer, struct records *records);

#endif
