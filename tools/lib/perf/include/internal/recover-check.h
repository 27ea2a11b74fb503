/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __LIBPERF_INTERNAL_RECOVER_CHECK_H
#define __LIBPERF_INTERNAL_RECOVER_CHECK_H

#include <internal/recover-pieces.h>

/* Return: 0, or -ENOMEM. */
int recover__check(struct perf_recovery *recovery);

bool recover__is_overwritten(const struct perf_recovery *recovery, size_t at, size_t len, u32 ring,
			     u64 position);

void recover__drop_at_seams(struct perf_recovery *recovery);

#endif /* __LIBPERF_INTERNAL_RECOVER_CHECK_H */
