// SPDX-License-Identifier: GPL-2.0-only
/* Ask for a kind of overwrite ring, and recognize it by its control page. */
#include <linux/perf_event_trailer.h>
#include <internal/overwrite-kind.h>

void perf_overwrite__config(struct perf_event_attr *attr, enum perf_overwrite_kind kind)
{
	if (kind == PERF_OVERWRITE_SIZED)
		attr->sample_type |= PERF_SAMPLE_SIZE_AT_END;
	else
		attr->sample_type &= ~PERF_SAMPLE_SIZE_AT_END;
	attr->write_backward = kind == PERF_OVERWRITE_BACKWARD;
}

bool perf_overwrite__is_kind(const struct perf_event_mmap_page *page,
			     enum perf_overwrite_kind kind)
{
	if (sizeof(long) < sizeof(u64))
		return false;
	if (kind == PERF_OVERWRITE_SIZED)
		return page->cap_size_at_end && page->cap_data_reserved;
	return !page->cap_size_at_end;
}
