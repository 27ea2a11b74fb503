/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pack the records of a block: as columns (columns.h), by zstd, or both; and restore them.
 *
 * A packed block says itself how it is packed, so it can be restored without anything else:
 *
 *	struct keep_packed		the header
 *	bytes				@len of them: one zstd frame, or columns
 *
 * KEEP_BY_ZSTD | KEEP_BY_COLUMNS	the rule
 * KEEP_BY_ZSTD				what the columns refuse: stacks, traces
 * KEEP_BY_COLUMNS			when the compressor's thread is behind: 2.4 times as large
 *					as with zstd, for 60 % of the CPU time
 */
#ifndef PERF_RECORDING_KEEP_PACK_H
#define PERF_RECORDING_KEEP_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include <sys/types.h>

struct evlist;
struct evsel;

#define KEEP_PACKED_MAGIC	0x324b504bU		/* "KPK2" */

enum keep_packed_by {
	KEEP_BY_ZSTD	= 1,
	KEEP_BY_COLUMNS	= 2,
};

/**
 * struct keep_packed - header of a packed block, in host byte order
 * @magic:	KEEP_PACKED_MAGIC
 * @by:		bits of enum keep_packed_by
 * @len:	length of what follows [bytes]
 * @raw_len:	length of the records [bytes]
 */
struct keep_packed {
	u32	magic;
	u32	by;
	u32	len;
	u32	raw_len;
};

struct keep_packer;
struct keep_unpacker;

/** evsel__is_kept - are the samples of this event kept? */
bool evsel__is_kept(const struct evsel *evsel);

/**
 * keep_packer__new - allocate what packs blocks of up to @max_bytes; used by one thread at a time
 * @level:	of zstd
 * @evlist:	the events of the records; may be NULL
 *
 * Return: NULL: -ENOMEM.
 */
struct keep_packer *keep_packer__new(size_t max_bytes, int level, struct evlist *evlist);

void keep_packer__free(struct keep_packer *packer);

/**
 * keep_packer__pack - pack @len bytes of whole records
 * @fast:	leave out zstd
 * @packed:	receives the packed block, which is valid until the next call
 *
 * Return: its length, header included [bytes]; 0 if it would not be smaller.
 */
size_t keep_packer__pack(struct keep_packer *packer, const void *records, size_t len, bool fast,
			 const void **packed);

/** keep_unpacker__new - allocate what restores blocks of up to @max_bytes. Return: NULL: -ENOMEM */
struct keep_unpacker *keep_unpacker__new(size_t max_bytes);

void keep_unpacker__free(struct keep_unpacker *unpacker);

/**
 * keep_unpacker__unpack - restore the records of a packed block
 * @packed:	any @len bytes, aligned as a struct keep_packed
 * @records:	receives the records, which are valid until the next call
 *
 * Return: their length [bytes]; -EINVAL if the bytes are damaged, -EOPNOTSUPP without zstd.
 */
ssize_t keep_unpacker__unpack(struct keep_unpacker *unpacker, const void *packed, size_t len,
			      void **records);

#endif
