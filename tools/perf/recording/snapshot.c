// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/ring_buffer.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include <perf/event.h>
#include <sys/ioctl.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "channel.h"
#include "output.h"
#include "snapshot.h"

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

#define for_each_copy(snapshotter, copy) \
	for ((copy) = (snapshotter)->copies; (copy) < (snapshotter)->copies + (snapshotter)->nr; (copy)++)

int snapshotter__init(struct snapshotter *snapshotter, struct channel *channel)
{
	struct ring_copy *copy;
	struct ring *ring;
	size_t largest = 0;

	*snapshotter = (struct snapshotter){ .channel = channel };
	if (!channel->nr_mapped)
		return 0;

	snapshotter->copies = copy = calloc(channel->nr_mapped, sizeof(*copy));
	if (!copy)
		goto nomem;
	channel__for_each_ring(channel, ring) {
		copy->ring = ring;
		snapshotter->nr++;
		if (backward_image__init(&copy->image, ring__size(ring)))
			goto nomem;
		if (ring__size(ring) > largest)
			largest = ring__size(ring);
		copy++;
	}
	snapshotter->turned = malloc(largest);
	if (!snapshotter->turned)
		goto nomem;

	snapshotter->grace = grace__probe();
	pr_debug("Snapshots of %d rings by %s.\n", snapshotter->nr,
		 grace__name(snapshotter->grace));
	return 0;
nomem:
	pr_err("Not enough memory for copies of %d overwrite rings: use a smaller -m.\n",
	       channel->nr_mapped);
	snapshotter__exit(snapshotter);
	return -ENOMEM;
}

void snapshotter__exit(struct snapshotter *snapshotter)
{
	struct ring_copy *copy;

	for_each_copy(snapshotter, copy)
		backward_image__exit(&copy->image);
	zfree(&snapshotter->copies);
	zfree(&snapshotter->turned);
	snapshotter->nr = 0;
}

static void copy_ring(struct ring_copy *copy)
{
	struct perf_mmap *map = &copy->ring->map;

	backward_image__copy(&copy->image, ring__data(copy->ring),
			     ring_buffer_read_head(map->base), map->prev);		/* (C) */
}

static void settle_ring(struct ring_copy *copy)
{
	backward_image__settle(&copy->image,
			       ring_buffer_read_head(copy->ring->map.base));		/* (C) */
}

/* Copy while everybody writes, and find out afterwards what they overtook. */
static int copy_running(struct snapshotter *snapshotter, struct snapshot_stats *stats)
{
	u64 begin = now_ns(), copied;
	struct ring_copy *copy;
	int err;

	for_each_copy(snapshotter, copy)
		copy_ring(copy);
	copied = now_ns();

	err = grace__wait(snapshotter->grace);
	if (err)
		return err;
	stats->copy_ns = copied - begin;
	stats->grace_ns = now_ns() - copied;

	for_each_copy(snapshotter, copy) {
		settle_ring(copy);
		copy->paused = copy->image.whole < copy->image.len / 2;
		if (!copy->paused)
			stats->given_up += copy->image.len - copy->image.whole;
	}
	return 0;
}

static int pause_rings(struct snapshotter *snapshotter, int pause)
{
	struct ring_copy *copy;
	int nr = 0;

	for_each_copy(snapshotter, copy) {
		if (!copy->paused)
			continue;
		if (ioctl(copy->ring->map.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, pause))
			pr_debug("Pausing the ring of CPU %d: %m\n", copy->ring->map.cpu.cpu);
		nr++;
	}
	return nr;
}

/*
 * What goes round within a grace period cannot be copied while it is written: the writers would
 * have overtaken most of it. Such rings are paused instead; the kernel counts as lost what goes
 * past them. Nobody writes after the grace period, so nothing of the copy is given up.
 */
static int copy_paused(struct snapshotter *snapshotter, struct snapshot_stats *stats)
{
	struct ring_copy *copy;
	u64 begin = now_ns();
	int err;

	stats->paused = pause_rings(snapshotter, 1);
	if (!stats->paused)
		return 0;
	err = grace__wait(snapshotter->grace);
	for_each_copy(snapshotter, copy) {
		if (err || !copy->paused)
			continue;
		copy_ring(copy);
		settle_ring(copy);
	}
	pause_rings(snapshotter, 0);
	stats->paused_ns = now_ns() - begin;
	return err;
}

int snapshotter__take(struct snapshotter *snapshotter, struct snapshot_stats *stats)
{
	struct ring_copy *copy;
	int err = 0;

	*stats = (struct snapshot_stats){ 0 };
	if (snapshotter->grace != GRACE_PAUSE)
		err = copy_running(snapshotter, stats);
	if (err)		/* a CPU was taken from our cpuset: another kind will do */
		snapshotter->grace = grace__probe();
	for_each_copy(snapshotter, copy)
		copy->paused |= err || snapshotter->grace == GRACE_PAUSE;

	err = copy_paused(snapshotter, stats);
	if (err) {
		pr_err("Cannot wait for the writers of the rings: %s\n", strerror(-err));
		return err;
	}
	for_each_copy(snapshotter, copy)
		copy->ring->map.prev = copy->image.head;
	return 0;
}

/* Widens [begin, end] by the record at @pos, where records have a time. */
static void note_time(struct snapshot_stats *stats, struct evlist *evlist, void *records, size_t pos)
{
	u64 time;

	if (evlist__parse_sample_timestamp(evlist, records + pos, &time) || time == -1ULL)
		return;
	if (!stats->begin || time < stats->begin)
		stats->begin = time;
	if (time > stats->end)
		stats->end = time;
}

static int write_copy(struct snapshotter *snapshotter, const struct backward_image *image,
		      struct evlist *evlist, struct output *output, struct snapshot_stats *stats)
{
	struct backward_records records = backward_image__oldest_first(image, snapshotter->turned);
	struct perf_event_header newest;
	struct span span;

	if (records.corrupt)
		pr_warning("Malformed record in an overwrite ring: what is older is left out.\n");
	stats->overwritten += image->unread - records.bytes;
	if (!records.nr)
		return 0;

	memcpy(&newest, image->data, sizeof(newest));
	note_time(stats, evlist, snapshotter->turned, 0);
	note_time(stats, evlist, snapshotter->turned, records.bytes - newest.size);

	span = span__of(snapshotter->turned, records.bytes);
	return output__write(output, &span, &stats->account);
}

int snapshotter__write(struct snapshotter *snapshotter, struct evlist *evlist,
		       struct output *output, struct snapshot_stats *stats)
{
	struct ring_copy *copy;
	int err = 0;

	for_each_copy(snapshotter, copy) {
		err = write_copy(snapshotter, &copy->image, evlist, output, stats);
		if (err)
			break;
	}
	if (snapshotter->channel)
		account__merge(&snapshotter->channel->account, &stats->account);
	return err;
}
