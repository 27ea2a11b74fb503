// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <internal/lib.h>
#include <internal/overwrite.h>
#include <internal/xyarray.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <perf/threadmap.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/util.h"
#include "channel.h"
#include "recording/lib/evsel.h"
#include "recording/lib/pollset.h"

/* Sizes of the rings in one attempt to map all of them [pages]. */
struct sizes {
	unsigned int	data;
	unsigned int	tracking;
};

static const char * const channel_names[NR_CHANNELS] = {
	[CHANNEL_STREAM]    = "stream",
	[CHANNEL_OVERWRITE] = "overwrite",
	[CHANNEL_BPF]	    = "BPF",
	[CHANNEL_BPF_STREAM] = "BPF stream",
	[CHANNEL_TRACKING]  = "tracking",
	[CHANNEL_AUX]	    = "AUX",
};

/* For decoders of AUX areas there may be events beside the tracking event that cover all CPUs. */
static bool is_side_band(const struct evsel *evsel)
{
	const struct perf_event_attr *attr = &evsel->core.attr;

	return evsel->tracking || (evsel__is_dummy_event((struct evsel *)evsel) &&
				   (attr->context_switch || attr->text_poke));
}

enum channel_kind evsel__channel(const struct evsel *evsel)
{
	if (evsel__is_bpf_written(evsel))
		return perf_overwrite__is_configured(&evsel->core.attr) ? CHANNEL_BPF :
									  CHANNEL_BPF_STREAM;
	if (evsel->needs_auxtrace_mmap || evsel->core.attr.aux_output)
		return CHANNEL_AUX;
	if (is_side_band(evsel))
		return CHANNEL_TRACKING;
	if (perf_overwrite__is_configured(&evsel->core.attr))
		return CHANNEL_OVERWRITE;
	return CHANNEL_STREAM;
}

bool channel_kind__is_streamed(enum channel_kind kind)
{
	return kind == CHANNEL_STREAM || kind == CHANNEL_BPF_STREAM;
}

static bool is_written_by_bpf(const struct channel *channel)
{
	return channel->kind == CHANNEL_BPF || channel->kind == CHANNEL_BPF_STREAM;
}

bool channels__have_streams(const struct channels *channels)
{
	const struct channel *channel;

	channels__for_each_stream(channels, channel) {
		if (channel->nr_mapped)
			return true;
	}
	return false;
}

bool channel__overwrites(const struct channel *channel)
{
	return channel->kind == CHANNEL_OVERWRITE || channel->kind == CHANNEL_BPF;
}

void *ring__data(const struct ring *ring)
{
	return ring->map.base + page_size;
}

int evsel__fd(const struct evsel *evsel, int cpu_idx, int thread)
{
	return *(int *)xyarray__entry(evsel->core.fd, cpu_idx, thread);
}

int evsel__nr_threads(const struct evsel *evsel)
{
	if (evsel->core.system_wide)
		return 1;
	return min(perf_thread_map__nr(evsel->core.threads), xyarray__max_y(evsel->core.fd));
}

struct ring *channels__ring(struct channels *channels, struct evlist *evlist, struct evsel *evsel,
			    int cpu_idx, int thread)
{
	const struct channel *channel = &channels->channel[evsel__channel(evsel)];
	const struct perf_cpu_map *all = evlist->core.all_cpus;
	struct perf_cpu cpu = perf_cpu_map__cpu(evsel->core.cpus, cpu_idx);

	if (cpu.cpu < 0)
		return &channel->rings[perf_cpu_map__nr(all) + thread];
	return &channel->rings[perf_cpu_map__idx(all, cpu)];
}

static int ring__map(struct ring *ring, struct channel *channel, struct evsel *evsel, int fd,
		     struct perf_cpu cpu)
{
	struct perf_mmap_param param = {
		.prot = channel__overwrites(channel) ? PROT_READ : PROT_READ | PROT_WRITE,
		.mask = channel->pages * page_size - 1,
	};

