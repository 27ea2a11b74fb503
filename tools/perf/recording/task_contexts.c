// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <linux/compiler.h>
#include <linux/perf_event.h>
#include <perf/threadmap.h>
#include "perf-sys.h"
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/record.h"
#include "util/target.h"
#include "recording/lib/compat.h"
#include "recording/lib/fd.h"
#include "task_contexts.h"

#ifdef HAVE_LIBTRACEEVENT
#include <traceevent/event-parse.h>

/* Probes at functions and at their returns differ from other tracepoints by these fields. */
static bool is_probe(struct evsel *evsel)
{
	struct tep_event *format;

	if (evsel->core.attr.type != PERF_TYPE_TRACEPOINT)
		return false;
	format = evsel__tp_format(evsel);
	return format && (tep_find_field(format, "__probe_ip") ||
			  tep_find_field(format, "__probe_ret_ip"));
}
#else
static bool is_probe(struct evsel *evsel __maybe_unused)
{
	return false;		/* such a perf records no tracepoints */
}
#endif

static bool has_probes(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (is_probe(evsel))
			return true;
	}
	return false;
}

static int open_event(pid_t tid, const struct perf_event_attr *attr)
{
	struct perf_event_attr other = *attr;
	int fd = sys_perf_event_open(&other, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		return fd;
	other.sample_type = 0;
	other.sample_period = 0;
	other.inherit = attr->inherit && attr->config1;
	return sys_perf_event_open(&other, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int task_contexts__pin(struct task_contexts *contexts, struct evlist *evlist,
		       const struct record_opts *opts, __u64 marker)
{
	struct perf_thread_map *threads = evlist->core.threads;
	bool pins = !opts->no_inherit && has_probes(evlist);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .size = sizeof(attr),
		.sample_type = pins ? PERF_SAMPLE_TID | PERF_SAMPLE_READ : 0, .sample_period = pins,
		.disabled = 1, .inherit = !opts->no_inherit, .exclude_kernel = 1, .exclude_hv = 1,
		.config1 = marker, .pinned = marker != 0,
		.enable_on_exec = marker && target__enable_on_exec((struct target *)&opts->target),
	};
	int i, nr = perf_thread_map__nr(threads);

	/* The thread of events on CPUs is -1. */
	if (nr < 1 || perf_thread_map__pid(threads, 0) < 0 || (!pins && !marker))
		return 0;
	contexts->fds = malloc(nr * sizeof(*contexts->fds));
	if (!contexts->fds)
		return -ENOMEM;
	contexts->nr = nr;
	for (i = 0; i < nr; i++) {
		contexts->fds[i] = open_event(perf_thread_map__pid(threads, i), &attr);
		if (contexts->fds[i] < 0)
			pr_debug("Cannot open the first event of task %d: %m\n",
				 perf_thread_map__pid(threads, i));
	}
	return 0;
}

void task_contexts__release(struct task_contexts *contexts)
{
	int i;

	for (i = 0; i < contexts->nr; i++)
		fd__close(&contexts->fds[i]);
	free(contexts->fds);
	*contexts = (struct task_contexts){ 0 };
}
