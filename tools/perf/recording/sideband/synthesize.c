// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include "util/debug.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/machine.h"
#include "util/record.h"
#include "util/session.h"
#include "util/synthetic-events.h"
#include "util/util.h"
#include "recording/output/output.h"
#include "synthesize.h"

/* Flush each record: util itself writes to the pipe next. */
static int write_through(const struct perf_tool *tool, union perf_event *event,
			 struct perf_sample *sample, struct machine *machine)
{
	struct output *output = container_of(tool, struct output, tool);

	return output__write_synthesized(tool, event, sample, machine) ?: output__flush(output);
}

int synthesize__describe(struct output *output, const struct perf_event_mmap_page *page)
{
	struct perf_session *session = output->session;
	const struct perf_tool *tool = &output->tool;
	struct machine *host = &session->machines.host;
	bool pipe = output__is_pipe(output);
	int err;

	if (pipe) {
		err = perf_event__synthesize_for_pipe(tool, session, &output->data, write_through);
		if (err < 0)
			return err;
	}
	err = perf_event__synth_time_conv(page, tool, output__write_synthesized, host);
	if (!err)
		err = perf_event__synthesize_id_index(tool, output__write_synthesized,
						      output->evlist, host);
	if (!err)
		err = perf_event__synthesize_extra_attr(tool, output->evlist,
							output__write_synthesized, pipe);
	if (!err)
		err = perf_event__synthesize_thread_map2(tool, output->evlist->core.threads,
							 output__write_synthesized, NULL);
	if (!err)
		err = perf_event__synthesize_cpu_map(tool, output->evlist->core.all_cpus,
						     output__write_synthesized, NULL);
	if (err < 0)
		pr_err("Cannot write the description of the events to the output.\n");
	return err < 0 ? err : 0;
}

/* Which records are synthesized, and where they go; see synthesize__system(). */
struct synthesis {
	struct output		*output;
	const struct perf_tool	*tool;
	struct record_opts	*opts;
	struct machine		*host;
	perf_event__handler_t	 handle;
	bool			 data_maps;
	bool			 began;
};

static void synthesize_guest(struct machine *guest, void *data)
{
	struct synthesis *synthesis = data;
	const struct perf_tool *tool = synthesis->tool;

	if (machine__is_default_guest(guest) &&
	    perf_event__synthesize_kernel_mmap(tool, synthesis->handle, guest) < 0)
		pr_warning("Cannot synthesize the map of the guests' kernel.\n");
	if (perf_event__synthesize_modules(tool, synthesis->handle, guest) < 0)
		pr_warning("Cannot synthesize the maps of the guests' modules.\n");
}

/* Ordinary users may not read these: kernel samples then show addresses. */
static void synthesize_kernel(struct synthesis *synthesis)
{
	const struct perf_tool *tool = synthesis->tool;

	if (perf_event__synthesize_kernel_mmap(tool, synthesis->handle, synthesis->host) < 0)
		pr_warning("Cannot synthesize the kernel's map: kernel symbols will not resolve.\n"
			   "Check /proc/kallsyms and /proc/sys/kernel/kptr_restrict.\n");
	if (perf_event__synthesize_modules(tool, synthesis->handle, synthesis->host) < 0)
		pr_warning("Cannot synthesize the maps of kernel modules: check /proc/modules.\n");
}

/* Return: whether the command has been forked, and waits for the start of the recording. */
static bool command_waits(const struct evlist *evlist)
{
	return evlist->workload.pid > 0 && evlist->workload.cork_fd >= 0;
}

/*
 * Synthesize the tasks in the thread map: those of -p, -t and -u, or the command that waits to be
 * started. It is a fork of perf still, whose maps exec() replaces before the first sample. Once the
 * recording has begun, they may have descendants, which the map does not have; and util fails for
 * the whole map if one of its tasks has exited. In both cases, synthesize all tasks in /proc: more
 * than needed does no harm.
 */
static int synthesize_tasks(struct synthesis *synthesis)
{
	const struct perf_tool *tool = synthesis->tool;
	struct record_opts *opts = synthesis->opts;
	struct output *output = synthesis->output;
	bool single = perf_singlethreaded;
	bool waits = target__none(&opts->target) && command_waits(output->evlist);
	bool maps = (opts->synth & PERF_SYNTH_MMAP) && !waits;
	int err = -1;

	if (!synthesis->began && (target__has_task(&opts->target) || waits))
		err = perf_event__synthesize_thread_map(tool, output->evlist->core.threads,
							synthesis->handle, synthesis->host, maps,
							synthesis->data_maps);
	if (err < 0 && !output->err) {
		perf_set_multithreaded();	/* util's locks are real ones then */
		err = perf_event__synthesize_threads(tool, synthesis->handle, synthesis->host,
						     maps, synthesis->data_maps,
						     opts->nr_threads_synthesize);
		if (single)
			perf_set_singlethreaded();
	}
	if (err < 0 && !output->err) {
		err = errno == EMFILE ? -EMFILE : err;	/* the caller explains the limit */
		pr_err("Cannot synthesize records of the running tasks from /proc: %m\n");
	}
	return output->err ?: err;
}

int synthesize__system(struct output *output, const struct perf_tool *tool,
		       struct record_opts *opts, bool data_maps, bool began,
		       perf_event__handler_t handle)
{
	struct perf_session *session = output->session;
	struct machine *host = &session->machines.host;
	struct synthesis synthesis = { output, tool, opts, host, handle, data_maps, began };
	int err = 0;

	if (!evlist__exclude_kernel(output->evlist))
		synthesize_kernel(&synthesis);
	if (perf_guest)
		machines__process_guests(&session->machines, synthesize_guest, &synthesis);

	session->tool = tool;		/* of BPF programs util calls back with this one */
	if (perf_event__synthesize_bpf_events(session, handle, host, opts) < 0)
		pr_warning("Cannot synthesize records of the BPF programs that are loaded.\n");
	session->tool = &output->tool;

	if (opts->record_cgroup && (opts->synth & PERF_SYNTH_CGROUP) &&
	    perf_event__synthesize_cgroups(tool, handle, host) < 0)
		pr_warning("Cannot synthesize records of the cgroups.\n");

	if (opts->synth & PERF_SYNTH_TASK)
		err = synthesize_tasks(&synthesis);
	return err < 0 ? err : 0;
}
