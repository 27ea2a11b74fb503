/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Let arrays grow that are filled one element after the other.
 */
#ifndef PERF_RECORDING_ARRAY_H
#define PERF_RECORDING_ARRAY_H

#include <errno.h>
#include <stdlib.h>
#include <linux/kernel.h>

/**
 * array__grow - make room for @more elements behind the @used ones; the room doubles at least
 * @array:	address of the pointer to the elements, which may be NULL
 * @size:	of an element [bytes]
 * @max:	number of elements that there is room for
 *
 * Return: 0, or -ENOMEM: then nothing has changed.
 */
static inline int array__grow(void *array, size_t used, size_t more, size_t size, size_t *max)
{
	size_t wanted = max(used + more, 2 * *max);
	void *grown;

	if (used + more <= *max)
		return 0;
	grown = realloc(*(void **)array, wanted * size);
	if (!grown)
		return -ENOMEM;
	*(void **)array = grown;
	*max = wanted;
	return 0;
}

#endif
