// SPDX-License-Identifier: GPL-2.0-only
/* Take snapshots of several rings, with one grace period for all of them. */
#include <time.h>
#include <linux/perf_event.h>
#include <linux/time64.h>
#include <sys/ioctl.h>
#include <internal/grace.h>
#include <internal/overwrite.h>
#include <internal/snapshot.h>

/* Snapshots of different rings that are taken together */
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

/* Pause or resume the ring. Return false if it has no file descriptor or the kernel refuses. */
static bool pause_ring(struct perf_snapshot *snapshot, int pause)
{
	int fd = snapshot->ring->fd;

	return fd >= 0 && !ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, pause);
}

/* Copy while the kernel writes, and find out afterwards how far the writers have come. */
static void copy_running(struct batch *batch)
{
	struct perf_snapshot_stats *stats = &batch->stats;
	struct perf_snapshot *snapshot;
	u64 begin = now_ns(), copied;
	bool wait = false;
	int i;

	for_each_snapshot(batch, i, snapshot) {
		perf_snapshot__copy(snapshot);
		if (snapshot->ring->has_data_reserved)		/* at once, to discard little */
			snapshot->write_limit = perf_overwrite__write_limit(snapshot->ring);
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
		if (!snapshot->ring->has_data_reserved)
			snapshot->write_limit = perf_overwrite__write_limit(snapshot->ring);
	}
}

/* Return whether writers have overtaken more than half of the copy. */
static bool is_overrun(const struct perf_snapshot *snapshot)
{
	return perf_snapshot__overtaken(snapshot) >
	       (snapshot->copy_head - snapshot->copy_low) / 2;
}

/*
 * Pause, copy and resume the rings whose copies were overrun: they cannot be copied while they are
 * written. The kernel counts events as lost while a ring is paused. PERF_EVENT_IOC_PAUSE_OUTPUT
 * sets a flag and does not wait for active writers. These need another grace period, unless
 * data_reserved, which is loaded after the copy, tells their position.
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
		wait |= snapshot->paused && !snapshot->ring->has_data_reserved;
	}
	if (!stats->paused)
		return;
	if (wait)
		stats->grace = perf_grace__wait();
	for_each_snapshot(batch, i, snapshot) {
		if (!snapshot->paused)
			continue;
		perf_snapshot__copy(snapshot);
		snapshot->write_limit = perf_overwrite__write_limit(snapshot->ring);
		pause_ring(snapshot, 0);
	}
	stats->paused_ns = now_ns() - begin;
}

static void settle(struct perf_snapshot_stats *stats, struct perf_snapshot *snapshot)
{
	stats->written += snapshot->copy_head - snapshot->ring->taken;
	stats->discarded += perf_snapshot__overtaken(snapshot);
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
