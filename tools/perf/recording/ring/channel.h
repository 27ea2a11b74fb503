/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Channels: where an event's records go.
 *
 *         stream              overwrite            tracking              aux
 *     events without      events with the      dummy events: mmap,   the event that has an
 *     the term            term /overwrite/     comm, fork, exit,     AUX area: aux,
 *                                              switch, bpf ...       itrace_start; and those with
 *                                                                    samples in it (aux-output)
 *         |                   |                    |                     |
 *     ring per CPU        ring per CPU         ring per CPU          ring per CPU, with an
 *                                                                    AUX area behind it
 *         |                   |                    |                     |
 *     drained all the     copied when a        drained all the       ring: as tracking;
 *     time (drain.h)     snapshot is taken    time (sideband.h)      area: aux.h
 *                         (snapshot.h)
 *
 * A channel has one ring for each CPU, or one for each thread where events are bound to threads
 * alone (--per-thread). The first event of a channel on a CPU owns the ring, the others are
 * redirected to it (PERF_EVENT_IOC_SET_OUTPUT). Rings that are drained are mapped read-write, so
 * that the kernel respects data_tail; overwrite rings are mapped read-only, so that it does not.
 *
 * Tracking is always a channel of its own: what names the tasks and their maps must neither be
 * overwritten by events nor be lost because a stream is full. The AUX event has a channel of its own
 * because it must own the ring that the area belongs to.
 */
#ifndef PERF_RECORDING_CHANNEL_H
#define PERF_RECORDING_CHANNEL_H

#include <stdbool.h>
#include <internal/mmap.h>
#include "recording/stats/ring_stats.h"

struct evlist;
struct evsel;
struct pollset;

enum channel_kind {
	CHANNEL_STREAM,
	CHANNEL_OVERWRITE,
	CHANNEL_TRACKING,
	CHANNEL_AUX,
	NR_CHANNELS,
};

/**
 * struct ring - one mapped ring buffer
 * @map:	libperf's description: base, mask, cpu; prev is where the next read starts
 * @owner:	the event whose descriptor is mapped
 * @pollset:	of the thread that drains it; NULL if nobody does
 * @stats:	what was read from it
 */
struct ring {
	struct perf_mmap	 map;
	struct evsel		*owner;
	struct pollset		*pollset;
	struct ring_stats		 stats;
};

/**
 * struct channel
 * @kind:	decides protection and direction
 * @rings:	@nr slots, one for each CPU and then one for each thread; those without
 *		an event are not mapped
 * @nr:		number of slots
 * @nr_mapped:	number of rings
 * @pages:	size of each ring's data area [pages]
 */
struct channel {
	enum channel_kind	 kind;
	struct ring		*rings;
	int			 nr;
	int			 nr_mapped;
	unsigned int		 pages;
};

struct channels {
	struct channel		 channel[NR_CHANNELS];
};

/**
 * evsel__nr_threads - the number of threads that an opened event has a descriptor for on each CPU
 *
 * One for events that are not bound to tasks. Fewer than evsel->core.fd has room for, if threads
 * were gone when they were to be opened: those are taken off the map.
 */
int evsel__nr_threads(const struct evsel *evsel);

#define evsel__for_each_fd(evsel, cpu_idx, thread)				\
	for ((cpu_idx) = 0; (cpu_idx) < evsel__nr_cpus(evsel); (cpu_idx)++)	\
		for ((thread) = 0; (thread) < evsel__nr_threads(evsel); (thread)++)

/** evsel__channel - the channel that an event's records go to, known once it is configured */
enum channel_kind evsel__channel(const struct evsel *evsel);

/**
 * channels__map - map the rings of all channels and redirect the events to them
 * @channels:	zeroed; on success to be freed with channels__unmap()
 * @evlist:	opened events; receives their ids
 * @pages:	size of a ring [pages, power of two], or UINT_MAX for the default. A size that was
 *		asked for is met or refused; the default, and that of the tracking
 *		rings, shrinks until it fits what an ordinary user may lock.
 *
 * Return: 0, or a negative errno after an error message.
 */
int channels__map(struct channels *channels, struct evlist *evlist, unsigned int pages);

/**
 * channels__poll - add what tells of each ring to its @pollset, if it has one
 *
 * Return: 0, or a negative errno after an error message.
 */
int channels__poll(struct channels *channels, struct evlist *evlist);

/** channels__unmap - unmap all rings; harmless if there are none */
void channels__unmap(struct channels *channels);

/** channels__ring - the ring that a descriptor of @evsel belongs to, see evsel__for_each_fd() */
struct ring *channels__ring(struct channels *channels, struct evlist *evlist, struct evsel *evsel,
			    int cpu_idx, int thread);

/**
 * channel__area_index - the number of the AUX area behind a ring
 *
 * As util counts: CPUs, or threads where there is a ring for each of them.
 */
int channel__area_index(const struct channel *channel, const struct evlist *evlist,
			const struct ring *ring);

/** channels__any_page - some ring's control page, for what it tells about clocks; or NULL */
const struct perf_event_mmap_page *channels__any_page(const struct channels *channels);

static inline bool ring__mapped(const struct ring *ring)
{
	return ring->map.base != NULL;
}

static inline size_t ring__size(const struct ring *ring)
{
	return (size_t)ring->map.mask + 1;
}

/** ring__data - start of the data area, ring__size() bytes */
void *ring__data(const struct ring *ring);

#define channel__for_each_ring(channel, ring)						\
	for ((ring) = (channel)->rings; (ring) < (channel)->rings + (channel)->nr; (ring)++)	\
		if (ring__mapped(ring))

#endif
