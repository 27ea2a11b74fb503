/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compute the constants that let the BPF programs leave out work.
 */
#ifndef PERF_RECORDING_WHEN_CONSTANTS_H
#define PERF_RECORDING_WHEN_CONSTANTS_H

#include <linux/types.h>
#include "util/bpf_skel/durations.h"

struct when_condition;
struct when_setup;

/**
 * when_constants__fill - set all constants of durations.bpf.c
 * @constants:	overwritten
 * @conditions:	@nr of them
 */
void when_constants__fill(struct duration_constants *constants,
			  const struct when_condition *conditions, unsigned int nr,
			  const struct when_setup *setup);

/**
 * when_constants__tick - return how far apart the ticks of a CPU are while a task runs [ns]
 *
 * Return: 0 if a CPU may have no ticks (nohz_full).
 */
u64 when_constants__tick(void);

#endif
