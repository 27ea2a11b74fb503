/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __PERF_ATTR_SIZE_H
#define __PERF_ATTR_SIZE_H

/*
 * How many bytes of a struct perf_event_attr belong in a perf.data file.
 *
 * A reader refuses an attribute which says that it is larger than the struct
 * the reader was built with, whatever is in the extra bytes. The struct only
 * ever grows at its end, in published steps (PERF_ATTR_SIZE_VER*), and a field
 * which is not in the file reads as zero. So trailing zeros need not be
 * written, and a file stays readable by every perf which knows the fields that
 * are in use:
 *
 *   0        64      96   112  128 136
 *   +--------+--..---+-..-+-..-+---+
 *   | VER0   |  ..  VER3  ..  VER8 |   struct perf_event_attr
 *   +--------+--..---+-..-+-..-+---+
 *   |##########| 0 0 0 0 0 0 0 0 0 |   what is set in it
 *   |<--- VERn --->|                   what is written
 *
 * This header needs nothing else of perf, so that a test can include it alone.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <linux/perf_event.h>

#ifndef PERF_ATTR_SIZE_VER8
#error "linux/perf_event.h is too old: compile with -I tools/include/uapi"
#endif

_Static_assert(sizeof(struct perf_event_attr) == PERF_ATTR_SIZE_VER8,
	       "perf_event_attr has grown: publish its new size below");

struct evlist;
union perf_event;

/**
 * perf_event_attr__published_size - smallest published size that holds an attr
 * @attr: a whole, zero padded attribute. Its size field is neither believed nor
 *        counted.
 *
 * Looks at bytes and not at fields: a field added in what is padding today is
 * not forgotten.
 *
 * Return: bytes, one of PERF_ATTR_SIZE_VER0 .. PERF_ATTR_SIZE_VER8. Never more
 * than sizeof(*@attr), and always a multiple of 8.
 */
static inline size_t
perf_event_attr__published_size(const struct perf_event_attr *attr)
{
	static const size_t published[] = {
		PERF_ATTR_SIZE_VER0, PERF_ATTR_SIZE_VER1, PERF_ATTR_SIZE_VER2,
		PERF_ATTR_SIZE_VER3, PERF_ATTR_SIZE_VER4, PERF_ATTR_SIZE_VER5,
		PERF_ATTR_SIZE_VER6, PERF_ATTR_SIZE_VER7, PERF_ATTR_SIZE_VER8,
	};
	const unsigned char *bytes = (const unsigned char *)attr;
	size_t used = sizeof(*attr);
	size_t i = 0;

	/* The size field is below the floor, so it needs no special care. */
	while (used > PERF_ATTR_SIZE_VER0 && !bytes[used - 1])
		used--;

	while (published[i] < used)
		i++;

	return published[i];
}

/**
 * perf_event_attr__resized - an attribute as it is written at a given size
 * @attr: the attribute in memory, which is left as it is: events may still be
 *        opened with it.
 * @size: bytes to be written, at least perf_event_attr__published_size(@attr).
 *
 * Return: a copy of @attr whose size field says @size.
 */
static inline struct perf_event_attr
perf_event_attr__resized(const struct perf_event_attr *attr, size_t size)
{
	struct perf_event_attr resized = *attr;

	resized.size = size;
	return resized;
}

/**
 * perf_event_attr__copy - take an attribute of any size out of a record
 * @dst:  receives the attribute, zero padded.
 * @src:  the attribute in the record, in the byte order of this machine. What
 *        follows its src->size bytes is not part of it.
 * @room: bytes of the record from @src on.
 *
 * A record without a size in it is one of PERF_ATTR_SIZE_VER0 bytes, as in the
 * file header. Of a larger attribute than this perf knows, the known part is
 * copied. @dst->size is the number of bytes copied (or 0, where @src has 0).
 *
 * Return: 0, or -EINVAL and @dst untouched if @src is cut short by @room, or is
 * smaller than the first published size.
 */
static inline int perf_event_attr__copy(struct perf_event_attr *dst,
					const struct perf_event_attr *src,
					size_t room)
{
	size_t size;

	if (room < PERF_ATTR_SIZE_VER0)
		return -EINVAL;

	size = src->size ? src->size : PERF_ATTR_SIZE_VER0;
	if (size < PERF_ATTR_SIZE_VER0 || size > room)
		return -EINVAL;

	if (size > sizeof(*dst))
		size = sizeof(*dst);

	memset(dst, 0, sizeof(*dst));
	memcpy(dst, src, size);
	if (dst->size)
		dst->size = size;
	return 0;
}

size_t evlist__attr_size(const struct evlist *evlist);

int perf_event__copy_attr(const union perf_event *event, struct perf_event_attr *attr);

#endif /* __PERF_ATTR_SIZE_H */
