// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <time.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "util/build-id.h"
#include "util/debug.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/header.h"
#include "util/sample.h"
#include "util/session.h"
#include "util/symbol_conf.h"
#include "util/trace-event.h"
#include "features.h"
#include "recording/off_cpu.h"
#include "output.h"

static void note_time(struct evlist *evlist, u64 time)
{
	if (!evlist->first_sample_time || time < evlist->first_sample_time)
		evlist->first_sample_time = time;
	if (time > evlist->last_sample_time)
		evlist->last_sample_time = time;
}

static int read_back_sample(const struct perf_tool *tool, union perf_event *event,
			    struct perf_sample *sample, struct evsel *evsel,
			    struct machine *machine)
{
	struct output *output = container_of(tool, struct output, tool);
	struct evlist *evlist = output->evlist;

	if (!evsel__is_off_cpu(evsel))
		note_time(evlist, sample->time);

	if (!output->build_ids || output->all_build_ids)
		return 0;
	return build_id__mark_dso_hit(tool, event, sample, evsel, machine);
}

/* The session has the kernel's maps from the start; those of the file would replace them. */
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

/* The summary tells what was lost, once, and not again for each file that is read back. */
static int ignore_lost(const struct perf_tool *tool __maybe_unused,
		       union perf_event *event __maybe_unused,
		       struct perf_sample *sample __maybe_unused,
		       struct machine *machine __maybe_unused)
{
	return 0;
}

void features__init_tool(struct perf_tool *tool)
{
	bool namespaces = tool->namespace_events, cgroups = tool->cgroup_events;

	/* In order: the exit of a task comes from another ring than its samples. */
	perf_tool__init(tool, /*ordered_events=*/true);
	tool->namespace_events = namespaces;
	tool->cgroup_events    = cgroups;
	tool->sample	     = read_back_sample;
	tool->fork	     = perf_event__process_fork;
	tool->exit	     = perf_event__process_exit;
	tool->comm	     = perf_event__process_comm;
	tool->mmap	     = read_back_mmap;
	tool->mmap2	     = read_back_mmap2;
	tool->namespaces     = perf_event__process_namespaces;
	tool->lost	     = ignore_lost;
	tool->lost_samples   = ignore_lost;
}

/* Without libtraceevent there are none. */
static bool has_tracepoints(struct evlist *evlist __maybe_unused)
{
#ifdef HAVE_LIBTRACEEVENT
	return have_tracepoints(&evlist->core.entries);
#else
	return false;
#endif
}

void features__init(struct perf_session *session, struct evlist *evlist, bool build_ids)
{
	struct perf_header *header = &session->header;
	int feat;

	for (feat = HEADER_FIRST_FEATURE; feat < HEADER_LAST_FEATURE; feat++)
		perf_header__set_feat(header, feat);

	/* Those that describe what this recording does not have. */
	if (!build_ids)
		perf_header__clear_feat(header, HEADER_BUILD_ID);
	if (!has_tracepoints(evlist))
		perf_header__clear_feat(header, HEADER_TRACING_DATA);
	if (!evlist__combined_branch_type(evlist))
		perf_header__clear_feat(header, HEADER_BRANCH_STACK);
	if (!evlist__nr_groups(evlist))
		perf_header__clear_feat(header, HEADER_GROUP_DESC);
	perf_header__clear_feat(header, HEADER_AUXTRACE);
	perf_header__clear_feat(header, HEADER_STAT);
	perf_header__clear_feat(header, HEADER_CLOCKID);
	perf_header__clear_feat(header, HEADER_CLOCK_DATA);
	perf_header__clear_feat(header, HEADER_DIR_FORMAT);
	perf_header__clear_feat(header, HEADER_COMPRESSED);
}

static u64 ns(const struct timespec *ts)
{
	return ts->tv_sec * NSEC_PER_SEC + ts->tv_nsec;
}

int features__init_clock(struct perf_session *session, const struct record_opts *opts)
{
	struct perf_env *env = &session->header.env;
	struct timespec clock, tod;

	if (!opts->use_clockid)
		return 0;
	if (clock_gettime(opts->clockid, &clock) || clock_gettime(CLOCK_REALTIME, &tod)) {
		int err = -errno;

		pr_err("Cannot read the clock of -k: %s\n", strerror(-err));
		return err;
	}
	env->clock.clockid	  = opts->clockid;
	env->clock.clockid_ns	  = ns(&clock);
	env->clock.clockid_res_ns = opts->clockid_res_ns;
	env->clock.tod_ns	  = ns(&tod);
	if (opts->clockid_res_ns)
		perf_header__set_feat(&session->header, HEADER_CLOCKID);
	perf_header__set_feat(&session->header, HEADER_CLOCK_DATA);
	return 0;
}

void features__read_back(struct output *output)
{
	struct evlist *evlist = output->evlist;

	evlist->first_sample_time = evlist->last_sample_time = 0;
	symbol_conf.ignore_vmlinux_buildid = true;	/* that of the running kernel counts */
	if (perf_session__process_events(output->session) < 0)
		pr_warning("Reading %s back failed: it will have no build-ids.\n",
			   output->data.path);
	if (output->all_build_ids)
		perf_session__dsos_hit_all(output->session);
}
