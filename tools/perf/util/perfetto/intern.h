/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Give a number to each different value.
 */
#ifndef PERF_PERFETTO_INTERN_H
#define PERF_PERFETTO_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct hashmap;

/**
 * struct intern - values with their numbers
 * @values:	the values
 * @bytes:	memory of the values [bytes]
 * @last:	the newest number, which is unique among all kinds
 */
struct intern {
	struct hashmap	*values;
	size_t		 bytes;
	u64		 last;
};

/**
 * intern__id - return the number of a value, at least 1
 * @kind:	values of two kinds are never the same
 * @is_new:	set if the value had no number
 *
 * Return: 0 if memory is short.
 */
u64 intern__id(struct intern *intern, unsigned int kind, const void *value, size_t len,
	       bool *is_new);

/** intern__clear - forget all values, but not the numbers. Releases all memory */
void intern__clear(struct intern *intern);

#endif