	perf_mmap__init(&ring->map, NULL, channel__overwrites(channel), NULL);
	if (perf_mmap__mmap(&ring->map, &param, fd, cpu) < 0)
		return -errno;
	ring->owner = evsel;
	if (!channel__overwrites(channel))		/* a full overwrite ring loses nothing */
		ring->stats.evlist = evsel->evlist;
	channel->nr_mapped++;
	return 0;
}

int channel__add_foreign(struct channel *channel, int slot, struct evsel *owner, int fd,
			 struct perf_cpu cpu)
{
	return ring__map(&channel->rings[slot], channel, owner, fd, cpu);
}

static int channels__add_evsel(struct channels *channels, struct evlist *evlist,
			       struct evsel *evsel)
{
	struct channel *channel = &channels->channel[evsel__channel(evsel)];
	int cpu_idx, thread, fd, err;

	if (is_written_by_bpf(channel))			/* bpf_ring__map() */
		return 0;
	evsel__for_each_fd(evsel, cpu_idx, thread, fd) {
		struct ring *ring = channels__ring(channels, evlist, evsel, cpu_idx, thread);

		if (!ring__mapped(ring)) {
			err = ring__map(ring, channel, evsel, fd,
					perf_cpu_map__cpu(evsel->core.cpus, cpu_idx));
			if (err)
				return err;
		} else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->map.fd)) {
			return -errno;
		}
	}
	return 0;
}

static void channel__unmap(struct channel *channel)
{
	struct ring *ring;

	channel__for_each_ring(channel, ring) {
		doorbell__unmap(&ring->doorbell);
		perf_mmap__munmap(&ring->map);
	}
	zfree(&channel->rings);
	channel->nr = channel->nr_mapped = 0;
}

void channels__unmap(struct channels *channels)
{
	int kind;

	for (kind = 0; kind < NR_CHANNELS; kind++)
		channel__unmap(&channels->channel[kind]);
}

static int channels__try(struct channels *channels, struct evlist *evlist,
			 const struct sizes *sizes)
{
	int nr = perf_cpu_map__nr(evlist->core.all_cpus) +
		 perf_thread_map__nr(evlist->core.threads);
	struct evsel *evsel;
	int kind, err;

	for (kind = 0; kind < NR_CHANNELS; kind++) {
		struct channel *channel = &channels->channel[kind];

		channel->kind = kind;
		channel->pages = kind == CHANNEL_TRACKING ? sizes->tracking : sizes->data;
		channel->rings = calloc(nr, sizeof(*channel->rings));
		channel->nr = nr;
		if (!channel->rings)
			goto nomem;
	}
	evlist__for_each_entry(evlist, evsel) {
		struct channel *channel = &channels->channel[evsel__channel(evsel)];

		err = channels__add_evsel(channels, evlist, evsel);
		if (err) {
			pr_debug("%s ring of %u pages for %s: %s\n", channel_names[channel->kind],
				 channel->pages, evsel__name(evsel), strerror(-err));
			goto unmap;
		}
	}
	return 0;
nomem:
	err = -ENOMEM;
unmap:
	channels__unmap(channels);
	return err;
}

/* Halve the sizes that may shrink. Return: false when no ring can be made smaller. */
static bool sizes__shrink(struct sizes *sizes, bool data_is_fixed)
{
	if (data_is_fixed && sizes->tracking == 1)
		return false;
	if (!data_is_fixed && sizes->data == 1)
		return false;
	if (!data_is_fixed)
		sizes->data /= 2;
	if (sizes->tracking > 1)
		sizes->tracking /= 2;
	return true;
}

