/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is appended to a file at once, in a few pieces of memory, and where the records are in it.
 *
 * An AUXTRACE record is followed by the data that it announces: they are one whole here.
 */
#ifndef PERF_RECORDING_UNIT_H
#define PERF_RECORDING_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include <sys/uio.h>

/**
 * struct unit
 * @part:	the pieces, @nr of them
 * @len:	their length together [bytes]
 * @pos:	how much of it is copied [bytes]
 * @whole:	where the last record begins that was found to begin at or before @pos [bytes]
 * @next:	where the one behind it begins, or @len [bytes]
 * @type:	of the record at @whole
 * @indivisible: all of it is one record
 */
struct unit {
	const struct iovec	*part;
	int			 nr;
	size_t			 len;
	size_t			 pos;
	size_t			 whole;
	size_t			 next;
	u32			 type;
	bool			 indivisible;
};

/** unit__of - all of @nr pieces at @part, nothing of it copied */
struct unit unit__of(const struct iovec *part, int nr, bool indivisible);

/**
 * unit__record - length of the record at @pos, with the data that it announces
 * @type:	receives its type
 *
 * Return: [bytes], perhaps more than there are; 0 at the end, and where no header makes sense.
 */
size_t unit__record(const struct unit *unit, size_t pos, u32 *type);

/** unit__find - bring @whole, @next and @type up to @pos */
void unit__find(struct unit *unit);

/** unit__copy - copy the next @len bytes, which must be there, to @dst */
void unit__copy(struct unit *unit, void *dst, size_t len);

#endif
