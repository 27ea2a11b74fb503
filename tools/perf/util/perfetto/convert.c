// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convert a perf.data file to a trace of Perfetto, for ui.perfetto.dev and for questions in SQL.
 *
 * Samples of tracepoints and of bpf-output become events of ftrace (ftrace.h), all others, and
 * those with a stack, become samples (samples.h). Names, snapshots and losses are in tracks.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <internal/overwrite-kind.h>
#include "recording/lib/compat.h"
#include "util/convert/common.h"
#include "util/convert/fields.h"
#include "util/convert/run.h"
#include "util/convert/stacks.h"
#include "util/convert/task_ids.h"
#include "util/debug.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/machine.h"
#include "util/sample.h"
#include "util/session.h"
#include "util/symbol.h"
#include "util/thread.h"
#include "util/tool.h"
#include "convert.h"
#include "ftrace.h"
#include "samples.h"
#include "tracks.h"

#define MAX_CPUS	(1 << 16)	/* memory is allocated for each one up to the last */
#define MAX_MACHINE	255

/**
 * struct perfetto - a conversion
 * @base:	input and output
 * @ids:	whom records belong to
 * @packets:	the output
 * @ftrace:	samples of tracepoints
 * @samples:	samples with a place or a stack
 * @tracks:	names, snapshots, losses
 * @begun:	the machine was written: its features are known before the first sample
 * @nr_without_cpu: samples of tracepoints that could not be converted
 */
struct perfetto {
	struct conversion	base;
	struct task_ids		ids;
	struct packets		packets;
	struct ftrace		ftrace;
	struct samples		samples;
	struct tracks		tracks;
	bool			begun;
	u64			nr_without_cpu;
};

static struct perfetto *of_tool(const struct perf_tool *tool)
{
	return container_of(tool, struct perfetto, base.tool);
}

static int begin(struct perfetto *conv)
{
	if (conv->begun)
		return 0;
	conv->begun = true;
	conv->packets.file = conv->base.file;
	ftrace__prepare(&conv->ftrace, conv->base.session->evlist);
	return tracks__write_machine(&conv->tracks, &conv->base.session->header.env);
}

static int convert_sample(struct perfetto *conv, struct evsel *evsel, struct perf_sample *sample,
			  const struct moment *at, struct thread *thread)
{
	bool event = evsel->core.attr.type == PERF_TYPE_TRACEPOINT ||
		     (evsel__is_bpf_output(evsel) && at->cpu >= 0);
	int err = 0;

	if (fields__get(evsel)->kind == SAMPLE_SNAPSHOT)
		return tracks__snapshot(&conv->tracks, at, sample->raw_data ?: "",
					sample->raw_size);
	/* perf and its BPF programs write such samples where and when they like. */
	if (!evsel__is_bpf_output(evsel))
		err = tracks__sample(&conv->tracks, at,
				     !perf_overwrite__is_configured(&evsel->core.attr));
	if (!err && event)
		err = ftrace__add(&conv->ftrace, evsel, sample, at);
	if (!err && (!event || sample->callchain))
		err = samples__add(&conv->samples, evsel, sample, at,
				   &conv->base.session->machines.host, thread);
	return err;
}

static int process_sample(const struct perf_tool *tool, union perf_event *event __maybe_unused,
			  struct perf_sample *sample, struct evsel *evsel, struct machine *machine)
{
	struct perfetto *conv = of_tool(tool);
	struct thread *thread;
	struct moment at;
	int err;

	if (!fields__get(evsel))
		return -ENOMEM;
	if (evsel->core.attr.type == PERF_TYPE_TRACEPOINT && sample->cpu >= MAX_CPUS) {
		conv->nr_without_cpu++;
		return 0;
	}
	err = task_ids__sample(&conv->ids, evsel, sample, machine, &at, &thread);
	if (err)
		return err < 0 ? err : 0;
	if (at.cpu >= MAX_CPUS)
		at.cpu = -1;
	err = begin(conv) ?: convert_sample(conv, evsel, sample, &at, thread);
	thread__put(thread);
	conv->base.nr_samples++;
	return conv->base.err = err;
}
DEFINE_SAMPLE_CALLBACK(sample_callback, process_sample)

static u64 time_of(const struct perf_sample *sample)
{
	return has_time(sample) ? sample->time : 0;
}