static void explain_mlock_limit(struct evlist *evlist, unsigned int pages)
{
	struct rlimit limit = { 0 };
	char msg[BUFSIZ];

	getrlimit(RLIMIT_MEMLOCK, &limit);
	evlist->core.mmap_len = evlist__mmap_size(pages);
	evlist__strerror_mmap(evlist, EPERM, msg, sizeof(msg));
	pr_err("Rings of %u pages (%zu kB) on each CPU are more than this user may lock.\n%s\n"
	       "Hint:\tMore memory counts against 'ulimit -l', now %" PRIu64 " kB.\n",
	       pages, (size_t)pages * page_size / 1024, msg, (u64)limit.rlim_cur / 1024);
}

int channel__area_index(const struct channel *channel, const struct evlist *evlist,
			const struct ring *ring)
{
	int slot = ring - channel->rings, nr_cpus = perf_cpu_map__nr(evlist->core.all_cpus);

	return slot < nr_cpus ? slot : slot - nr_cpus;
}

int channel__ring_tid(const struct channel *channel, const struct evlist *evlist,
		      const struct ring *ring)
{
	int thread = ring - channel->rings - perf_cpu_map__nr(evlist->core.all_cpus);

	return thread < 0 ? -1 : perf_thread_map__pid(evlist->core.threads, thread);
}

/*
 * Give each ring a unique index: a reader of the file tells the rings of a CPU apart by it. The
 * ring of an AUX area has the area's index, by which decoders find it.
 */
static int channel__index(const struct channel *channel, const struct evlist *evlist,
			  const struct ring *ring)
{
	if (channel->kind == CHANNEL_AUX)
		return channel__area_index(channel, evlist, ring);
	return (channel->kind + 1) * channel->nr + (ring - channel->rings);
}

/* May the kernel prepare samples of @evsel and of other events together (sample_ids.h)? */
static bool shares_samples(const struct evsel *evsel)
{
	const struct perf_event_attr *attr = &evsel->core.attr;

	if (attr->type != PERF_TYPE_SOFTWARE || !attr->sample_period)
		return false;
	switch (attr->config) {
	case PERF_COUNT_SW_CPU_CLOCK:
	case PERF_COUNT_SW_TASK_CLOCK:
	case PERF_COUNT_SW_DUMMY:
	case PERF_COUNT_SW_BPF_OUTPUT:
		return false;
	default:
		return true;
	}
}

/* @sid: of one descriptor of @evsel that writes to @ring */
static void ring__note_sw_event(struct ring *ring, const struct evsel *evsel,
				const struct perf_sample_id *sid)
{
	if (!shares_samples(evsel))
		return;
	if (!ring->sw_event)
		ring->sw_id = sid->id;
	else if (ring->sw_event != evsel)
		ring->sw_id = 0;
	ring->sw_event = evsel;
}

static int channels__add_ids(struct channels *channels, struct evlist *evlist,
			     struct evsel *evsel)
{
	struct channel *channel = &channels->channel[evsel__channel(evsel)];
	int cpu_idx, thread, fd;

	if (!(evsel->core.attr.read_format & PERF_FORMAT_ID))
		return 0;
	if (!evsel->core.sample_id &&
	    perf_evsel__alloc_id(&evsel->core, xyarray__max_x(evsel->core.fd),
				 xyarray__max_y(evsel->core.fd)) < 0)
		return -ENOMEM;

	evsel__for_each_fd(evsel, cpu_idx, thread, fd) {
		struct ring *ring = channels__ring(channels, evlist, evsel, cpu_idx, thread);
		struct perf_sample_id *sid;

		if (perf_evlist__id_add_fd(&evlist->core, &evsel->core, cpu_idx, thread, fd) < 0)
			return -errno;
		sid = xyarray__entry(evsel->core.sample_id, cpu_idx, thread);
		sid->idx = channel__index(channel, evlist, ring);
		sid->cpu = perf_cpu_map__cpu(evsel->core.cpus, cpu_idx);
		sid->tid = evsel->core.system_wide ? -1 :
			   perf_thread_map__pid(evsel->core.threads, thread);
		ring__note_sw_event(ring, evsel, sid);
	}
	return 0;
}

