/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Map the rings, one per channel and CPU, and redirect each event to the ring of its channel.
 *
 *         stream              overwrite            tracking              aux
 *     events without      events with the      dummy events: mmap,   the event that has an
 *     the term            term /overwrite/     comm, fork, exit,     AUX area: aux,
 *                                              switch, bpf ...       itrace_start; and events with
 *                                                                    samples in it (aux-output)
 *         |                   |                    |                     |
 *     ring per CPU        ring per CPU         ring per CPU          ring per CPU, with an
 *                                                                    AUX area behind it
 *         |                   |                    |                     |
 *     drained all the     copied when a        drained all the       drained all the time, or
 *     time (readers.h)    snapshot is taken    time                  the area copied when a
 *                         (overwrite.h)        (drain_thread.h)      snapshot is taken (aux.h)
 *
 * A channel has one ring for each CPU, or one for each thread where events are bound to threads
 * only (--per-thread). The first event of a channel on a CPU owns the ring; the others are
 * redirected to it (PERF_EVENT_IOC_SET_OUTPUT). Drained rings are mapped read-write: the kernel
 * respects data_tail. Overwrite rings are mapped read-only: the kernel ignores data_tail.
 *
 * Events that BPF programs write (bpf_ring.h) have channels of their own. Their rings are treated
 * as those of the overwrite channel, or of the stream channel.
 *
 * Tracking always has a channel of its own: the names of tasks and their maps must neither be
 * overwritten by events nor be lost because a stream's ring is full. The AUX event has a channel of
 * its own because it must own the ring that the area belongs to.
 */
#ifndef PERF_RECORDING_CHANNEL_H
#define PERF_RECORDING_CHANNEL_H

#include <stdbool.h>
#include <internal/mmap.h>
#include "recording/stats/ring_stats.h"
#include "doorbell.h"

struct evlist;
struct evsel;
struct pollset;
struct ring_drainer;

enum channel_kind {
	CHANNEL_STREAM,
	CHANNEL_OVERWRITE,
	CHANNEL_BPF,
	CHANNEL_BPF_STREAM,
	CHANNEL_TRACKING,
	CHANNEL_AUX,
	NR_CHANNELS,
};

/**
 * struct ring - one mapped ring buffer
 * @map:	libperf's description: base, mask, cpu; prev is where the next read starts
 * @owner:	the event whose descriptor is mapped
 * @pollset:	of the thread that drains the ring; NULL if none does
 * @drainer:	drains the ring and the AUX area behind it; NULL: ring__drain() drains the ring
 * @doorbell:	wakes the reader up, in the place of perf's descriptors; zeroed: there is none
 * @sw_event:	the event in it whose samples may have foreign ids (sample_ids.h); NULL: none
 * @sw_id:	an id of it; 0 if there are several such events
 * @stats:	counts the records that were read
 */
struct ring {
	struct perf_mmap	 map;
	struct evsel		*owner;
	struct pollset		*pollset;
	struct ring_drainer	*drainer;
	struct doorbell		 doorbell;
	const struct evsel	*sw_event;
	u64			 sw_id;
	struct ring_stats	 stats;
};

/**
 * struct channel
 * @kind:	decides protection and direction
 * @rings:	@nr slots, one for each CPU, then one for each thread; slots without an event are
 *		not mapped
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
 * evsel__nr_threads - number of threads that an opened event has a descriptor for on each CPU
 *
 * One for events that are not bound to tasks. Fewer than evsel->core.fd has entries for, if threads
 * had exited when their events were opened: util removes those from the thread map.
 */
int evsel__nr_threads(const struct evsel *evsel);

/** evsel__fd - descriptor of an opened event, or -1 */
int evsel__fd(const struct evsel *evsel, int cpu_idx, int thread);

#define evsel__for_each_fd(evsel, cpu_idx, thread, fd)				\
	for ((cpu_idx) = 0; (cpu_idx) < evsel__nr_cpus(evsel); (cpu_idx)++)	\
		for ((thread) = 0; (thread) < evsel__nr_threads(evsel); (thread)++) \
			if (((fd) = evsel__fd(evsel, cpu_idx, thread)) >= 0)

/** evsel__channel - channel of a configured event */
enum channel_kind evsel__channel(const struct evsel *evsel);

/**
 * channels__map - map the rings of all channels and redirect the events to them
 * @channels:	zeroed; on success the caller frees them with channels__unmap()
 * @evlist:	opened events; receives their ids
 * @pages:	size of a ring [pages, power of two], or UINT_MAX for the default. A requested size
 *		is met or refused. The default size, and the size of tracking rings, are halved
 *		until an ordinary user may lock them.
 *
 * Return: 0, or a negative errno after an error message.
 */
int channels__map(struct channels *channels, struct evlist *evlist, unsigned int pages);

/**
 * channels__poll - add the descriptors of each ring to its @pollset, if it has one
 *
 * Return: 0, or a negative errno after an error message.
 */
int channels__poll(struct channels *channels, struct evlist *evlist);

/** channels__ring_bytes - size of the rings of channels__map() [bytes] */
size_t channels__ring_bytes(unsigned int pages);

/**
 * channel__add_foreign - map a ring that the kernel's perf does not write
 * @slot:	of its CPU
 * @owner:	an event whose records it has
 * @fd:		to be mapped; the caller keeps ownership
 *
 * Return: 0, or a negative errno.
 */
int channel__add_foreign(struct channel *channel, int slot, struct evsel *owner, int fd,
			 struct perf_cpu cpu);

/**
 * channel_kind__is_streamed - are the rings of this kind of channel drained by readers (readers.h)?
 */
bool channel_kind__is_streamed(enum channel_kind kind);

/** channels__have_streams - are there rings of such channels? */
bool channels__have_streams(const struct channels *channels);

/** channel__overwrites - do the rings of this channel overwrite themselves? */
bool channel__overwrites(const struct channel *channel);

/** channels__unmap - unmap all rings; harmless if there are none */
void channels__unmap(struct channels *channels);

/** channels__ring - ring of one descriptor of @evsel, see evsel__for_each_fd() */
struct ring *channels__ring(struct channels *channels, struct evlist *evlist, struct evsel *evsel,
			    int cpu_idx, int thread);

/**
 * channel__area_index - index of the AUX area behind a ring, as util counts
 *
 * Return: index of the CPU, or of the thread where there is a ring for each thread.
 */
int channel__area_index(const struct channel *channel, const struct evlist *evlist,
			const struct ring *ring);

/** channel__ring_tid - thread that a ring belongs to; -1 if the ring is that of a CPU */
int channel__ring_tid(const struct channel *channel, const struct evlist *evlist,
		      const struct ring *ring);

/** channels__any_page - control page of any ring, for its clock parameters; NULL without rings */
const struct perf_event_mmap_page *channels__any_page(const struct channels *channels);

static inline bool ring__mapped(const struct ring *ring)
{
	return ring->map.base != NULL;
}

static inline size_t ring__size(const struct ring *ring)
{
	return (size_t)ring->map.mask + 1;
}

/** ring__data - start of the data area, of ring__size() bytes */
void *ring__data(const struct ring *ring);

#define channels__for_each_stream(channels, chan)					\
	for ((chan) = (channels)->channel; (chan) < (channels)->channel + NR_CHANNELS; (chan)++) \
		if (channel_kind__is_streamed((chan)->kind))

#define channel__for_each_ring(channel, ring)						\
	for ((ring) = (channel)->rings; (ring) < (channel)->rings + (channel)->nr; (ring)++)	\
		if (ring__mapped(ring))

#endif
