/* SPDX-License-Identifier: GPL-2.0-only */
/* Take snapshots of overwrite rings while records are written. */
#ifndef SELFTESTS_PERF_EVENTS_SNAPSHOT_H
#define SELFTESTS_PERF_EVENTS_SNAPSHOT_H

#include "ring.h"

/* The position up to which the kernel may have written so far. */
static inline uint64_t ring_reserved(const struct ring *ring)
{
	uint64_t sum = 0;

	for (int i = 0; i < 4; i++)
		sum += __atomic_load_n(&ring->page->data_reserved[i],
				       __ATOMIC_RELAXED);
	return sum;
}

/* A copy of an overwrite ring that was taken while records were written. */
struct snapshot {
	struct ring	copy;		/* only data and size are set */
	uint64_t	head;
	uint64_t	valid;		/* [valid, head) was not overwritten */
};

static inline void snapshot_init(struct snapshot *snapshot,
				 const struct ring *ring)
{
	memset(snapshot, 0, sizeof(*snapshot));
	snapshot->copy.size = ring->size;
	snapshot->copy.data = malloc(ring->size);
}

static inline void snapshot_take(struct snapshot *snapshot,
				 const struct ring *ring)
{
	uint64_t reserved;

	snapshot->head = ring_head(ring);	/* C, pairs with B */
	memcpy(snapshot->copy.data, ring->data, ring->size);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);	/* F, pairs with E */
	reserved = ring_reserved(ring);
	snapshot->valid = reserved > ring->size ? reserved - ring->size : 0;
	if (snapshot->valid > snapshot->head)
		snapshot->valid = snapshot->head;
}

#endif /* SELFTESTS_PERF_EVENTS_SNAPSHOT_H */
