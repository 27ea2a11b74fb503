// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include "deferred.h"

#define MIN_CAPACITY	1024

/**
 * struct deferred_entry - a cookie
 * @cookie:	0 in an unused entry
 * @oldest:	time of the oldest of @samples [ns]
 * @samples:	number of samples with this cookie
 * @has_stack:	the stack was found
 */
struct deferred_entry {
	u64	cookie;
	u64	oldest;
	u64	samples;
	bool	has_stack;
};

/* Return: the entry of @cookie, or the unused one that it is to get. @capacity: a power of two. */
static struct deferred_entry *find(struct deferred_entry *entries, size_t capacity, u64 cookie)
{
	size_t i = hash_64(cookie, 32) & (capacity - 1);

	while (entries[i].cookie && entries[i].cookie != cookie)
		i = (i + 1) & (capacity - 1);
	return &entries[i];
}

static bool grow(struct deferred_stacks *stacks)
{
	size_t capacity = stacks->capacity * 2 ?: MIN_CAPACITY, i;
	struct deferred_entry *entries;

	if (stacks->nr < stacks->capacity / 2)
		return true;
	entries = calloc(capacity, sizeof(*entries));
	if (!entries)
		return false;
	for (i = 0; i < stacks->capacity; i++) {
		if (stacks->entries[i].cookie)
			*find(entries, capacity, stacks->entries[i].cookie) = stacks->entries[i];
	}
	free(stacks->entries);
	stacks->entries = entries;
	stacks->capacity = capacity;
	return true;
}

static struct deferred_entry *get(struct deferred_stacks *stacks, u64 cookie)
{
	struct deferred_entry *entry;

	if (stacks->no_memory || !grow(stacks)) {
		stacks->no_memory = true;
		return NULL;
	}
	entry = find(stacks->entries, stacks->capacity, cookie);
	if (!entry->cookie) {
		stacks->nr++;
		entry->cookie = cookie;
	}
	return entry;
}

void deferred__add_sample(struct deferred_stacks *stacks, u64 cookie, u64 time)
{
	struct deferred_entry *entry = get(stacks, cookie);

	if (!entry)
		return;
	entry->oldest = entry->samples ? min(entry->oldest, time) : time;
	entry->samples++;
}

void deferred__add_stack(struct deferred_stacks *stacks, u64 cookie)
{
	struct deferred_entry *entry = get(stacks, cookie);

	if (entry)
		entry->has_stack = true;
}

struct deferred_stats deferred__count(struct deferred_stacks *stacks, u64 complete)
{
	struct deferred_stats stats = { 0 };
	size_t i;

	for (i = 0; i < stacks->capacity && !stacks->no_memory; i++) {
		const struct deferred_entry *entry = &stacks->entries[i];

		stats.samples += entry->samples;
		if (entry->has_stack)
			continue;
		if (entry->oldest >= complete)
			stats.in_kernel += entry->samples;
		else
			stats.overwritten += entry->samples;
	}
	free(stacks->entries);
	*stacks = (struct deferred_stacks){ 0 };
	return stats;
}
