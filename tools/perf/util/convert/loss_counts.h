/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Count the losses whose time is unknown, until they are shown at the end.
 */
#ifndef PERF_CONVERT_LOSS_COUNTS_H
#define PERF_CONVERT_LOSS_COUNTS_H

#include "common.h"

/**
 * struct loss_counts
 * @nr:		losses by kind: for unknown CPUs, CPU 0, CPU 1 ...
 * @len:	number of elements of @nr
 */
struct loss_counts {
	u64		(*nr)[NR_LOSS_KINDS];
	unsigned int	  len;
};

/** loss_counts__add - count a loss; CPUs from @max_cpus on are unknown. Return: 0, or -ENOMEM */
int loss_counts__add(struct loss_counts *counts, const struct loss *loss, int max_cpus);
void loss_counts__exit(struct loss_counts *counts);

#endif
