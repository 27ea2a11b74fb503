/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find the new bytes in an AUX area, and copy them.
 *
 * An area wraps: byte n of the trace lies at offset n % len. For a snapshot:
 *
 *	  0			     head				len
 *	  |========== new ===========|   old    [======= new ==========|
 *
 *	which bytes were written since the last look (the cursor),
 *	and how many of those were overwritten by later ones?
 *
 * Where the kernel counts (cap_aux_written), the answer is exact. Elsewhere util guesses, by a rule
 * for each PMU, and the answer is a range.
 *
 * A copy is an image of the area: each byte has the same offset in both. So bytes that are taken
 * twice before they are written need no more memory than bytes taken once, and the bytes of an
 * image are always a single run, in one piece or two:
 *
 *	take		|          [== 1 ==)                   |
 *	take again	|          [== 1 ==|====== 2 =====)    |
 *	and again	|=== 3 ===)   [= 1 =|===== 2 =====|= 3 |	the oldest bytes of 1 are overwritten
 *
 * Pure memory: knows no rings and no files. The numbers from the control page may be anything.
 */
#ifndef PERF_RECORDING_AUX_COPY_H
#define PERF_RECORDING_AUX_COPY_H

#include <linux/types.h>
#include "recording/lib/records.h"

/**
 * struct aux_cursor - position of the last look at an area
 * @len:	size of the area [bytes]
 * @written:	bytes written until then
 */
struct aux_cursor {
	u64	len;
	u64	written;
};

/**
 * struct aux_news - new bytes in an area
 * @end:	offset behind the newest byte
 * @bytes:	number of new bytes before @end, at most the size of the area
 * @overwritten: number of new bytes that were overwritten before the look
 */
struct aux_news {
	u64	end;
	u64	bytes;
	u64	overwritten;
};

/**
 * struct aux_copy - a copy of the newest bytes of an area
 * @data:	@len bytes; owned
 * @len:	size of the area [bytes]
 * @max_bytes:	keep no more (-S with a size) [bytes]
 * @end:	offset behind the newest byte
 * @bytes:	number of bytes before @end
 */
struct aux_copy {
	void	*data;
	u64	 len;
	u64	 max_bytes;
	u64	 end;
	u64	 bytes;
};

/**
 * aux_cursor__count - look at an area whose bytes are counted
 * @head:	aux_head; an offset, or a count
 * @written:	aux_written; of a full trace, the bytes that aux_head has advanced in all
 *
 * A count that decreases is invalid: then the whole area is new.
 */
struct aux_news aux_cursor__count(struct aux_cursor *cursor, u64 head, u64 written);

/**
 * aux_news__range - the same for an area where util has guessed
 * @len:	size of the area
 * @old:	where the new bytes begin
 * @head:	where they end; @old + @len if the whole area is new
 */
struct aux_news aux_news__range(u64 len, u64 old, u64 head);

/** aux_news__records - the new bytes in an area of @len bytes at @area, oldest first */
struct records aux_news__records(const struct aux_news *news, const void *area, u64 len);

/**
 * aux_copy__init - create an empty copy; the caller frees with aux_copy__exit()
 * @len:	size of the area
 * @max_bytes:	see struct aux_copy; at most @len
 *
 * Pages that are never filled take no memory.
 *
 * Return: 0, or -ENOMEM.
 */
int aux_copy__init(struct aux_copy *image, u64 len, u64 max_bytes);

void aux_copy__exit(struct aux_copy *image);

/**
 * aux_copy__add - copy the new bytes
 *
 * Bytes in the copy stay as far as there is space, and only if the new bytes follow them.
 *
 * Return: number of new bytes that are not in the copy, plus bytes of the copy that were dropped
 * for them.
 */
u64 aux_copy__add(struct aux_copy *image, const void *area, const struct aux_news *news);

/** aux_copy__clear - empty the copy */
void aux_copy__clear(struct aux_copy *image);

/** aux_copy__news - its bytes, for aux_news__records() */
static inline struct aux_news aux_copy__news(const struct aux_copy *image)
{
	return (struct aux_news){ .end = image->end, .bytes = image->bytes };
}

#endif
