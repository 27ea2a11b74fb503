// SPDX-License-Identifier: GPL-2.0-only
/* Create a reader for an overwrite ring, and load its head and data_reserved. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <linux/ring_buffer.h>
#include <sys/mman.h>
#include <internal/mmap.h>
#include <internal/overwrite.h>

/*
 * Later kernels may give the capability bits another meaning. Trust them only if the kernel has
 * accepted PERF_SAMPLE_SIZE_AT_END, for this event or for the event that the probe opened.
 */
static bool has_data_reserved(const struct perf_event_mmap_page *page,
			      enum perf_overwrite_kind kind)
{
	return page->cap_data_reserved && (kind == PERF_OVERWRITE_SIZED ||
					   perf_overwrite__probe() == PERF_OVERWRITE_SIZED);
}

struct perf_overwrite *perf_overwrite__new(void *base, size_t size, int fd,
					   enum perf_overwrite_kind kind)
{
	size_t page_size = sysconf(_SC_PAGESIZE);
	struct perf_overwrite *ring;

	if (size < page_size || (size & (size - 1))) {
		errno = EINVAL;
		return NULL;
	}
	if (!perf_overwrite__is_kind(base, kind)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return NULL;
	ring->page = base;
	ring->data = base + page_size;
	ring->size = size;
	ring->fd = fd;
	ring->kind = kind;
	ring->has_data_reserved = has_data_reserved(base, kind);
	/* Fault the pages in, or else the first copy will. Failing is harmless: Linux < 5.14. */
	madvise(base, page_size + size, MADV_POPULATE_READ);
	return ring;
}

struct perf_overwrite *perf_overwrite__new_mmap(struct perf_mmap *map,
						enum perf_overwrite_kind kind)
{
	if (!map->base || !map->overwrite) {
		errno = EINVAL;
		return NULL;
	}
	return perf_overwrite__new(map->base, (size_t)map->mask + 1, map->fd, kind);
}

void perf_overwrite__delete(struct perf_overwrite *ring)
{
	free(ring);
}

/*
 * Return the position that @head, a negated one, stands for. A 32-bit kernel counts modulo 2^32, so
 * its heads have no upper half. Those of a 64-bit kernel have one from the first record on.
 */
static u64 backward_position(const struct perf_overwrite *ring, u64 head)
{
	return head >> 32 ? -head : ring->taken + (u32)(-head - ring->taken);
}

u64 perf_overwrite__head(const struct perf_overwrite *ring)
{
	u64 head = ring_buffer_read_head(ring->page);		/* (C), pairs with (B) */

	if (ring->kind == PERF_OVERWRITE_BACKWARD)
		head = backward_position(ring, head);
	/* Kernels align heads to u64s. Enforce it, as records are read in place. */
	return head & ~7ULL;
}

u64 perf_overwrite__reserved(const struct perf_overwrite *ring)
{
	u64 sum = 0;

	smp_rmb();						/* (F), pairs with (E) */
	for (size_t i = 0; i < ARRAY_SIZE(ring->page->data_reserved); i++)
		sum += READ_ONCE(ring->page->data_reserved[i]);
	return sum;
}
