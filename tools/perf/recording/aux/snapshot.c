// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>
#include "util/debug.h"
#include "util/env.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/time-utils.h"
#include "aux.h"
#include "snapshot.h"
#include "write.h"
#include "recording/lib/compat.h"
#include "recording/output/output.h"

/*
 * Memory
 */

static int init_set(struct aux_set *set, const struct aux *aux)
{
	u64 max_bytes = aux->opts->auxtrace_snapshot_size;
	int i, err = 0;

	set->images = calloc(aux->nr, sizeof(*set->images));
	set->references = calloc(aux->nr, sizeof(*set->references));
	if (!set->images || !set->references)
		return -ENOMEM;
	for (i = 0; i < aux->nr && !err; i++) {
		u64 len = aux->areas[i].mm.len;

		err = aux_copy__init(&set->images[i], len,
				     max_bytes && max_bytes < len ? max_bytes : len);
	}
	return err;
}

static void exit_set(struct aux_set *set, int nr)
{
	int i;

	for (i = 0; set->images && i < nr; i++)
		aux_copy__exit(&set->images[i]);
	zfree(&set->images);
	zfree(&set->references);
}

int aux_snapshotter__init(struct aux_snapshotter *snapshotter, struct aux *aux)
{
	int err;

	*snapshotter = (struct aux_snapshotter){ .aux = aux };
	double_buffer__init(&snapshotter->buffer);
	if (!aux__takes_snapshots(aux))
		return 0;
	err = init_set(&snapshotter->sets[0], aux) ?: init_set(&snapshotter->sets[1], aux);
	if (err)
		pr_err("Not enough memory for copies of %d AUX areas: use smaller ones, such as "
		       "-m,1M.\n", aux->nr);
	return err;
}

void aux_snapshotter__exit(struct aux_snapshotter *snapshotter)
{
	if (!snapshotter->aux)
		return;
	exit_set(&snapshotter->sets[0], snapshotter->aux->nr);
	exit_set(&snapshotter->sets[1], snapshotter->aux->nr);
	snapshotter->aux = NULL;
}

/*
 * Taking
 */

/* The trace is stopped: aux_head and aux_written match. */
static int look(struct aux *aux, struct aux_area *area, struct aux_news *news)
{
	const struct perf_event_mmap_page *page = area->mm.userpg;
	u64 head = auxtrace_mmap__read_head(&area->mm,
					    perf_env__kernel_is_64_bit(evlist__env(aux->evlist)));
	u64 old = area->mm.prev;

	if (aux_area__counts(area)) {
		*news = aux_cursor__count(&area->cursor, head, READ_ONCE(page->aux_written));
		return 0;
	}
	if (auxtrace_record__find_snapshot(aux->itr, area->mm.idx, &area->mm, area->mm.base, &head,
					   &old))
		return -EIO;
	*news = aux_news__range(area->mm.len, old, head);
	area->mm.prev = head;
	return 0;
}

static int take_area(struct aux *aux, struct aux_set *set, int i)
{
	struct aux_area *area = &aux->areas[i];
	struct aux_news news;
	int err = look(aux, area, &news);
	u64 overwritten;

	if (err || !(news.bytes || news.overwritten))
		return err;
	overwritten = aux_copy__add(&set->images[i], area->mm.base, &news);
	if (aux_area__counts(area))
		set->stats.overwritten += overwritten;
	set->references[i] = auxtrace_record__reference(aux->itr);
	return 0;
}

static int stop(struct aux *aux)
{
	int err = auxtrace_record__snapshot_start(aux->itr);

	if (err)
		pr_err("Cannot stop %s for a snapshot: %s\n", evsel__name(aux->evsel),
		       strerror(abs(err)));
	return err ? -abs(err) : 0;
}

static int resume(struct aux *aux, bool last)
{
	int err = auxtrace_record__snapshot_finish(aux->itr, last);

	if (err)
		pr_err("Cannot resume %s after a snapshot: %s\n", evsel__name(aux->evsel),
		       strerror(abs(err)));
	return err ? -abs(err) : 0;
}

/* An event that --control or --delay has disabled is stopped already, and stays disabled. */
int aux_snapshotter__take(struct aux_snapshotter *snapshotter, bool last)
{
	struct aux *aux = snapshotter->aux;
	struct aux_set *set;
	bool runs;
	u64 begin;
	int i, err = 0;

	if (!aux__takes_snapshots(aux))
		return 0;
	runs = !aux->evsel->disabled;
	pthread_mutex_lock(&snapshotter->buffer.lock);
	set = &snapshotter->sets[snapshotter->buffer.filling];
	begin = rdclock();
	if (runs)
		err = stop(aux);
	for (i = 0; i < aux->nr && !err; i++)
		err = take_area(aux, set, i);
	if (runs)
		err = resume(aux, last) ?: err;
	if (runs && !last)
		set->stats.stopped_ns += rdclock() - begin;
	set->stats.requests++;
	pthread_mutex_unlock(&snapshotter->buffer.lock);
	return err;
}

int aux_snapshotter__flush(struct aux_snapshotter *snapshotter)
{
	struct aux *aux = snapshotter->aux;

	if (aux->evsel->disabled)
		return 0;
	return stop(aux) ?: resume(aux, false);
}

/*
 * Writing
 */

void aux_snapshotter__hand_over(struct aux_snapshotter *snapshotter)
{
	struct double_buffer *buffer = &snapshotter->buffer;

	pthread_mutex_lock(&buffer->lock);
	if (double_buffer__swap(buffer, !snapshotter->sets[buffer->filling].stats.requests))
		snapshotter->sets[buffer->filling].stats = (struct aux_snapshot_stats){ 0 };
	pthread_mutex_unlock(&buffer->lock);
}

static int write_image(struct aux *aux, struct aux_set *set, int i, struct output *output)
{
	struct aux_copy *image = &set->images[i];
	struct aux_news news = aux_copy__news(image);
	struct records records = aux_news__records(&news, image->data, image->len);
	int err;

	if (!image->bytes)
		return 0;
	err = aux__write(aux, &aux->areas[i], &records, records.part[0].iov_base - image->data,
			 set->references[i], output);
	set->stats.bytes += image->bytes;
	set->stats.areas++;
	aux_copy__clear(image);
	return err;
}

int aux_snapshotter__write(struct aux_snapshotter *snapshotter, struct output *output,
			   struct aux_snapshot_stats *stats)
{
	struct aux *aux = snapshotter->aux;
	struct aux_set *set;
	int i, err = 0, ret;

	*stats = (struct aux_snapshot_stats){ 0 };
	if (snapshotter->buffer.filled < 0)
		return 0;
	set = &snapshotter->sets[snapshotter->buffer.filled];
	set->stats.counted = true;
	for (i = 0; i < aux->nr; i++) {
		set->stats.counted &= aux_area__counts(&aux->areas[i]);
		ret = write_image(aux, set, i, output);
		err = err ?: ret;
	}
	*stats = set->stats;
	snapshotter->buffer.filled = -1;
	return err;
}
