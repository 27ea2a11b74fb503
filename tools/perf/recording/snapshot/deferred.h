/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find samples whose deferred user stack is missing (--call-graph fp,defer).
 *
 * The kernel writes the user stack of a sample as a record of its own, when the task returns to
 * user space. Sample and stack have the same cookie, and so have all samples of one stay in the
 * kernel. The stack may be in another ring than the sample, because the task may have moved.
 *
 * Memory: one entry for each cookie in a snapshot, which the size of the rings limits.
 */
#ifndef PERF_RECORDING_DEFERRED_H
#define PERF_RECORDING_DEFERRED_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct deferred_entry;

/**
 * struct deferred_stacks - cookies of a snapshot; begins zeroed
 * @entries:	hash table of @capacity entries, of which @nr are used
 * @no_memory:	an allocation failed: the figures are not known
 */
struct deferred_stacks {
	struct deferred_entry	*entries;
	size_t			 nr;
	size_t			 capacity;
	bool			 no_memory;
};

/**
 * struct deferred_stats
 * @samples:	samples whose user stack is a record of its own
 * @in_kernel:	of these, those whose task had not returned to user space before the last copy
 * @overwritten: of these, older ones without a stack, which was overwritten, or is still to come
 */
struct deferred_stats {
	u64	samples;
	u64	in_kernel;
	u64	overwritten;
};

/** deferred__add_sample - there is a sample of @time [ns] whose stack has this cookie, not 0 */
void deferred__add_sample(struct deferred_stacks *stacks, u64 cookie, u64 time);

/** deferred__add_stack - there is a stack with this cookie, not 0 */
void deferred__add_stack(struct deferred_stacks *stacks, u64 cookie);

/**
 * deferred__count - count the samples that lack their stack, and free the memory
 * @complete:	from this time on, no record was overwritten [ns]
 */
struct deferred_stats deferred__count(struct deferred_stacks *stacks, u64 complete);

#endif
