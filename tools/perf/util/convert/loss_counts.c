// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/zalloc.h>
#include "loss_counts.h"

int loss_counts__add(struct loss_counts *counts, const struct loss *loss, int max_cpus)
{
	unsigned int index = loss->cpu >= 0 && loss->cpu < max_cpus ? loss->cpu + 1 : 0;
	u64 (*nr)[NR_LOSS_KINDS];

	if (index >= counts->len) {
		nr = realloc(counts->nr, (index + 1) * sizeof(*nr));
		if (!nr)
			return -ENOMEM;
		memset(nr + counts->len, 0, (index + 1 - counts->len) * sizeof(*nr));
		counts->nr = nr;
		counts->len = index + 1;
	}
	counts->nr[index][loss->kind] += loss->nr;
	return 0;
}

void loss_counts__exit(struct loss_counts *counts)
{
	zfree(&counts->nr);
}
