// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <internal/lib.h>
#include <internal/overwrite.h>
#include <linux/compiler.h>
#include <linux/ring_buffer.h>
#include <sys/mman.h>
#include <perf/event.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/sample.h"
#include "recording/lib/compat.h"
#include "recording/lib/kernel_clock.h"
#include "recording/ring/channel.h"
#include "recording/ring/drain.h"
#include "recording/ring/sample_ids.h"
#include "recording/output/output.h"
#include "overwrite.h"

/* The rings that overwrite themselves, in the order of the snapshots */
#define for_each_ring(snapshotter, channel, ring)					\
	for ((channel) = (snapshotter)->channels;					\
	     (channel) < (snapshotter)->channels + ARRAY_SIZE((snapshotter)->channels);	\
	     (channel)++)								\
		channel__for_each_ring(*(channel), ring)

/*
 * Memory
 */

/*
 * The programs leave data_tail of a ring in overwrite mode alone. It has the position up to which
 * records are in files, for the next recorder if this one is killed (--pin).
 */
static u64 saved_position(struct ring *ring)
{
	const struct perf_event_mmap_page *page = ring->map.base;

	return min((u64)page->data_tail, ring_buffer_read_head(ring->map.base));
}

static void set_saved_position(const struct ring *ring, u64 position)
{
	struct perf_event_mmap_page *page = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
						 MAP_SHARED, ring->map.fd, 0);

	if (page == MAP_FAILED)			/* the next recorder repeats what is in files */
		return;
	WRITE_ONCE(page->data_tail, position);
	munmap(page, page_size);
}

static int add_ring(struct snapshotter *snapshotter, struct ring *ring,
		    enum perf_overwrite_kind kind, bool is_bpf)
{
	int i = snapshotter->nr++;
	struct snapshot_set *set;

	snapshotter->rings[i] = perf_overwrite__new_mmap(&ring->map, kind);
	if (!snapshotter->rings[i])
		return -errno;
	if (is_bpf)
		snapshotter->rings[i]->taken = saved_position(ring);
	snapshotter->handed_over[i] = snapshotter->rings[i]->taken;
	for (set = snapshotter->sets; set < snapshotter->sets + 2; set++) {
		set->snapshots[i] = perf_snapshot__new(snapshotter->rings[i]);
		if (!set->snapshots[i])
			return -errno;
	}
	return 0;
}

static int add_rings(struct snapshotter *snapshotter, int nr, enum perf_overwrite_kind kind)
{
	struct snapshot_set *sets = snapshotter->sets;
	struct channel **channel;
	struct ring *ring;
	int err = 0;

	snapshotter->rings = calloc(nr, sizeof(*snapshotter->rings));
	snapshotter->handed_over = calloc(nr, sizeof(*snapshotter->handed_over));
	sets[0].snapshots = calloc(nr, sizeof(*sets[0].snapshots));
	sets[1].snapshots = calloc(nr, sizeof(*sets[1].snapshots));
	if (!snapshotter->rings || !snapshotter->handed_over || !sets[0].snapshots ||
	    !sets[1].snapshots)
		return -ENOMEM;
	for_each_ring(snapshotter, channel, ring) {
		const bool is_bpf = (*channel)->kind == CHANNEL_BPF;

		err = err ?: add_ring(snapshotter, ring, is_bpf ? PERF_OVERWRITE_SIZED : kind,
				      is_bpf);
	}
	return err;
}

int snapshotter__init(struct snapshotter *snapshotter, struct channels *channels,
		      enum perf_overwrite_kind kind, bool defers)
{
	struct channel *perf = &channels->channel[CHANNEL_OVERWRITE];
	struct channel *bpf = &channels->channel[CHANNEL_BPF];
	int nr = perf->nr_mapped + bpf->nr_mapped, err;

	*snapshotter = (struct snapshotter){ .channels = { perf, bpf }, .defers = defers };
	double_buffer__init(&snapshotter->buffer);
	if (!nr)
		return 0;

	err = add_rings(snapshotter, nr, kind);
	if (!err) {
		if (bpf->nr_mapped)
			pr_debug("Snapshots of %d rings written by BPF.\n", bpf->nr_mapped);
		pr_debug("Snapshots of %d rings by %s.\n", perf->nr_mapped,
			 kind == PERF_OVERWRITE_SIZED ? "PERF_SAMPLE_SIZE_AT_END" :
							"write_backward");
		return 0;
	}
	if (err == -ENOMEM)
		pr_err("Not enough memory for copies of %d overwrite rings: use a smaller -m.\n",
		       nr);
	else
		pr_err("Cannot take snapshots of the overwrite rings: %s\n", strerror(-err));
	snapshotter__exit(snapshotter);
	return err;
}

