// SPDX-License-Identifier: GPL-2.0-only
#include <linux/list.h>
#include "util/auxtrace.h"
#include "aux_index.h"

/* Entries of several areas are not in the order of the file. */
void aux_index__cut(struct list_head *index, u64 end)
{
	struct auxtrace_index *block;
	size_t i, nr;

	list_for_each_entry(block, index, list) {
		for (i = nr = 0; i < block->nr; i++) {
			if (block->entries[i].file_offset < end)
				block->entries[nr++] = block->entries[i];
		}
		block->nr = nr;
	}
}
