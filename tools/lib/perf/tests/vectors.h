/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Make test vectors for readers of overwrite rings: rings as the kernel leaves them, damaged rings,
 * and the records that a reader must return. They do not depend on libperf's reader, and are the
 * same on each run.
 */
#ifndef VECTORS_H
#define VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include <perf/overwrite.h>

#define VECTOR_SIZE		4096u	/* of the data area [bytes] */

/**
 * struct vector - a ring, and what a snapshot of it must contain
 * @name:	unique, begins with the kind
 * @about:	what it tests
 * @kind:	how the records are written
 * @has_data_reserved: the kernel publishes data_reserved; otherwise there is a grace period
 * @data_head:	when the data were copied
 * @data_reserved: after the copy
 * @data_head_later: after the grace period
 * @taken:	position up to which an earlier snapshot was taken
 * @data:	the copy of the data area
 * @nr:		number of records that must be returned
 * @oldest:	position of the oldest of them, or of the head if there is none
 * @malformed:	the bytes below @oldest are no record, and were not overwritten
 * @records:	the records, oldest first, without trailers
 * @bytes:	size of @records [bytes]
 */
struct vector {
	char			 name[48];
	const char		*about;
	enum perf_overwrite_kind kind;
	bool			 has_data_reserved;
	u64			 data_head;
	u64			 data_reserved[4];
	u64			 data_head_later;
	u64			 taken;
	unsigned char		 data[VECTOR_SIZE];
	unsigned int		 nr;
	u64			 oldest;
	bool			 malformed;
	unsigned char		 records[VECTOR_SIZE];
	size_t			 bytes;
};

/* Make vector @index into @vector. Return false after the last one. */
bool vector__make(unsigned int index, struct vector *vector);

#endif