void snapshotter__exit(struct snapshotter *snapshotter)
{
	int i;

	for (i = 0; i < snapshotter->nr; i++) {
		perf_snapshot__delete(snapshotter->sets[0].snapshots[i]);
		perf_snapshot__delete(snapshotter->sets[1].snapshots[i]);
		perf_overwrite__delete(snapshotter->rings[i]);
	}
	zfree(&snapshotter->sets[0].snapshots);
	zfree(&snapshotter->sets[1].snapshots);
	zfree(&snapshotter->rings);
	zfree(&snapshotter->handed_over);
	snapshotter->nr = 0;
}

/*
 * Taking
 */

/* The set that is being filled. Caller holds the lock. */
static struct snapshot_set *filling(struct snapshotter *snapshotter)
{
	return &snapshotter->sets[snapshotter->buffer.filling];
}

static void add_stats(struct perf_snapshot_stats *sum, const struct perf_snapshot_stats *stats)
{
	sum->written += stats->written;
	sum->discarded += stats->discarded;
	sum->copy_ns += stats->copy_ns;
	sum->grace_ns += stats->grace_ns;
	sum->paused_ns += stats->paused_ns;
	sum->paused = max(sum->paused, stats->paused);
	sum->grace = max(sum->grace, stats->grace);
}

/* Copy what is new. Caller holds the lock. Return: when that was done [ns of CLOCK_MONOTONIC]. */
static u64 copy_rings(struct snapshotter *snapshotter)
{
	struct snapshot_stats *stats = &filling(snapshotter)->stats;
	u64 final_time = __atomic_load_n(&snapshotter->final_time, __ATOMIC_RELAXED);
	struct perf_snapshot_stats taken;
	u64 begin = kernel_clock();

	perf_snapshot__take(filling(snapshotter)->snapshots, snapshotter->nr, &taken);
	stats->horizon = final_time;
	add_stats(&stats->taken, &taken);
	return begin + taken.copy_ns;
}

void snapshotter__take(struct snapshotter *snapshotter, const struct snapshot_cause *cause)
{
	struct snapshot_stats *stats;
	u64 end;

	pthread_mutex_lock(&snapshotter->buffer.lock);
	end = copy_rings(snapshotter);
	stats = &filling(snapshotter)->stats;
	if (!stats->requests++)
		stats->cause = *cause;
	else
		snapshot_cause__merge(&stats->cause, cause);
	if (cause->is_event && end > cause->time + cause->after_ns)
		stats->latency_ns = max(stats->latency_ns, end - cause->time - cause->after_ns);
	pthread_mutex_unlock(&snapshotter->buffer.lock);
}

void snapshotter__extend(struct snapshotter *snapshotter)
{
	pthread_mutex_lock(&snapshotter->buffer.lock);
	copy_rings(snapshotter);
	pthread_mutex_unlock(&snapshotter->buffer.lock);
}

/*
 * Writing
 */

bool snapshotter__pending(struct snapshotter *snapshotter)
{
	bool pending;

	pthread_mutex_lock(&snapshotter->buffer.lock);
	pending = filling(snapshotter)->stats.requests;
	pthread_mutex_unlock(&snapshotter->buffer.lock);
	return pending;
}

void snapshotter__hand_over(struct snapshotter *snapshotter)
{
	int i;

	pthread_mutex_lock(&snapshotter->buffer.lock);
	for (i = 0; i < snapshotter->nr; i++)
		snapshotter->handed_over[i] = snapshotter->rings[i]->taken;
	if (double_buffer__swap(&snapshotter->buffer, !filling(snapshotter)->stats.requests))
		filling(snapshotter)->stats = (struct snapshot_stats){ 0 };
	pthread_mutex_unlock(&snapshotter->buffer.lock);
}

static void note_coverage(struct coverage *coverage, const struct channel *channel,
			  const struct ring *ring, struct evlist *evlist,
			  const struct perf_snapshot_records *taken)
{
	struct coverage_ring covered = {
		.cpu = ring->map.cpu.cpu, .tid = channel__ring_tid(channel, evlist, ring),
		.size = ring__size(ring), .bytes = taken->bytes, .oldest = COVERAGE_NOTHING,
	};
	u64 newest = 0;

	if (taken->nr) {
		covered.oldest = evlist__record_time(evlist, taken->data);
		newest = evlist__record_time(evlist, taken->newest);
	}
	if (covered.oldest)
		coverage__add(coverage, &covered, newest, taken->overwritten + taken->malformed);
}

/**
 * struct copy_sink - writes the records of a copy
 * @written:	statistics of what it has written
 */
struct copy_sink {
	struct record_sink	 sink;
	struct output		*output;
	struct ring_stats	 written;
};

static int write_copy(struct record_sink *sink, const struct records *records,
		      struct ring *ring __maybe_unused)
{
	struct copy_sink *to = container_of(sink, struct copy_sink, sink);

