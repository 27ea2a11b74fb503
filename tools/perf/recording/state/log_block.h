/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pack entries of the log (log.h) that were applied some time ago, in blocks.
 *
 * Most of them are about processes that have ended, and look like earlier ones: the same names and
 * files, with other tasks, addresses and times. So a record is stored as its differences from the
 * last record of the block with the same key, which is computed from its type, size, and name:
 *
 *	for each entry:	key		one byte
 *			task, file	differences from the entry before
 *			size		of the record, in words of 64 bits
 *			mask		one bit for each 32-bit word of the record: does it differ?
 *			differences	of these words
 *
 * Differences are varints of 7 bits a byte, the lowest first, mapped to 0, -1, 1, -2 ... The result
 * is compressed by zstd if perf is built with it.
 *
 * A record with other references, from a view of a task that is alive, takes memory anyway. So the
 * block has a reference to it instead of a copy.
 *
 * Not for several threads.
 */
#ifndef PERF_RECORDING_LOG_BLOCK_H
#define PERF_RECORDING_LOG_BLOCK_H

#include <stddef.h>
#include <linux/bitops.h>
#include <linux/types.h>

/* Most entries of a block. */
#define LOG_BLOCK_ENTRIES	512

struct id_format;
struct log_entry;
struct log_packer;

/**
 * struct log_block - packed entries
 * @nr:		number of entries, dropped ones included
 * @nr_dropped:	number of entries that the log does not have any more
 * @dropped:	which ones
 * @nr_written:	number of the first entries that file @file has
 * @entry_bytes: size of the entries before they were packed [bytes]
 * @shared_bytes: size of the entries whose records have other references [bytes]
 * @len:	length of @data [bytes]
 * @coded_len:	length of @data after decompression; @len if it is not compressed [bytes]
 */
struct log_block {
	u32		nr;
	u32		nr_dropped;
	unsigned long	dropped[BITS_TO_LONGS(LOG_BLOCK_ENTRIES)];
	u32		file;
	u32		nr_written;
	size_t		entry_bytes;
	size_t		shared_bytes;
	u32		len;
	u32		coded_len;
	unsigned char	data[];
};

/** log_packer__new - allocate what packs and unpacks; @format: of the records. NULL: -ENOMEM */
struct log_packer *log_packer__new(const struct id_format *format);

/** log_packer__free - @packer may be NULL */
void log_packer__free(struct log_packer *packer);

/** log_packer__bytes - return the memory that a packer takes at most; it may be NULL [bytes] */
size_t log_packer__bytes(const struct log_packer *packer);

/**
 * log_packer__pack - pack entries, as many as fit into a block
 * @entries:	@nr of them, perhaps unpacked ones
 *
 * Return: the block, which has taken over the references of its entries; NULL: -ENOMEM.
 */
struct log_block *log_packer__pack(struct log_packer *packer, const struct log_entry *entries,
				   size_t nr);

/**
 * log_packer__unpack - unpack all entries of a block
 *
 * A record of a dropped entry is NULL. One without references is valid until the next call of
 * log_packer__unpack(): sb_record__own() makes a copy of it.
 *
 * Return: the entries, valid as long.
 */
struct log_entry *log_packer__unpack(struct log_packer *packer, const struct log_block *block);

/** log_block__bytes - return the memory that a block takes [bytes] */
size_t log_block__bytes(const struct log_block *block);

#endif
