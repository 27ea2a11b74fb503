/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is new in an AUX area, and copies of it.
 *
 * An area goes round: byte n of the trace lies at offset n % len. What is asked of it at a snapshot is
 *
 *	  0			     head				len
 *	  |========== new ===========|   gone   [======= new ==========|
 *
 *	which bytes were written since it was looked at last (the cursor),
 *	and how many of those are gone, because later ones have taken their place?
 *
 * Where the kernel counts (cap_aux_written) the answer is exact. Elsewhere util guesses, by a rule for
 * each PMU, and the answer is a range.
 *
 * A copy is an image of the area: what lay at an offset there lies at the same offset here. So what is
 * taken twice before it is written needs no more room than what is taken once, and the bytes of an
 * image always are a single run, in one piece or in two:
 *
 *	take		|          [== 1 ==)                   |
 *	take again	|          [== 1 ==|====== 2 =====)    |
 *	and again	|=== 3 ===)   [= 1 =|===== 2 =====|= 3 |	of 1, the oldest are given up
 *
 * Pure memory: knows no rings and no files. The numbers from the control page may be anything.
 */
#ifndef PERF_RECORDING_AUX_COPY_H
#define PERF_RECORDING_AUX_COPY_H

#include <linux/types.h>
#include "recording/lib/records.h"

/**
 * struct aux_cursor - how far an area was looked at
 * @len:	size of the area [bytes]
 * @written:	how much had been written then [bytes]
 */
struct aux_cursor {
	u64	len;
	u64	written;
};

/**
 * struct aux_news - what is new in an area
 * @end:	offset behind the newest byte
 * @bytes:	how many before that are new and there, at most the size of the area
 * @gone:	how many were new and are overwritten [bytes]
 */
struct aux_news {
	u64	end;
	u64	bytes;
	u64	gone;
};

/**
 * struct aux_copy - a copy of the newest bytes of an area
 * @data:	@len bytes; owned
 * @len:	as the area
 * @most:	more than that are not kept (-S, with a size) [bytes]
 * @end:	offset behind the newest byte
 * @bytes:	how many before that are there
 */
struct aux_copy {
	void	*data;
	u64	 len;
	u64	 most;
	u64	 end;
	u64	 bytes;
};

/**
 * aux_cursor__count - look at an area whose bytes are counted
 * @head:	aux_head; an offset, or a count
 * @written:	aux_written; of a full trace, aux_head
 *
 * A count that goes back makes no sense; then all of the area is called new.
 */
struct aux_news aux_cursor__count(struct aux_cursor *cursor, u64 head, u64 written);

/**
 * aux_news__range - the same of one where util has guessed
 * @len:	size of the area
 * @old:	where what is new begins
 * @head:	where it ends; a whole @len behind @old if that is all of the area
 */
struct aux_news aux_news__range(u64 len, u64 old, u64 head);

/** aux_news__records - where the bytes are in an area of @len bytes at @area, oldest first */
struct records aux_news__records(const struct aux_news *news, const void *area, u64 len);

/**
 * aux_copy__init - nothing in it yet; to be freed with aux_copy__exit()
 * @len:	size of the area
 * @most:	see there; at most @len
 *
 * What is never filled takes no memory.
 *
 * Return: 0, or -ENOMEM.
 */
int aux_copy__init(struct aux_copy *image, u64 len, u64 most);

void aux_copy__exit(struct aux_copy *image);

/**
 * aux_copy__add - copy what is new
 *
 * What is in the image is kept as far as there is room, and if the new bytes follow it.
 *
 * Return: how many bytes were new and are not in the image, or were in it and had to give way.
 */
u64 aux_copy__add(struct aux_copy *image, const void *area, const struct aux_news *news);

/** aux_copy__clear - forget what is in it */
void aux_copy__clear(struct aux_copy *image);

/** aux_copy__news - what is in it, for aux_news__records() */
static inline struct aux_news aux_copy__news(const struct aux_copy *image)
{
	return (struct aux_news){ .end = image->end, .bytes = image->bytes };
}

#endif
