/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Images of memory with rings in them, as ring_writer.h writes them, and what is recovered from them.
 */
#ifndef IMAGE_H
#define IMAGE_H

#include <perf/recover.h>

#include "ring_writer.h"

#define IMAGE_PAGE	4096u
#define IMAGE_IDS	4

/* Bytes one behind the other, of just the right length for the sanitizer. Never fail. */
struct image {
	unsigned char	*data;
	size_t		 size;
};

void image__append(struct image *image, const void *data, size_t len);
void image__append_random(struct image *image, size_t len);
void image__append_ring(struct image *image, const struct ring_writer *writer);

/* Puts the pages of it, which begin behind @skip bytes, in another order. */
void image__shuffle(struct image *image, size_t skip);
void image__exit(struct image *image);

/* The same numbers for the same seed */
void random_seed(u64 seed);
u64 random_number(void);

/**
 * struct recovered - what there was of one id
 * @nr:		records
 * @first, @last: numbers of the first and the last
 * @holes:	numbers that are missing between them
 */
struct recovered {
	u64	nr;
	u64	first;
	u64	last;
	u64	holes;
};

/*
 * Recovers the records of ids 1 to IMAGE_IDS. Returns whether they are whole, and those of each id
 * in order, none twice; @recovered is by id - 1.
 */
bool image__recover(const struct image *image, struct recovered *recovered,
		    struct perf_recovery_stats *stats);

#endif
