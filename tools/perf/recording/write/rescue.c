// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <perf/event.h>
#include "rescue.h"

static bool names_task_or_map(u32 type)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_NAMESPACES:
	case PERF_RECORD_CGROUP:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_BPF_EVENT:
		return true;
	default:
		return false;
	}
}

bool rescue__add(struct rescue *rescue, const struct records *records, size_t pos, size_t size)
{
	struct perf_event_header header;

	if (records__header(records, pos, &header) != size || !names_task_or_map(header.type) ||
	    size > RESCUE_BYTES - rescue->len)
		return false;
	rescue->data = rescue->data ?: malloc(RESCUE_BYTES);
	if (!rescue->data)
		return false;
	records__copy(records, pos, rescue->data + rescue->len, size);
	rescue->len += size;
	return true;
}

void rescue__add_all(struct rescue *rescue, const struct records *records)
{
	struct record_iter iter;

	records__for_each(records, iter)
		rescue__add(rescue, records, iter.pos, iter.size);
}

void rescue__exit(struct rescue *rescue)
{
	free(rescue->data);
	*rescue = (struct rescue){ 0 };
}
