// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <linux/bitmap.h>
#include <linux/zalloc.h>
#include "arena.h"

int arena__init(struct arena *arena, size_t nr)
{
	*arena = (struct arena){ .used = bitmap_zalloc(nr), .nr = nr, .nr_free = nr };
	return arena->used ? 0 : -ENOMEM;
}

void arena__exit(struct arena *arena)
{
	zfree(&arena->used);
}

/* Return: the first of @nr free pages in [@from, @until), or ARENA_FULL. */
static size_t find(const struct arena *arena, size_t from, size_t until, size_t nr)
{
	size_t begin, end;

	for (begin = from; begin + nr <= until; begin = end) {
		begin = find_next_zero_bit(arena->used, until, begin);
		if (begin + nr > until)
			break;
		end = find_next_bit(arena->used, begin + nr, begin);
		if (end >= begin + nr)
			return begin;
	}
	return ARENA_FULL;
}

size_t arena__alloc(struct arena *arena, size_t nr, bool low)
{
	size_t from = low ? 0 : arena->next, page = find(arena, from, arena->nr, nr), i;

	if (page == ARENA_FULL && from)
		page = find(arena, 0, arena->nr, nr);
	if (page == ARENA_FULL)
		return ARENA_FULL;
	for (i = page; i < page + nr; i++)
		__set_bit(i, arena->used);
	arena->nr_free -= nr;
	if (!low)
		arena->next = page + nr;
	return page;
}

void arena__free(struct arena *arena, size_t page, size_t nr)
{
	size_t i;

	for (i = page; i < page + nr; i++)
		__clear_bit(i, arena->used);
	arena->nr_free += nr;
}
