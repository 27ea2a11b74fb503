/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __LIBPERF_INTERNAL_RECOVER_JOIN_H
#define __LIBPERF_INTERNAL_RECOVER_JOIN_H

#include <internal/recover-pieces.h>

/**
 * recover__join_halves - add the records whose two halves lie apart in the image
 *
 * Also drops the records at the seams, which must still be present when halves are searched. Only
 * after recover__check_pieces(). Appends to @recovery->pieces, which are unsorted afterwards.
 *
 * Return: 0, or -ENOMEM.
 */
int recover__join_halves(struct perf_recovery *recovery);

#endif /* __LIBPERF_INTERNAL_RECOVER_JOIN_H */
