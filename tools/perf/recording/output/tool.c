// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read a file back through util's session: mark the DSOs that were hit, note the times of samples.
 */
#include <linux/compiler.h>
#include "util/data.h"
#include "util/debug.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/sample.h"
#include "util/session.h"
#include "util/symbol_conf.h"
#include "util/tool.h"
#include "recording/lib/evsel.h"
#include "tool.h"
#include "recording/lib/compat.h"

static void note_time(struct evlist *evlist, u64 time)
{
	if (!evlist->first_sample_time || time < evlist->first_sample_time)
		evlist->first_sample_time = time;
	if (time > evlist->last_sample_time)
		evlist->last_sample_time = time;
}

static int read_back_sample(const struct perf_tool *tool __maybe_unused,
			    union perf_event *event __maybe_unused, struct perf_sample *sample,
			    struct evsel *evsel, struct machine *machine __maybe_unused)
{
	if (!evsel__is_off_cpu(evsel))
		note_time(evsel->evlist, sample->time);
	return 0;
}
DEFINE_SAMPLE_CALLBACK(read_back_time, read_back_sample)

static int read_back_sample_and_dso(const struct perf_tool *tool, union perf_event *event,
				    struct perf_sample *sample, struct evsel *evsel,
				    struct machine *machine)
{
	read_back_sample(tool, event, sample, evsel, machine);
	return mark_dso_hit(tool, event, sample, evsel, machine);
}
DEFINE_SAMPLE_CALLBACK(read_back_time_and_dso, read_back_sample_and_dso)

/*
 * The session has had the kernel's maps from the start. The file's kernel maps would replace them.
 */
static int read_back_mmap(const struct perf_tool *tool, union perf_event *event,
			  struct perf_sample *sample, struct machine *machine)
{
	if ((event->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
		return 0;
	return perf_event__process_mmap(tool, event, sample, machine);
}

static int read_back_mmap2(const struct perf_tool *tool, union perf_event *event,
			   struct perf_sample *sample, struct machine *machine)
{
	if ((event->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
		return 0;
	return perf_event__process_mmap2(tool, event, sample, machine);
}

/* The summary reports lost events once, not again for each file that is read back. */
static int ignore_lost(const struct perf_tool *tool __maybe_unused,
		       union perf_event *event __maybe_unused,
		       struct perf_sample *sample __maybe_unused,
		       struct machine *machine __maybe_unused)
{
	return 0;
}

void output_tool__init(struct perf_tool *tool, bool mark_dsos)
{
	bool namespaces = tool->namespace_events, cgroups = tool->cgroup_events;

	/* In the order of time: a task's exit comes from another ring than its samples. */
	perf_tool__init(tool, /*ordered_events=*/true);
	tool->namespace_events = namespaces;
	tool->cgroup_events    = cgroups;
	tool->sample	     = mark_dsos ? read_back_time_and_dso : read_back_time;
	tool->fork	     = perf_event__process_fork;
	tool->exit	     = perf_event__process_exit;
	tool->comm	     = perf_event__process_comm;
	tool->mmap	     = read_back_mmap;
	tool->mmap2	     = read_back_mmap2;
	tool->namespaces     = perf_event__process_namespaces;
	tool->lost	     = ignore_lost;
	tool->lost_samples   = ignore_lost;
}

void output_tool__read_back(struct perf_session *session, bool all_dsos)
{
	struct evlist *evlist = session->evlist;

	evlist->first_sample_time = evlist->last_sample_time = 0;
	symbol_conf.ignore_vmlinux_buildid = true;	/* use that of the running kernel */
	if (perf_session__process_events(session) < 0)
		pr_warning("Cannot read %s back: the file will have no build-ids.\n",
			   session->data->path);
	if (all_dsos)
		perf_session__dsos_hit_all(session);
}