	return output__write(to->output, records, &to->written);
}

/* Note which samples wait for a user stack, and which stacks there are. */
static void note_stacks(struct deferred_stacks *stacks, struct evlist *evlist,
			const struct perf_snapshot_records *taken)
{
	void *end = (void *)taken->data + taken->bytes;
	union perf_event *event;
	u64 cookie;

	for (event = taken->data; (void *)event < end;
	     event = (void *)event + event->header.size) {
		struct perf_sample sample = { 0 };

		cookie = perf_event__stack_cookie(event);
		if (cookie) {
			deferred__add_stack(stacks, cookie);
			continue;
		}
		if (event->header.type != PERF_RECORD_SAMPLE ||
		    evlist__parse_sample(evlist, event, &sample))
			continue;
		cookie = perf_sample__stack_cookie(&sample);
		if (cookie)
			deferred__add_sample(stacks, cookie, sample.time);
		perf_sample__exit(&sample);
	}
}

static int write_records(struct perf_snapshot *snapshot, const struct channel *channel,
			 struct ring *ring, struct evlist *evlist, struct output *output,
			 struct deferred_stacks *stacks, struct snapshot_stats *stats)
{
	struct copy_sink to = {
		.sink.write = write_copy, .output = output, .written.evlist = evlist,
	};
	struct perf_snapshot_records taken;
	struct records records;
	int err;

	perf_snapshot__records(snapshot, &taken);
	if (taken.malformed)
		pr_warning("Left out %zu bytes of malformed records in an overwrite ring.\n",
			   taken.malformed);
	stats->overwritten += taken.overwritten + taken.malformed;
	note_coverage(&stats->coverage, channel, ring, evlist, &taken);
	if (!taken.nr)
		return 0;
	if (stacks)
		note_stacks(stacks, evlist, &taken);
	records = records__of(taken.data, taken.bytes);
	err = sample_ids__pass(&records, &to.sink, ring);
	ring_stats__merge(&stats->written, &to.written);
	ring_stats__merge(&ring->stats, &to.written);
	return err;
}

int snapshotter__write(struct snapshotter *snapshotter, struct evlist *evlist,
		       struct output *output, struct snapshot_stats *stats)
{
	struct deferred_stacks stacks = { 0 };
	struct channel **channel;
	struct snapshot_set *set;
	struct ring *ring;
	int i = 0, err = 0, ret;

	*stats = (struct snapshot_stats){ 0 };
	if (snapshotter->buffer.filled < 0)
		return 0;
	set = &snapshotter->sets[snapshotter->buffer.filled];
	*stats = set->stats;
	for_each_ring(snapshotter, channel, ring) {
		ret = write_records(set->snapshots[i++], *channel, ring, evlist, output,
				    snapshotter->defers ? &stacks : NULL, stats);
		err = err ?: ret;
	}
	stats->deferred = deferred__count(&stacks, stats->coverage.limiting.oldest);
	return err;
}

void snapshotter__note_saved(struct snapshotter *snapshotter)
{
	struct channel **channel;
	struct ring *ring;
	int i = 0;

	for_each_ring(snapshotter, channel, ring) {
		if ((*channel)->kind == CHANNEL_BPF)
			set_saved_position(ring, snapshotter->handed_over[i]);
		i++;
	}
}

/*
 * Visiting records without taking them
 */

void snapshotter__set_final_time(struct snapshotter *snapshotter, u64 time)
{
	__atomic_store_n(&snapshotter->final_time, time, __ATOMIC_RELAXED);
}

/* Read the ring through a description of its own, without the lock: a take must not wait. */
static int look_at(struct snapshotter *snapshotter, int i,
		   void (*see)(void *arg, union perf_event *event), void *arg)
{
	struct perf_overwrite ring;
	struct perf_snapshot *copy;
	union perf_event *event;

	pthread_mutex_lock(&snapshotter->buffer.lock);
	ring = *snapshotter->rings[i];
	pthread_mutex_unlock(&snapshotter->buffer.lock);

	copy = perf_overwrite__peek(&ring);
	if (!copy)
		return -errno;
	while ((event = perf_snapshot__read_event(copy)))
		see(arg, event);
	perf_snapshot__delete(copy);
	return 0;
}

int snapshotter__look(struct snapshotter *snapshotter,
		      void (*see)(void *arg, union perf_event *event), void *arg)
{
	int i, err = 0;

	if (snapshotter__pending(snapshotter))
		return -EAGAIN;
	for (i = 0; i < snapshotter->nr && !err; i++)
		err = look_at(snapshotter, i, see, arg);
	/*
	 * Records that were copied meanwhile may have been overwritten before they were seen here.
	 * All records copied from now on were seen, or are newer.
	 */
	if (!err && snapshotter__pending(snapshotter))
		err = -EAGAIN;
	return err;
}
