// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include "span.h"

void file_spans__extend(struct file_spans *spans, u64 first, u64 last)
{
	struct time_span *span = &spans->present;

	if (!first)
		return;
	pthread_mutex_lock(&spans->lock);
	if (!span->first || first < span->first)
		span->first = first;
	span->last = max(span->last, last);
	pthread_mutex_unlock(&spans->lock);
}

void file_spans__end(struct file_spans *spans)
{
	pthread_mutex_lock(&spans->lock);
	spans->ended = spans->present;
	spans->present = (struct time_span){ 0 };
	pthread_mutex_unlock(&spans->lock);
}
