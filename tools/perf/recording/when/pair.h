/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load the BPF programs that measure from one event to another (util/bpf_skel/duration_pair.bpf.c).
 */
#ifndef PERF_RECORDING_WHEN_PAIR_H
#define PERF_RECORDING_WHEN_PAIR_H

#include <stddef.h>
#include <linux/types.h>
#include <sys/types.h>
#include "util/bpf_skel/durations.h"

struct when_condition;
struct when_pair;
struct when_setup;

/** struct when_pair_maps - maps that the programs of all conditions share */
struct when_pair_maps {
	int	reports_fd;
	int	distributions_fd;
};

/**
 * when_pair__new - load and attach the programs of one condition
 * @condition:	of DURATION_PAIR; kept
 * @index:	of the condition in reports
 * @reason:	receives why not
 *
 * Return: 0, with @pair to be deleted; or a negative errno.
 */
int when_pair__new(struct when_pair **pair, const struct when_condition *condition,
		   unsigned int index, const struct when_setup *setup,
		   const struct when_pair_maps *maps, char *reason, size_t size);

/** when_pair__check - judge what has not ended; as when_programs__check() */
int when_pair__check(struct when_pair *pair, u64 now, u64 *next);

/** when_pair__index - of the condition */
unsigned int when_pair__index(const struct when_pair *pair);

/** when_pair__words - figures of the programs */
struct duration_words *when_pair__words(struct when_pair *pair);

/**
 * when_pair__misses - how often the kernel did not run a program, because another one was running
 */
u64 when_pair__misses(const struct when_pair *pair);

/** when_pair__delete - detach the programs; @pair may be NULL */
void when_pair__delete(struct when_pair *pair);

#endif
