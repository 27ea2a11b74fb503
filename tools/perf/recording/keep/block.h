/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Allocate blocks: pieces of the kept streams, first as they were recorded, then compressed.
 *
 * Each block has pages of its own, so that memory returns to the system when it is dropped.
 */
#ifndef PERF_RECORDING_KEEP_BLOCK_H
#define PERF_RECORDING_KEEP_BLOCK_H

#include <stdbool.h>
#include <linux/list.h>
#include <linux/types.h>

/* Large enough for a good ratio, small enough to be the unit in which records are dropped. */
#define KEEP_BLOCK_BYTES	(1UL << 20)

enum keep_form {
	KEEP_RAW,		/* records, waiting to be compressed */
	KEEP_COMPRESSING,	/* records, being compressed */
	KEEP_INCOMPRESSIBLE,	/* records that stay as they are */
	KEEP_COMPRESSED,	/* PERF_RECORD_COMPRESSED, a zstd frame of its own */
};

/**
 * struct keep_block
 * @node:	in the list of kept blocks
 * @raw_node:	in the list of blocks that wait to be compressed, if KEEP_RAW
 * @refs:	the list, the compressor, and the snapshot that is being written hold one each
 * @form:	what @data is
 * @data:	@len bytes
 * @mapped:	memory that @data occupies [bytes]
 * @raw_len:	length of the records [bytes]
 * @first:	time of the oldest record [ns], or 0 if none has a time
 * @last:	time of the newest record [ns]
 * @begun:	when the block was begun [ns of CLOCK_MONOTONIC]
 * @arrived:	when records were appended last [ns of CLOCK_MONOTONIC]
 * @records:	number of records
 * @samples:	PERF_RECORD_SAMPLE among them
 * @ends_round:	a PERF_RECORD_FINISHED_ROUND may follow (rounds.h)
 * @written:	a snapshot has the block, saved or not yet
 * @saved:	with --keep-overlap: a snapshot that was saved has it
 * @taken:	the snapshot that is being written does not contain the block yet
 */
struct keep_block {
	struct list_head node;
	struct list_head raw_node;
	unsigned int	 refs;
	enum keep_form	 form;
	void		*data;
	size_t		 len;
	size_t		 mapped;
	size_t		 raw_len;
	u64		 first;
	u64		 last;
	u64		 begun;
	u64		 arrived;
	u64		 records;
	u64		 samples;
	bool		 ends_round;
	bool		 written;
	bool		 saved;
	bool		 taken;
};

/** keep_memory__map - allocate memory for the records of a block. Return: NULL: -ENOMEM */
void *keep_memory__map(void);

/** keep_memory__unmap - free what keep_memory__map() has returned */
void keep_memory__unmap(void *memory);

/** keep_block__new - create an empty block of @memory. Return: NULL: -ENOMEM, or no @memory */
struct keep_block *keep_block__new(void *memory);

/** keep_block__free - free the block, whatever its @refs */
void keep_block__free(struct keep_block *block);

/** keep_block__compressed - copy what the block becomes. Return: the copy, or NULL: -ENOMEM */
void *keep_block__compressed(const void *records, size_t len);

/**
 * keep_block__replace - replace the records by their compressed form, @len bytes at @data
 *
 * Return: the memory of the records, which is the caller's now.
 */
void *keep_block__replace(struct keep_block *block, void *data, size_t len);

/** keep_block__trim - give memory behind the records back */
void keep_block__trim(struct keep_block *block);

#endif
