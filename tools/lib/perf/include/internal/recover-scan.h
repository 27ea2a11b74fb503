/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __LIBPERF_INTERNAL_RECOVER_SCAN_H
#define __LIBPERF_INTERNAL_RECOVER_SCAN_H

#include <internal/recover-pieces.h>

/**
 * recover__scan - find the complete records of the requested events in the image
 *
 * Fills @recovery->pieces, sorted by offset, and merges rings whose ids occur in one piece.
 *
 * Return: 0, or -ENOMEM.
 */
int recover__scan(struct perf_recovery *recovery);

#endif /* __LIBPERF_INTERNAL_RECOVER_SCAN_H */
