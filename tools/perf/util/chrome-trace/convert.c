// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convert a perf.data file for the trace viewers that read the Trace Event Format of Chrome.
 *
 * Pass each record, in the order of time, to the timeline. timeline.h says what becomes of them.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <internal/overwrite-kind.h>
#include <linux/time64.h>
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
#include "page.h"
#include "stack.h"
#include "timeline.h"

/* Multiples of this are subtracted from times: viewers have 53 bits, also for fractions of a us. */
#define TIME_MODULUS	(1000000ULL * NSEC_PER_SEC)

/**
 * struct chrome - a conversion
 * @base:	input and output
 * @timeline:	what is drawn
 * @ids:	whom records belong to
 * @html:	write a page that contains the trace
 * @switch_event: the file has the tracepoint sched:sched_switch
 */
struct chrome {
	struct conversion	base;
	struct timeline		timeline;
	struct task_ids		ids;
	bool			html;
	bool			switch_event;
};

static struct chrome *of_tool(const struct perf_tool *tool)
{
	return container_of(tool, struct chrome, base.tool);
}

/* Look at the events, which are known before the first sample, in pipes as well. */
static void begin_timeline(struct chrome *conv, u64 time)
{
	struct evsel *evsel;

	if (conv->timeline.host)
		return;
	evlist__for_each_entry(conv->base.session->evlist, evsel) {
		const struct event_fields *fields = fields__get(evsel);

		conv->switch_event |= fields && fields->kind == SAMPLE_SWITCH;
		conv->timeline.switches |= evsel->core.attr.context_switch;
	}
	conv->timeline.switches |= conv->switch_event;
	conv->timeline.events.base = time - time % TIME_MODULUS;
	conv->timeline.host = task_ids__machine(&conv->ids);
}

/* ---- samples */

/* The bits are those of the kernel's TASK_REPORT; none means runnable, the one above preempted. */
static enum off_cpu off_cpu_of(s64 prev_state)
{
	if (prev_state & 0x30)
		return OFF_CPU_DEAD;
	if (prev_state & 0x2)
		return OFF_CPU_BLOCKED;
	if (prev_state & 0x0c)
		return OFF_CPU_STOPPED;
	return prev_state & 0xff ? OFF_CPU_SLEEPING : OFF_CPU_RUNNABLE;
}

static void convert_switch(struct chrome *conv, struct evsel *evsel, struct perf_sample *sample,
			   const struct moment *at, struct thread *thread)
{
	const struct event_fields *fields = fields__get(evsel);
	s64 state = fields__number(evsel, sample, fields->prev_state, 0);
	struct moment prev = *at, next = *at;
	char comm[COMM_SIZE];

	if (prev.tid < 0) {
		prev.tid = fields__number(evsel, sample, fields->prev_pid, -1);
		prev.pid = -1;
	}
	if (timeline__begin_off_cpu(&conv->timeline, &prev, off_cpu_of(state))) {
		stack__write(&conv->timeline.events, evsel, sample, thread);
		chrome_event__end(&conv->timeline.events);
	}
	timeline__switch_out(&conv->timeline, at);
	next.pid = -1;
	next.tid = fields__number(evsel, sample, fields->pid, -1);
	fields__comm(sample, fields->comm, comm);
	timeline__switch_in(&conv->timeline, &next, comm);
}

static const char *syscall_of(struct chrome *conv, struct evsel *evsel,
			      const struct perf_sample *sample, char *buffer, size_t size)
{
	const struct event_fields *fields = fields__get(evsel);
	s64 id = fields__number(evsel, sample, fields->id, -1);
	const char *name = fields->syscall;

	if (!name && id >= 0 && id <= INT_MAX)
		name = session__syscall_name(conv->base.session, id);
	if (name)
		return name;
	snprintf(buffer, size, "system call %" PRId64, id);
	return buffer;
}

static void write_text(void *events, const char *name, const char *text, size_t size)
{
	json__bytes(chrome_event__args(events), name, text, size);
}

static void write_number(void *events, const char *name, s64 number, bool hex)
{
	if (hex)
		chrome_event__arg_hex(events, name, number);
	else
		chrome_event__arg_number(events, name, number);
}