static int channels__register(struct channels *channels, struct evlist *evlist)
{
	struct evsel *evsel;
	int err = 0;

	evlist__for_each_entry(evlist, evsel) {
		err = channels__add_ids(channels, evlist, evsel);
		if (err) {
			pr_err("Cannot register %s: %s\n", evsel__name(evsel), strerror(-err));
			channels__unmap(channels);
			return err;
		}
	}
	return 0;
}

size_t channels__ring_bytes(unsigned int pages)
{
	return (size_t)(pages != UINT_MAX ? pages : perf_event_mlock_kb_in_pages()) * page_size;
}

int channels__map(struct channels *channels, struct evlist *evlist, unsigned int pages)
{
	const bool fixed = pages != UINT_MAX;
	const unsigned int preferred = perf_event_mlock_kb_in_pages();
	struct sizes sizes = {
		.data	  = fixed ? pages : preferred,
		.tracking = preferred,
	};
	int err = 0, last_err = 0;

	do {
		last_err = err ?: last_err;
		err = channels__try(channels, evlist, &sizes);
	} while ((err == -EPERM || (err == -ENOMEM && !fixed)) && sizes__shrink(&sizes, fixed));

	if (err == -EPERM) {
		explain_mlock_limit(evlist, sizes.data);
		return err;
	}
	if (err) {
		pr_err("Cannot map rings of %u pages: %s%s\n", sizes.data, strerror(-err),
		       err == -ENOMEM ? "; see -m and 'ulimit -v'" : "");
		return err;
	}
	if (sizes.data < preferred && !fixed)
		pr_warning("Rings hold only %zu kB a CPU, %s.\n",
			   (size_t)sizes.data * page_size / 1024, last_err == -EPERM ?
			   "as much as this user may lock; see kernel.perf_event_mlock_kb and 'ulimit -l'" :
			   "because memory is short; see 'ulimit -v'");
	return channels__register(channels, evlist);
}

/*
 * Poll a drained ring through all descriptors of its owner: each task hangs up when it exits, and
 * any descriptor wakes up for the whole ring. Overwrite rings need no wake-up; their tasks are
 * those of the tracking event.
 */
static int add_to_pollsets(struct channels *channels, struct evlist *evlist, struct evsel *evsel)
{
	int cpu_idx, thread, fd, err;

	evsel__for_each_fd(evsel, cpu_idx, thread, fd) {
		struct ring *ring = channels__ring(channels, evlist, evsel, cpu_idx, thread);

		if (ring->owner != evsel || !ring->pollset)
			continue;
		err = pollset__add_ring(ring->pollset, fd, ring, !evsel->core.system_wide);
		if (err)
			return err;
	}
	return 0;
}

static int add_doorbells(struct channel *channel)
{
	struct ring *ring;
	int err;

	channel__for_each_ring(channel, ring) {
		err = pollset__add_ring(ring->pollset, ring->doorbell.fd, ring, false);
		if (err)
			return err;
	}
	return 0;
}

int channels__poll(struct channels *channels, struct evlist *evlist)
{
	int err = add_doorbells(&channels->channel[CHANNEL_BPF_STREAM]);
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (err)
			break;
		if (!evsel__is_bpf_written(evsel))
			err = add_to_pollsets(channels, evlist, evsel);
	}
	if (err)
		pr_err("Cannot wait for %d events: %s\n", evlist->core.nr_entries, strerror(-err));
	return err;
}

const struct perf_event_mmap_page *channels__any_page(const struct channels *channels)
{
	int kind;

	for (kind = 0; kind < NR_CHANNELS; kind++) {
		const struct channel *channel = &channels->channel[kind];
		const struct ring *ring;

		if (is_written_by_bpf(channel))
			continue;
		channel__for_each_ring(channel, ring)
			return ring->map.base;
	}
	return NULL;
}
