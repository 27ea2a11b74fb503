/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Run a BPF iterator once, from user space.
 */
#ifndef PERF_RECORDING_WHEN_ITERATE_H
#define PERF_RECORDING_WHEN_ITERATE_H

#include <linux/types.h>
#include "util/bpf_skel/durations.h"

struct bpf_link;

/** bpf_link__iterate - let an iterator visit all its objects. Return: 0, or a negative errno */
int bpf_link__iterate(struct bpf_link *link);

/**
 * when__iterate - let an iterator judge what has not ended
 * @words:	of the iterator's object
 * @now:	[ns of CLOCK_MONOTONIC], later than at the last call
 * @next:	receives when an open duration will be too long; 0: none of the present ones
 *
 * Return: 0, or a negative errno.
 */
int when__iterate(struct bpf_link *link, struct duration_words *words, u64 now, u64 *next);

#endif
