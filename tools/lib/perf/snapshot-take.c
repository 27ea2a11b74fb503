// SPDX-License-Identifier: GPL-2.0-only
#include <time.h>
#include <linux/perf_event.h>
#include <linux/time64.h>
#include <sys/ioctl.h>
#include <internal/grace.h>
#include <internal/overwrite.h>
#include <internal/snapshot.h>

/* Some snapshots, one of each ring, that are taken together. */
struct batch {
	struct perf_snapshot		**snapshots;
	int				  nr;
	struct perf_snapshot_stats	  stats;
};

#define for_each_snapshot(batch, i, snapshot) \
	for ((i) = 0; (i) < (batch)->nr && ((snapshot) = (batch)->snapshots[i], true); (i)++)

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* How far writers may have got: as the kernel tells, or, after a grace period, as they publish. */
static u64 end_of_writers(const struct perf_overwrite *ring)
{
	return ring->reserved ? perf_overwrite__reserved(ring) :	/* (F) */
				perf_overwrite__head(ring);		/* (C) */
}

static bool pause_ring(struct perf_snapshot *snapshot, int pause)
{
	int fd = snapshot->ring->fd;

	return fd >= 0 && !ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, pause);
}

/* Copy while everybody writes, and find out afterwards what they overtook. */
static void copy_running(struct batch *batch)
{
	struct perf_snapshot_stats *stats = &batch->stats;
	struct perf_snapshot *snapshot;
	u64 begin = now_ns(), copied;
	bool wait = false;
	int i;

	for_each_snapshot(batch, i, snapshot) {
		perf_snapshot__copy(snapshot);
		if (snapshot->ring->reserved)		/* at once, so that little is given up */
			snapshot->end = end_of_writers(snapshot->ring);
		else
			wait = true;
	}
	copied = now_ns();
	stats->copy_ns = copied - begin;

	if (wait) {
		stats->grace = perf_grace__wait();
		stats->grace_ns = now_ns() - copied;
	}
	for_each_snapshot(batch, i, snapshot) {
		if (!snapshot->ring->reserved)
			snapshot->end = end_of_writers(snapshot->ring);
	}
}

static bool is_overrun(const struct perf_snapshot *snapshot)
{
	return perf_snapshot__overtaken(snapshot) >
	       (snapshot->copy_head - snapshot->copy_low) / 2;
}

/*
 * A ring of which that much is overtaken within a copy and a grace period cannot be copied while it
 * is written. The kernel counts as lost what goes past it while it is paused. To pause sets a flag
 * and waits for nobody, so writers that are under way have to be waited for as before; the
 * others are known by data_reserved, which is read after the copy.
 */
static void copy_paused(struct batch *batch)
{
	struct perf_snapshot_stats *stats = &batch->stats;
	struct perf_snapshot *snapshot;
	u64 begin = now_ns();
	bool wait = false;
	int i;

	for_each_snapshot(batch, i, snapshot) {
		snapshot->paused = is_overrun(snapshot) && pause_ring(snapshot, 1);
		stats->paused += snapshot->paused;
		wait |= snapshot->paused && !snapshot->ring->reserved;
	}
	if (!stats->paused)
		return;
	if (wait)
		stats->grace = perf_grace__wait();
	for_each_snapshot(batch, i, snapshot) {
		if (!snapshot->paused)
			continue;
		perf_snapshot__copy(snapshot);
		snapshot->end = end_of_writers(snapshot->ring);
		pause_ring(snapshot, 0);
	}
	stats->paused_ns = now_ns() - begin;
}

static void settle(struct perf_snapshot_stats *stats, struct perf_snapshot *snapshot)
{
	stats->written += snapshot->copy_head - snapshot->ring->taken;
	stats->given_up += perf_snapshot__overtaken(snapshot);
	perf_snapshot__settle(snapshot);
}

void perf_snapshot__take(struct perf_snapshot **snapshots, int nr,
			 struct perf_snapshot_stats *stats)
{
	struct batch batch = { .snapshots = snapshots, .nr = nr };
	struct perf_snapshot *snapshot;
	int i;

	copy_running(&batch);
	copy_paused(&batch);
	for_each_snapshot(&batch, i, snapshot)
		settle(&batch.stats, snapshot);
	if (stats)
		*stats = batch.stats;
}
