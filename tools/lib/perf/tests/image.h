/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Build memory images that contain rings written by ring_writer.h, and recover records from them.
 */
#ifndef IMAGE_H
#define IMAGE_H

#include <perf/recover.h>

#include "ring_writer.h"

#define IMAGE_PAGE	4096u
#define IMAGE_IDS	4

/*
 * struct image - a growing memory block of exact size, so that AddressSanitizer detects overruns.
 * Its functions never fail.
 */
struct image {
	unsigned char	*data;
	size_t		 size;
};

void image__append(struct image *image, const void *data, size_t len);
void image__append_random(struct image *image, size_t len);
void image__append_ring(struct image *image, const struct ring_writer *writer);

/* Shuffle the pages, the first of which begins at byte @skip. */
void image__shuffle(struct image *image, size_t skip);
void image__exit(struct image *image);

/* A reproducible sequence of numbers */
void random_seed(u64 seed);
u64 random_number(void);

/**
 * struct recovered - the recovered records of one id
 * @nr:		how many
 * @first:	number of the first record
 * @last:	number of the last record
 * @holes:	how many numbers are missing in between
 */
struct recovered {
	u64	nr;
	u64	first;
	u64	last;
	u64	holes;
};

/*
 * Recover the records of ids 1 to IMAGE_IDS into @recovered[id - 1]. Return whether all records are
 * intact, and those of each id are in order, each once.
 */
bool image__recover(const struct image *image, struct recovered *recovered,
		    struct perf_recovery_stats *stats);

#endif
