/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Swap two sets of copies: one is filled while the other is written.
 *
 *	capture thread	rings --> sets[@filling]	again and again, as often as it is asked to
 *	main thread	swap, then sets[@filled] --> output
 *
 * A slow output delays no copy: requests that arrive meanwhile extend the set that is being filled.
 * The memory is bounded by the two sets, which belong to the embedding structure.
 */
#ifndef PERF_RECORDING_DOUBLE_BUFFER_H
#define PERF_RECORDING_DOUBLE_BUFFER_H

#include <pthread.h>
#include <stdbool.h>
#include "thread.h"

/**
 * struct double_buffer
 * @lock:	of @filling and the set that it names
 * @filling:	index of the set that is filled, 0 or 1
 * @filled:	index of the set that is to be written, or -1; the writer's
 */
struct double_buffer {
	pthread_mutex_t	lock;
	int		filling;
	int		filled;
};

/** double_buffer__init - fill set 0 first; nothing is to be written */
static inline void double_buffer__init(struct double_buffer *buffer)
{
	thread__init_lock(&buffer->lock);
	buffer->filling = 0;
	buffer->filled = -1;
}

/**
 * double_buffer__swap - the set that was filled is to be written, unless it is @empty
 *
 * Caller holds @lock. Return: true if the sets changed places: the caller clears the one to be
 * filled now.
 */
static inline bool double_buffer__swap(struct double_buffer *buffer, bool empty)
{
	buffer->filled = empty ? -1 : buffer->filling;
	if (!empty)
		buffer->filling = !buffer->filling;
	return !empty;
}

#endif
