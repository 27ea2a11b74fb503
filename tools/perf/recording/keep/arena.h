/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Allocate runs of pages in a file of fixed size.
 *
 * Blocks are dropped in the order in which they were allocated, so the search continues behind the
 * last run: what was dropped there forms one free run. Blocks of KEEP_BLOCK_BYTES, which are used
 * again and again, gather at the beginning.
 *
 * Pure memory. The caller locks.
 */
#ifndef PERF_RECORDING_ARENA_H
#define PERF_RECORDING_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#define ARENA_FULL	((size_t)-1)

/**
 * struct arena
 * @used:	a bit for each page
 * @nr:		number of pages
 * @nr_free:	of which are free
 * @next:	where the last run ended
 */
struct arena {
	unsigned long	*used;
	size_t		 nr;
	size_t		 nr_free;
	size_t		 next;
};

/** arena__init - all of @nr pages are free. Return: 0, or -ENOMEM */
int arena__init(struct arena *arena, size_t nr);

void arena__exit(struct arena *arena);

/**
 * arena__alloc - allocate @nr pages in a row
 * @low:	the lowest ones that are free, instead of those behind the last run
 *
 * Return: number of the first page, or ARENA_FULL.
 */
size_t arena__alloc(struct arena *arena, size_t nr, bool low);

/** arena__free - free @nr pages, which need not be all of a run */
void arena__free(struct arena *arena, size_t page, size_t nr);

#endif