/* Samples of the time span need the names and processes that tasks got before. */
static int process_comm(const struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct machine *machine)
{
	struct perfetto *conv = of_tool(tool);
	int pid = event->comm.pid, tid = event->comm.tid;
	struct moment at = task_ids__record(&conv->ids, sample, pid, tid);
	int err = perf_event__process_comm(tool, event, sample, machine);

	task_ids__named(&conv->ids, &at, pid, tid);
	if (err || !machine__is_host(machine) || conversion__is_over(&conv->base, sample))
		return err;
	return conv->base.err = begin(conv) ?:
	       tracks__task(&conv->tracks, time_of(sample), at.pid, at.tid, -1, event->comm.comm);
}

/* A process has a parent, a thread a process. Both begin with the name of the parent. */
static int process_fork(const struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct machine *machine)
{
	struct perfetto *conv = of_tool(tool);
	struct moment at = task_ids__record(&conv->ids, sample, event->fork.pid, event->fork.tid);
	struct moment parent = task_ids__record(&conv->ids, sample, event->fork.ppid,
						event->fork.ptid);
	int err = perf_event__process_fork(tool, event, sample, machine);
	struct thread *thread;

	if (err || !machine__is_host(machine) || conversion__is_over(&conv->base, sample))
		return err;
	thread = machine__find_thread(machine, event->fork.pid, event->fork.tid);
	err = begin(conv) ?:
	      tracks__task(&conv->tracks, time_of(sample), at.pid, at.tid, parent.pid,
			   thread && thread__comm_set(thread) ? thread__comm_str(thread) : NULL);
	thread__put(thread);
	return conv->base.err = err;
}

static int process_loss(struct conversion *base, const struct loss *loss)
{
	struct perfetto *conv = container_of(base, struct perfetto, base);

	return base->err = begin(conv) ?: tracks__lost(&conv->tracks, loss);
}

static void set_callbacks(struct perfetto *conv)
{
	struct perf_tool *tool = &conv->base.tool;

	tool->sample = sample_callback;
	tool->comm = process_comm;
	tool->fork = process_fork;
	stacks__set_callbacks(tool);
	conv->base.lost = process_loss;
}

/* Return: 0, or -1 after an error message, or with base.err. */
static int write_trace(struct conversion *base)
{
	struct perfetto *conv = container_of(base, struct perfetto, base);

	if (conversion__read(base))
		return -1;
	base->err = begin(conv) ?: ftrace__flush(&conv->ftrace) ?: tracks__finish(&conv->tracks) ?:
		    packets__flush(&conv->packets);
	return base->err ? -1 : 0;
}

/* Return: 0, or -1 after an error message. */
static int parse_machine(struct trace_machine *machine, const char *text)
{
	int len = 0;

	if (sscanf(text, "%u:%" SCNd64 ":%" SCNu64 ":%n", &machine->id, &machine->shift,
		   &machine->bound, &len) == 3 &&
	    len && text[len] && machine->id >= 1 && machine->id <= MAX_MACHINE) {
		machine->name = text + len;
		return 0;
	}
	pr_err("Cannot use --machine=%s: use <id>:<offset>:<bound>:<name>, with an id from 1 to %d\n",
	       text, MAX_MACHINE);
	return -1;
}

int convert__perf2perfetto(const char *input, const char *output, const char *machine,
			   const struct perf_data_convert_opts *opts)
{
	struct perfetto conv = { .begun = false };
	int err;

	if (machine && parse_machine(&conv.packets.machine, machine))
		return -1;
	conversion__init(&conv.base, "perfetto");
	set_callbacks(&conv);
	task_ids__init(&conv.ids, &conv.base);
	ftrace__init(&conv.ftrace, &conv.packets);
	samples__init(&conv.samples, &conv.packets);
	tracks__init(&conv.tracks, &conv.packets);
	err = conversion__run(&conv.base, &conv.ids, input, output, opts, write_trace);
	if (!err)
		conversion__report_omitted(conv.nr_without_cpu,
					   "without a CPU: record with --sample-cpu");
	ftrace__exit(&conv.ftrace);
	samples__exit(&conv.samples);
	tracks__exit(&conv.tracks);
	packets__exit(&conv.packets);
	return err;
}
