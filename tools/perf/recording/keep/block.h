/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Allocate blocks: pieces of the kept streams, first as they were recorded, then compressed.
 *
 * Each block has pages of its own, so that memory returns to the system when it is dropped. With
 * --keep-file they are pages of the file, and a slot describes the block there (box.h).
 *
 * Where there is a box, the caller holds keep->lock.
 */
#ifndef PERF_RECORDING_KEEP_BLOCK_H
#define PERF_RECORDING_KEEP_BLOCK_H

#include <stdbool.h>
#include <linux/list.h>
#include <linux/types.h>
#include "box_format.h"

struct keep_box;

/** struct keep_holder - what a cgroup has of the records of a block, or of all [bytes] */
struct keep_holder {
	u64	cgroup;
	u64	bytes;
};

struct keep_holders {
	unsigned int		nr;
	struct keep_holder	holder[];
};

enum keep_form {
	KEEP_RAW,		/* records, waiting to be compressed */
	KEEP_COMPRESSING,	/* records, being compressed */
	KEEP_INCOMPRESSIBLE,	/* records that stay as they are */
	KEEP_COMPRESSED,	/* a packed block (pack.h) */
};

/**
 * struct keep_block
 * @box:	file that has the block, or NULL
 * @slot:	describes it there; NULL if there was no room
 * @node:	in the list of kept blocks
 * @raw_node:	in the list of blocks that wait to be compressed, if KEEP_RAW
 * @refs:	the list, the compressor, and the snapshot that is being written hold one each
 * @form:	what @data is
 * @data:	@len bytes
 * @mapped:	memory that @data occupies [bytes]
 * @raw_len:	length of the records [bytes]
 * @file_len:	length in the file that it was written to last [bytes], or 0
 * @holders:	what each cgroup has of them; NULL if unknown (share.h)
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
	struct keep_box	*box;
	struct box_slot	*slot;
	struct list_head node;
	struct list_head raw_node;
	unsigned int	 refs;
	enum keep_form	 form;
	void		*data;
	size_t		 len;
	size_t		 mapped;
	size_t		 raw_len;
	size_t		 file_len;
	struct keep_holders *holders;
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

/**
 * keep_memory__map - allocate @len bytes for the records of a block
 * @box:	the file that the memory is to be part of, or NULL
 *
 * Return: NULL: -ENOMEM, or no room in the file.
 */
void *keep_memory__map(struct keep_box *box, size_t len);

/**
 * keep_memory__unmap - free @len bytes that keep_memory__map() or keep_block__replace() has
 * returned
 */
void keep_memory__unmap(struct keep_box *box, void *memory, size_t len);

/**
 * keep_block__new - create an empty block of @memory
 *
 * Return: NULL: -ENOMEM, no @memory, or no room in the file. The memory remains the caller's then.
 */
struct keep_block *keep_block__new(struct keep_box *box, void *memory);

/** keep_block__free - free the block, whatever its @refs */
void keep_block__free(struct keep_block *block);

/** keep_block__discard - likewise, but leave its records in the file, if they are there */
void keep_block__discard(struct keep_block *block);

/** keep_block__append - @len bytes behind the records were written: they belong to the block now */
void keep_block__append(struct keep_block *block, size_t len);

/** keep_block__seal - nothing will be appended any more: all fields are set */
void keep_block__seal(struct keep_block *block);

/** keep_block__seq - return the number of the block in its file, or 0 */
u64 keep_block__seq(const struct keep_block *block);

/**
 * keep_block__replace - replace the content by a copy of @len bytes at @data
 * @packed:	these are a packed block (pack.h), or else records
 *
 * Return: the memory of the former content, which is the caller's now. NULL if there was no memory,
 * or no room in the file: then the block is unchanged.
 */
void *keep_block__replace(struct keep_block *block, const void *data, size_t len, bool packed);

/** keep_block__trim - give memory behind the records back */
void keep_block__trim(struct keep_block *block);

#endif