static void convert_other(struct chrome *conv, struct evsel *evsel, struct perf_sample *sample,
			  const struct moment *at, struct thread *thread)
{
	static const struct field_sink sink = { .text = write_text, .number = write_number };
	struct chrome_events *events = &conv->timeline.events;

	timeline__begin_point(&conv->timeline, at, evsel__name(evsel));
	chrome_event__arg_number(events, "CPU", at->cpu);
	if (evsel->core.attr.type == PERF_TYPE_TRACEPOINT)
		fields__pass(evsel, sample, &sink, events);
	stack__write_place(events, evsel, sample, &conv->base.session->machines.host);
	stack__write(events, evsel, sample, thread);
	chrome_event__end(events);
}

static void convert_sample(struct chrome *conv, struct evsel *evsel, struct perf_sample *sample,
			   const struct moment *at, struct thread *thread)
{
	const struct event_fields *fields = fields__get(evsel);
	struct timeline *tl = &conv->timeline;
	char name[64], comm[COMM_SIZE];

	switch (fields->kind) {
	case SAMPLE_SWITCH:
		convert_switch(conv, evsel, sample, at, thread);
		break;
	case SAMPLE_WAKEUP:
		fields__comm(sample, fields->comm, comm);
		timeline__wakeup(tl, at, fields__number(evsel, sample, fields->pid, -1), comm);
		break;
	case SAMPLE_SYSCALL_ENTER:
		timeline__begin_syscall(tl, at,
					syscall_of(conv, evsel, sample, name, sizeof(name)));
		stack__write(&tl->events, evsel, sample, thread);
		chrome_event__end(&tl->events);
		break;
	case SAMPLE_SYSCALL_EXIT:
		timeline__end_syscall(tl, at, syscall_of(conv, evsel, sample, name, sizeof(name)),
				      fields__number(evsel, sample, fields->ret, 0));
		break;
	case SAMPLE_SNAPSHOT:
		timeline__snapshot(tl, at, sample->raw_data ?: "", sample->raw_size);
		break;
	case SAMPLE_OTHER:
	default:
		convert_other(conv, evsel, sample, at, thread);
		break;
	}
}

static int process_sample(const struct perf_tool *tool, union perf_event *event __maybe_unused,
			  struct perf_sample *sample, struct evsel *evsel, struct machine *machine)
{
	struct chrome *conv = of_tool(tool);
	struct thread *thread;
	struct moment at;
	int err;

	if (!fields__get(evsel))
		return -ENOMEM;
	err = task_ids__sample(&conv->ids, evsel, sample, machine, &at, &thread);
	if (err)
		return err < 0 ? err : 0;
	begin_timeline(conv, sample->time);
	/* perf and its BPF programs write such samples where and when they like. */
	if (!evsel__is_bpf_output(evsel)) {
		if (timeline__sample(&conv->timeline, &at,
				     !perf_overwrite__is_configured(&evsel->core.attr))) {
			thread__put(thread);
			return -ENOMEM;
		}
		timeline__running(&conv->timeline, &at);
	}
	convert_sample(conv, evsel, sample, &at, thread);
	thread__put(thread);
	conv->base.nr_samples++;
	return conv->base.err = -conv->timeline.events.err;
}
DEFINE_SAMPLE_CALLBACK(sample_callback, process_sample)

/* ---- other records */

/* A record of a switch repeats what the tracepoint says, with less detail. */
static int process_switch(const struct perf_tool *tool, union perf_event *event,
			  struct perf_sample *sample, struct machine *machine)
{
	struct chrome *conv = of_tool(tool);
	bool preempted = event->header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	struct moment at;

