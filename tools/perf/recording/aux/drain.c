// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/kernel.h>
#include "util/debug.h"
#include "util/evsel.h"
#include "aux.h"
#include "drain.h"
#include "sideband.h"
#include "write.h"
#include "recording/lib/compat.h"
#include "recording/output/output.h"
#include "recording/ring/channel.h"

/*
 * Needed even without new bytes: the kernel disables the event as well when the data ring is full.
 */
static int enable_again(struct aux *aux, struct aux_area *area)
{
	int err;

	area->truncated = area->ring->stats.aux_truncated;
	if (!aux->itr->read_finish)
		return 0;
	pthread_mutex_lock(aux->enabling);
	/* Does nothing if evsel->disabled */
	err = aux->itr->read_finish(aux->itr, area->mm.idx);
	pthread_mutex_unlock(aux->enabling);
	if (err)
		pr_err("Cannot enable %s again: %m\n", evsel__name(aux->evsel));
	return err ? -EIO : 0;
}

/* Write the trace up to @head. Return: 1 if there were new bytes, 0 if not, or a negative errno. */
static int write_until(struct aux *aux, struct aux_area *area, u64 head)
{
	u64 written = area->cursor.written + bytes_between(area->cursor.written, head);
	struct aux_news news = aux_cursor__count(&area->cursor, head, written);
	struct records records = aux_news__records(&news, area->mm.base, area->mm.len);
	int err;

	if (!news.bytes)
		return area->truncated == area->ring->stats.aux_truncated ? 0 :
		       enable_again(aux, area);
	err = aux__write(aux, area, &records, written - news.bytes,
			 auxtrace_record__reference(aux->itr), aux->output);
	if (!err)
		err = auxtrace_mmap__write_tail(&area->mm, head, aux->is_64_bit);	/* (D) */
	return err ?: enable_again(aux, area) ?: 1;
}

static int drain(struct ring_drainer *drainer, size_t *bytes)
{
	struct aux_area *area = container_of(drainer, struct aux_area, drainer);
	struct aux *aux = area->aux;
	u64 head = auxtrace_mmap__read_head(&area->mm, aux->is_64_bit);			/* (C) */
	int ret = aux_sideband__drain_area(aux, area, aux->output, &aux->output->sink, bytes);

	if (ret >= 0)
		ret = write_until(aux, area, head);
	if (ret < 0)
		return ret;
	*bytes += ret;
	return output__answer(aux->output);
}

void aux_drain__init(struct aux *aux, struct output *output)
{
	struct aux_area *area;

	if (!aux__streams(aux))
		return;
	aux->output = output;
	aux__for_each_area(aux, area) {
		area->drainer.drain = drain;
		area->ring->drainer = &area->drainer;
	}
}
