/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __PERF_ATTR_SIZE_H
#define __PERF_ATTR_SIZE_H

/*
 * Choose how many bytes of a struct perf_event_attr to write to a perf.data file.
 *
 * A reader rejects an attribute whose size field is larger than the struct that
 * the reader was built with, even if the extra bytes are zero. The struct grows
 * only at its end, in published steps (PERF_ATTR_SIZE_VER*), and a reader takes
 * fields that are missing from the file as zero. So trailing zeros need not be
 * written, and every perf that knows the fields in use can read the file:
 *
 *   0        64      96   112  128 136
 *   +--------+--..---+-..-+-..-+---+
 *   | VER0   |  ..  VER3  ..  VER8 |   struct perf_event_attr
 *   +--------+--..---+-..-+-..-+---+
 *   |##########| 0 0 0 0 0 0 0 0 0 |   bytes in use
 *   |<--- VERn --->|                   bytes written
 *
 * This header depends on no other perf header, so that a unit test can include
 * it alone.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <linux/perf_event.h>

#ifndef PERF_ATTR_SIZE_VER8
#error "linux/perf_event.h is too old: compile with -I tools/include/uapi"
#endif

/* VER9 has one field more, and some bases lack it. */
_Static_assert(sizeof(struct perf_event_attr) == PERF_ATTR_SIZE_VER8 ||
	       sizeof(struct perf_event_attr) == PERF_ATTR_SIZE_VER8 + sizeof(__u64),
	       "perf_event_attr has grown: publish its new size below");

struct evlist;
union perf_event;

/**
 * perf_event_attr__published_size - find the smallest published size that holds an attr
 * @attr: a complete, zero padded attribute. Its size field is ignored.
 *
 * Checks bytes, not fields, to include fields that may be added in what is
 * padding today.
 *
 * Return: one of PERF_ATTR_SIZE_VER0 .. PERF_ATTR_SIZE_VER9: a multiple of 8, at
 * most sizeof(*@attr) [bytes].
 */
static inline size_t
perf_event_attr__published_size(const struct perf_event_attr *attr)
{
	static const size_t published[] = {
		PERF_ATTR_SIZE_VER0, PERF_ATTR_SIZE_VER1, PERF_ATTR_SIZE_VER2,
		PERF_ATTR_SIZE_VER3, PERF_ATTR_SIZE_VER4, PERF_ATTR_SIZE_VER5,
		PERF_ATTR_SIZE_VER6, PERF_ATTR_SIZE_VER7, PERF_ATTR_SIZE_VER8,
		sizeof(struct perf_event_attr),
	};
	const unsigned char *bytes = (const unsigned char *)attr;
	size_t used = sizeof(*attr);
	size_t i = 0;

	/* The size field is within VER0, which is always in use. */
	while (used > PERF_ATTR_SIZE_VER0 && !bytes[used - 1])
		used--;

	while (published[i] < used)
		i++;

	return published[i];
}

/**
 * perf_event_attr__resized - copy an attribute and set its size field
 * @attr: the attribute in memory. Not modified: events may still be opened with
 *        it.
 * @size: bytes to write, at least perf_event_attr__published_size(@attr).
 *
 * Return: a copy of @attr whose size field is @size.
 */
static inline struct perf_event_attr
perf_event_attr__resized(const struct perf_event_attr *attr, size_t size)
{
	struct perf_event_attr resized = *attr;

	resized.size = size;
	return resized;
}

/**
 * perf_event_attr__copy - copy an attribute of any size from a record
 * @dst:  receives the attribute, zero padded.
 * @src:  the attribute in the record, in the byte order of this machine. It is
 *        src->size bytes long.
 * @max_bytes: size of the record from @src on [bytes].
 *
 * A size field of 0 stands for PERF_ATTR_SIZE_VER0 bytes, as in the file header.
 * If the attribute is larger than this perf knows, the known part is copied.
 * @dst->size is set to the number of bytes copied, or to 0 if src->size is 0.
 *
 * Return: 0; -EINVAL, with @dst unmodified, if @src exceeds @max_bytes, or is
 * smaller than the first published size.
 */
static inline int perf_event_attr__copy(struct perf_event_attr *dst,
					const struct perf_event_attr *src,
					size_t max_bytes)
{
	size_t size;

	if (max_bytes < PERF_ATTR_SIZE_VER0)
		return -EINVAL;

	size = src->size ? src->size : PERF_ATTR_SIZE_VER0;
	if (size < PERF_ATTR_SIZE_VER0 || size > max_bytes)
		return -EINVAL;

	if (size > sizeof(*dst))
		size = sizeof(*dst);

	memset(dst, 0, sizeof(*dst));
	memcpy(dst, src, size);
	if (dst->size)
		dst->size = size;
	return 0;
}

size_t evlist__attr_size(struct evlist *evlist);

int perf_event__copy_attr(const union perf_event *event, struct perf_event_attr *attr);

#endif /* __PERF_ATTR_SIZE_H */