	if (!machine__is_host(machine) || !has_time(sample) ||
	    conversion__omits(&conv->base, sample))
		return 0;
	at = task_ids__record(&conv->ids, sample, sample->pid, sample->tid);
	begin_timeline(conv, sample->time);
	if (conv->switch_event)
		return 0;
	if (timeline__sample(&conv->timeline, &at, false))
		return -ENOMEM;
	if (!(event->header.misc & PERF_RECORD_MISC_SWITCH_OUT)) {
		if (at.cpu >= 0)
			timeline__switch_out(&conv->timeline, &at);
		timeline__switch_in(&conv->timeline, &at, "");
		return 0;
	}
	timeline__running(&conv->timeline, &at);
	if (timeline__begin_off_cpu(&conv->timeline, &at,
				    preempted ? OFF_CPU_RUNNABLE : OFF_CPU_SLEEPING))
		chrome_event__end(&conv->timeline.events);
	timeline__switch_out(&conv->timeline, &at);
	return 0;
}

static int process_comm(const struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct machine *machine)
{
	struct chrome *conv = of_tool(tool);
	int pid = event->comm.pid, tid = event->comm.tid;
	struct moment at = task_ids__record(&conv->ids, sample, pid, tid);
	int err = perf_event__process_comm(tool, event, sample, machine);

	task_ids__named(&conv->ids, &at, pid, tid);
	if (!err && conv->timeline.host && machine__is_host(machine) && has_time(sample) &&
	    !conversion__omits(&conv->base, sample))
		timeline__renamed(&conv->timeline, &at);
	return err;
}

static int draw_loss(struct conversion *base, const struct loss *loss)
{
	return timeline__lost(&container_of(base, struct chrome, base)->timeline, loss);
}

/* Close what a task has open before perf forgets it; a new task may have the tid of an old one. */
static int process_task(const struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct machine *machine)
{
	struct chrome *conv = of_tool(tool);
	struct moment at = task_ids__record(&conv->ids, sample, event->fork.pid, event->fork.tid);
	bool exits = event->header.type == PERF_RECORD_EXIT;

	at.time = has_time(sample) ? sample->time : 0;
	if (conv->timeline.host && machine__is_host(machine))
		(exits ? timeline__exited : timeline__replaced)(&conv->timeline, &at);
	return exits ? perf_event__process_exit(tool, event, sample, machine) :
		       perf_event__process_fork(tool, event, sample, machine);
}

static void set_callbacks(struct chrome *conv)
{
	struct perf_tool *tool = &conv->base.tool;

	tool->sample = sample_callback;
	tool->comm = process_comm;
	tool->fork = process_task;
	tool->exit = process_task;
	tool->context_switch = process_switch;
	stacks__set_callbacks(tool);
	conv->base.lost = draw_loss;
}

/* ---- files */

static void write_other(struct chrome *conv)
{
	const struct perf_env *env = &conv->base.session->header.env;
	struct json *json = &conv->timeline.events.json;
	const struct { const char *key, *text; } texts[] = {
		{ "hostname", env->hostname }, { "release", env->os_release },
		{ "perf", env->version },
	};
	size_t i;

	fputs("\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":", json->file);
	json->comma = false;
	json__open(json, NULL, '{');
	json__number(json, "offset_s", conv->timeline.events.base / NSEC_PER_SEC);
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		if (texts[i].text)
			json__text(json, texts[i].key, texts[i].text);
	}
	json__close(json, '}');
	fputs("}\n", json->file);
}

/* Return: 0, or -1 after an error message, or with base.err. */
static int write_trace(struct conversion *base)
{
	struct chrome *conv = container_of(base, struct chrome, base);
	FILE *file = base->file;

	conv->timeline.events.json.file = file;
	if (conv->html)
		page__begin(file);
	fputs("{\"traceEvents\":[", file);
	if (conversion__read(base))
		return -1;
	timeline__finish(&conv->timeline);
	write_other(conv);
	if (conv->html)
		page__end(file);
	base->err = -conv->timeline.events.err;
	return 0;
}

int convert__perf2chrome(const char *input, const char *output, bool html,
			 const struct perf_data_convert_opts *opts)
{
	struct chrome conv = { .html = html };
	int err;

	conversion__init(&conv.base, html ? "html" : "chrome");
	set_callbacks(&conv);
	timeline__init(&conv.timeline);
	task_ids__init(&conv.ids, &conv.base);
	err = conversion__run(&conv.base, &conv.ids, input, output, opts, write_trace);
	timeline__exit(&conv.timeline);
	return err;
}
