/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tell which kind of overwrite ring an event asks for, and which kind a ring is.
 */
#ifndef __LIBPERF_INTERNAL_OVERWRITE_KIND_H
#define __LIBPERF_INTERNAL_OVERWRITE_KIND_H

#include <stdbool.h>
#include <linux/perf_event.h>
#include <linux/perf_event_trailer.h>
#include <linux/types.h>
#include <perf/overwrite.h>

/** perf_overwrite__is_configured - return whether @attr asks for a ring in overwrite mode */
static inline bool perf_overwrite__is_configured(const struct perf_event_attr *attr)
{
	return attr->write_backward || (attr->sample_type & PERF_SAMPLE_SIZE_AT_END);
}

/**
 * perf_overwrite__is_kind - return whether @page is the control page of a ring of @kind
 *
 * Always false in a 32-bit program.
 */
bool perf_overwrite__is_kind(const struct perf_event_mmap_page *page,
			     enum perf_overwrite_kind kind);

#endif /* __LIBPERF_INTERNAL_OVERWRITE_KIND_H */
