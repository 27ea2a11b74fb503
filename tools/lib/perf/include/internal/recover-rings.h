/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __LIBPERF_INTERNAL_RECOVER_RINGS_H
#define __LIBPERF_INTERNAL_RECOVER_RINGS_H

#include <sys/types.h>
#include <internal/recover-pieces.h>

/* Whether @header may be one of a record that a kernel wrote with a trailer. */
bool recover__is_header(const struct perf_event_header *header);

/* The index of @id, or -1 if nobody asked for it. */
ssize_t recover__find_id(const struct perf_recovery *recovery, u64 id);

/* Where in a record of @size bytes with this header its id is; 0 if it has no room for one. */
size_t recover__id_offset(const struct perf_recovery *recovery,
			  const struct perf_event_header *header);

/* Return: 0, or -ENOMEM. */
int recover__copy_ids(struct perf_recovery *recovery, const struct perf_recovery_ids *ids);

void recover__unite(struct perf_recovery *recovery, u32 a, u32 b);

/*
 * Gives each piece its ring, and adds to its position a constant of the ring, a multiple of
 * RECOVER_PAGE, so that positions can be compared where the stamps wrap. Return: 0, or -ENOMEM.
 */
int recover__find_rings(struct perf_recovery *recovery);

u64 recover__position_at(const struct perf_recovery *recovery, size_t at, u32 ring,
			 u16 *size);

#endif /* __LIBPERF_INTERNAL_RECOVER_RINGS_H */
