// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <perf/mmap.h>
#include <perf/threadmap.h>
#include "util/debug.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/mmap.h"
#include "util/record.h"
#include "trigger_event.h"
#include "recording/lib/compat.h"

/*
 * Space for a few hundred events during a copy. More are lost, which does no harm: the copy is
 * under way.
 */
#define RING_PAGES	4

/*
 * util takes a thread that has exited out of the map of the event that it opens. The recorded
 * events, which are open, must not see that.
 */
static struct perf_thread_map *copy_threads(struct perf_thread_map *threads)
{
	int nr = perf_thread_map__nr(threads), i;
	struct perf_thread_map *copy = perf_thread_map__new_array(nr, NULL);

	for (i = 0; copy && i < nr; i++)
		perf_thread_map__set_pid(copy, i, perf_thread_map__pid(threads, i));
	return copy;
}

int trigger_events__configure(struct trigger_events *events, struct evlist *recorded,
			      const struct record_opts *opts)
{
	struct record_opts trigger_opts = {
		.target		= opts->target,
		.no_inherit	= opts->no_inherit,
		.no_inherit_set	= opts->no_inherit_set,
		.no_buffering	= true,
		.sample_time	= true,
		.user_freq	= UINT_MAX,
		.user_interval	= ULLONG_MAX,
		.use_clockid	= true,
		.clockid	= CLOCK_MONOTONIC,
		.ignore_missing_thread = opts->ignore_missing_thread,
	};
	struct perf_thread_map *threads;
	struct evsel *evsel;

	if (!events->evlist)
		return 0;
	threads = copy_threads(recorded->core.threads);
	if (!threads) {
		pr_err("Not enough memory to open --switch-output-event.\n");
		return -ENOMEM;
	}
	perf_evlist__set_maps(&events->evlist->core, recorded->core.user_requested_cpus, threads);
	perf_thread_map__put(threads);
	/* Side-band records trigger nothing: they must not wake the capture thread up. */
	evlist__for_each_entry(events->evlist, evsel)
		evsel->tracking = false;
	evlist__config(events->evlist, &trigger_opts, NULL);

	evlist__for_each_entry(events->evlist, evsel) {
		/* note() reads these fields, which a single event would not have by default. */
		evsel__set_sample_bit(evsel, TIME);
		evsel__set_sample_bit(evsel, TID);
		evsel__set_sample_bit(evsel, CPU);
		if (evsel->core.attr.sample_period || evsel->core.attr.freq)
			continue;
		pr_err("--switch-output-event=%s: the event needs a period. "
		       "Example: %s/period=1000000/\n", evsel__name(evsel), evsel__name(evsel));
		return -EINVAL;
	}
	evlist__set_id_pos(events->evlist);
	return 0;
}

int trigger_events__map(struct trigger_events *events, struct evlist *waiter)
{
	struct fdarray *fds;
	int i, pos, err;

	if (!events->evlist)
		return 0;
	err = evlist__do_mmap(events->evlist, RING_PAGES);
	if (err) {
		err = errno ? -errno : -ENOMEM;
		pr_err("Cannot map rings of %d pages for --switch-output-event: %s\n", RING_PAGES,
		       strerror(-err));
		return err;
	}
	fds = &events->evlist->core.pollfd;
	for (i = 0; i < fds->nr; i++) {
		pos = perf_evlist__add_pollfd(&waiter->core, fds->entries[i].fd, NULL, POLLIN,
					      fdarray_flag__nonfilterable);
		if (pos < 0) {
			pr_err("Not enough memory to wait for --switch-output-event.\n");
			return pos;
		}
		if (!events->nr++)
			events->first = pos;
	}
	return 0;
}

void trigger_events__enable(struct trigger_events *events)
{
	if (events->evlist)
		evlist__enable(events->evlist);
}

/* Is an event at @time to be described, instead of the one that was noted? */
static bool is_preferred(const struct trigger_events *events, u64 time)
{
	bool allowed = trigger_limit__allows(&events->limit, time);
	bool noted = trigger_limit__allows(&events->limit, events->time);

	return allowed == noted ? time < events->time : allowed;
}

static void note(struct trigger_events *events, union perf_event *event)
{
	struct perf_sample sample = { 0 };

	if (event->header.type != PERF_RECORD_SAMPLE ||
	    evlist__parse_sample(events->evlist, event, &sample))
		return;
	if (events->nr_found++ && !is_preferred(events, sample.time))
		return;
	events->time = sample.time;
	events->pid = sample.pid;
	events->tid = sample.tid;
	events->cpu = sample.cpu;
	events->evsel = evlist__event2evsel(events->evlist, event);
}

static void drain(struct trigger_events *events, struct mmap *map)
{
	union perf_event *event;

	if (perf_mmap__read_init(&map->core))
		return;
	while ((event = perf_mmap__read_event(&map->core))) {
		note(events, event);
		perf_mmap__consume(&map->core);
	}
	perf_mmap__read_done(&map->core);
}

bool trigger_events__process(struct trigger_events *events, struct evlist *waiter)
{
	struct pollfd *entry = waiter->core.pollfd.entries + events->first;
	bool readable = false;
	int i;

	for (i = 0; i < events->nr; i++) {
		readable |= entry[i].revents & POLLIN;
		/* The task has exited: stop polling, or POLLHUP would return at once for ever. */
		if (entry[i].revents & (POLLERR | POLLHUP))
			entry[i].fd = -1;
	}
	if (!readable)
		return false;

	events->nr_found = 0;
	for (i = 0; i < events->evlist->core.nr_mmaps; i++)
		drain(events, &events->evlist->mmap[i]);
	return events->nr_found;
}

void trigger_events__close(struct trigger_events *events)
{
	if (!events->evlist)
		return;
	evlist__do_munmap(events->evlist);
	evlist__close(events->evlist);
	events->nr = 0;
}
