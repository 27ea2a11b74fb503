/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cut an index of AUX traces.
 */
#ifndef PERF_RECORDING_AUX_INDEX_H
#define PERF_RECORDING_AUX_INDEX_H

#include <linux/types.h>

struct list_head;

/** aux_index__cut - remove the entries of traces at position @end of the file or behind */
void aux_index__cut(struct list_head *index, u64 end);

#endif
