/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find where an image of memory has the memory at a physical address.
 */
#ifndef __PERF_RECOVER_PLACES_H
#define __PERF_RECOVER_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/**
 * struct recover_place - a piece of memory
 * @address:	its physical address
 * @len:	[bytes]
 * @at:		where it begins in the image [bytes]
 */
struct recover_place {
	u64	address;
	u64	len;
	u64	at;
};

/**
 * struct recover_places
 * @all:	@nr places in memory of @max
 */
struct recover_places {
	struct recover_place	*all;
	size_t			 nr;
	size_t			 max;
};

/**
 * recover_places__add - add a piece, or extend the last one that was added
 *
 * Ignores a piece without length, or whose end overflows. Return: 0, or -ENOMEM.
 */
int recover_places__add(struct recover_places *places, u64 address, u64 len, u64 at);

/**
 * recover_places__sort - sort by address, before they are searched
 *
 * If pieces overlap, the one that begins first has the addresses of both.
 */
void recover_places__sort(struct recover_places *places);

/**
 * recover_places__find - find @len bytes at @address, which are in one piece
 * @at:	receives where they are in the image
 */
bool recover_places__find(const struct recover_places *places, u64 address, u64 len, u64 *at);

void recover_places__exit(struct recover_places *places);

#endif /* __PERF_RECOVER_PLACES_H */
