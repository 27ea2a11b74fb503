// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <perf/mmap.h>
#include <perf/threadmap.h>
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/mmap.h"
#include "util/record.h"
#include "util/sample.h"
#include "util/target.h"
#include "util/thread_map.h"
#include "own_tids.h"
#include "recording/lib/compat.h"

/* PROC_PID_INIT_INO of the kernel, which never changes */
#define INITIAL_PID_NS	"pid:[4026531836]"

bool own_tids__are_initial(void)
{
	char ns[64];
	ssize_t len = readlink("/proc/self/ns/pid", ns, sizeof(ns) - 1);

	if (len < 0)
		return true;
	ns[len] = '\0';
	return !strcmp(ns, INITIAL_PID_NS);
}

/*
 * Translation in a PID namespace
 */

#ifdef HAVE_LIBTRACEEVENT
#define PROBE_PAGES	4

/* Make an event for signals that the main thread sends. Return: NULL on any failure. */
static struct evlist *probe__new(void)
{
	struct record_opts opts = {
		.target		= { TARGET_NO_USER },
		.no_inherit	= true,
		.no_buffering	= true,
		.user_freq	= UINT_MAX,
		.user_interval	= ULLONG_MAX,
	};
	struct evsel *evsel = evsel__newtp("signal", "signal_generate");
	struct evlist *probe = evlist__new();
	char tid[16];

	if (IS_ERR_OR_NULL(evsel) || !probe)
		goto error;
	evlist__add(probe, evsel);
	scnprintf(tid, sizeof(tid), "%d", getpid());
	opts.target.tid = tid;
	opts.target.per_thread = true;
	if (evlist__create_maps(probe, &opts.target))
		goto error;
	evlist__config(probe, &opts, NULL);
	if (evlist__open(probe) || evlist__do_mmap(probe, PROBE_PAGES))
		goto error;
	evlist__enable(probe);
	return probe;
error:
	evlist__put(probe);
	return NULL;
}

static pid_t probe__read(struct evlist *probe)
{
	struct evsel *evsel = evlist__first(probe);
	struct perf_mmap *map = &probe->mmap[0].core;
	union perf_event *event;
	pid_t tid = -ENODATA;

	if (perf_mmap__read_init(map))
		return tid;
	while ((event = perf_mmap__read_event(map))) {
		struct perf_sample sample = { 0 };

		if (event->header.type == PERF_RECORD_SAMPLE &&
		    !evlist__parse_sample(probe, event, &sample)) {
			if (evsel__intval(evsel, &sample, "sig") == SIGURG)
				tid = evsel__intval(evsel, &sample, "pid");
			perf_sample__exit(&sample);
		}
		perf_mmap__consume(map);
	}
	perf_mmap__read_done(map);
	return tid;
}

/* SIGURG is ignored unless a program asks for it. */
static pid_t probe__translate(struct evlist *probe, pid_t tid)
{
	if (tgkill(getpid(), tid, SIGURG))
		return -errno;
	return probe__read(probe);
}

static int translate(struct own_tids *own)
{
	struct evlist *probe = probe__new();
	int i, err = 0;

	if (!probe)
		return -EOPNOTSUPP;
	own->process = probe__translate(probe, own->process);
	if (own->process < 0)
		err = own->process;
	for (i = 0; i < own->nr && !err; i++) {
		own->tids[i] = probe__translate(probe, own->tids[i]);
		if (own->tids[i] < 0)
			err = own->tids[i];
	}
	evlist__put(probe);
	return err;
}
#else
static int translate(struct own_tids *own __maybe_unused)
{
	return -EOPNOTSUPP;
}
#endif

/*
 * Threads
 */

static int compare(const void *a, const void *b)
{
	return *(const pid_t *)a - *(const pid_t *)b;
}

static int list_threads(struct own_tids *own)
{
	struct perf_thread_map *map = thread_map__new_by_pid(getpid());
	int i;

	if (!map)
		return -errno;
	own->nr = perf_thread_map__nr(map);
	own->tids = calloc(own->nr, sizeof(*own->tids));
	for (i = 0; i < own->nr && own->tids; i++)
		own->tids[i] = perf_thread_map__pid(map, i);
	perf_thread_map__put(map);
	return own->tids ? 0 : -ENOMEM;
}

int own_tids__find_process(struct own_tids *own)
{
	*own = (struct own_tids){ .process = getpid() };
	return own_tids__are_initial() ? 0 : translate(own);
}

int own_tids__find(struct own_tids *own)
{
	int err;

	*own = (struct own_tids){ .process = getpid() };
	err = list_threads(own);
	if (!err && !own_tids__are_initial())
		err = translate(own);
	if (err)
		own_tids__free(own);
	else
		qsort(own->tids, own->nr, sizeof(*own->tids), compare);
	return err;
}

void own_tids__free(struct own_tids *own)
{
	zfree(&own->tids);
	own->nr = 0;
}
