// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convert a perf.data file for the trace viewers that read the Trace Event Format of Chrome.
 *
 * Reads the records in the order of time, and passes each one to the timeline. timeline.h says what
 * becomes of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <internal/overwrite-kind.h>
#include <linux/err.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include "recording/lib/compat.h"
#include "util/data.h"
#include "util/data-convert.h"
#include "util/debug.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/header.h"
#include "util/machine.h"
#include "util/sample.h"
#include "util/session.h"
#include "util/symbol.h"
#include "util/thread.h"
#include "util/time-utils.h"
#include "util/tool.h"
#include "convert.h"
#include "util/convert/fields.h"
#include "page.h"
#include "util/convert/pid_map.h"
#include "stack.h"
#include "timeline.h"

/* Multiples of this are subtracted from times: viewers have 53 bits, also for fractions of a us. */
#define TIME_MODULUS	(1000000ULL * NSEC_PER_SEC)

/**
 * struct conversion
 * @tool:	callbacks
 * @session:	input
 * @timeline:	output
 * @pids:	initial ids of tasks, if the file was recorded in a PID namespace
 * @tasks:	the same tasks as @session has, by their initial ids; in a namespace only
 * @html:	write a page that contains the trace
 * @switch_event: the file has the tracepoint sched:sched_switch
 * @ranges:	times to convert; others are left out
 * @nr_ranges:	number of @ranges
 * @nr_samples:	converted samples
 * @nr_without_time: samples that could not be converted
 * @nr_unknown:	samples of tasks whose initial ids are not known
 */
struct conversion {
	struct perf_tool		 tool;
	struct perf_session		*session;
	struct timeline			 timeline;
	struct pid_map			 pids;
	struct machine			 tasks;
	bool				 html;
	bool				 switch_event;
	struct perf_time_interval	*ranges;
	int				 nr_ranges;
	u64				 nr_samples;
	u64				 nr_without_time;
	u64				 nr_unknown;
};

static bool has_time(const struct perf_sample *sample)
{
	return sample->time && sample->time != -1ULL;
}

static bool is_left_out(const struct conversion *conv, const struct perf_sample *sample)
{
	return conv->ranges &&
	       perf_time__ranges_skip_sample(conv->ranges, conv->nr_ranges, sample->time);
}

static struct moment moment_of(const struct perf_sample *sample)
{
	return (struct moment){ sample->time, (int)sample->cpu, (int)sample->pid, (int)sample->tid };
}

/* Replace the ids of a task in the recorder's namespace, whose own id is 0 outside it. */
static void use_initial_ids(struct conversion *conv, struct moment *at, int common_pid)
{
	if (!conv->pids.in_namespace)
		return;
	at->pid = pid_map__initial(&conv->pids, at->pid);
	at->tid = common_pid > 0 ? common_pid : pid_map__initial(&conv->pids, at->tid);
}

/* Give a task of @conv->tasks the name that it has by its id in the namespace. */
static void copy_name(struct conversion *conv, const struct moment *at, struct thread *named)
{
	struct thread *thread;

	if (!conv->pids.in_namespace || at->tid <= 0 || !named || thread__tid(named) <= 0 ||
	    !thread__comm_set(named))
		return;
	thread = machine__findnew_thread(&conv->tasks, at->pid, at->tid);
	if (thread && (!thread__comm_set(thread) ||
		       strcmp(thread__comm_str(thread), thread__comm_str(named))))
		thread__set_comm(thread, thread__comm_str(named), at->time);
	thread__put(thread);
}

/* Look at the events, which are known before the first sample, in pipes as well. */
static void begin_timeline(struct conversion *conv, u64 time)
{
	struct evsel *evsel;

	if (conv->timeline.host)
		return;
	evlist__for_each_entry(conv->session->evlist, evsel) {
		const struct event_fields *fields = fields__get(evsel);

		conv->switch_event |= fields && fields->kind == SAMPLE_SWITCH;
		conv->timeline.switches |= evsel->core.attr.context_switch;
	}
	conv->timeline.switches |= conv->switch_event;
	conv->timeline.events.base = time - time % TIME_MODULUS;
	conv->timeline.host = conv->pids.in_namespace ? &conv->tasks :
							&conv->session->machines.host;
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

static void convert_switch(struct conversion *conv, struct evsel *evsel, struct perf_sample *sample,
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

static const char *syscall_of(struct conversion *conv, struct evsel *evsel,
			      const struct perf_sample *sample, char *buffer, size_t size)
{
	const struct event_fields *fields = fields__get(evsel);
	s64 id = fields__number(evsel, sample, fields->id, -1);
	const char *name = fields->syscall;

	if (!name && id >= 0 && id <= INT_MAX)
		name = session__syscall_name(conv->session, id);
	if (name)
		return name;
	snprintf(buffer, size, "system call %" PRId64, id);
	return buffer;
}

static void convert_other(struct conversion *conv, struct evsel *evsel, struct perf_sample *sample,
			  const struct moment *at, struct thread *thread)
{
	struct chrome_events *events = &conv->timeline.events;

	timeline__begin_point(&conv->timeline, at, evsel__name(evsel));
	chrome_event__arg_number(events, "CPU", at->cpu);
	if (evsel->core.attr.type == PERF_TYPE_TRACEPOINT)
		fields__write(events, evsel, sample);
	stack__write_place(events, evsel, sample, &conv->session->machines.host);
	stack__write(events, evsel, sample, thread);
	chrome_event__end(events);
}

static void convert_sample(struct conversion *conv, struct evsel *evsel, struct perf_sample *sample,
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
		timeline__begin_syscall(tl, at, syscall_of(conv, evsel, sample, name, sizeof(name)));
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
	struct conversion *conv = container_of(tool, struct conversion, tool);
	const struct event_fields *fields = fields__get(evsel);
	struct moment at = moment_of(sample);
	struct thread *thread;
	int common_pid = 0;

	if (!fields)
		return -ENOMEM;
	if (!machine__is_host(machine))
		return 0;
	if (!has_time(sample)) {
		conv->nr_without_time++;
		return 0;
	}
	if (is_left_out(conv, sample))
		return 0;
	if (pid_map__differs(evsel, sample) && !conv->pids.in_namespace) {
		pr_err("Cannot convert a pipe that was recorded in a PID namespace: record to a file\n");
		return -(conv->timeline.events.err = EOPNOTSUPP);
	}
	if (conv->pids.in_namespace) {
		common_pid = pid_map__common_pid(evsel, sample);
		if (pid_map__learn(&conv->pids, evsel, sample))
			return -ENOMEM;
	}
	thread = machine__findnew_thread(machine, at.pid, at.tid);
	use_initial_ids(conv, &at, common_pid);
	conv->nr_unknown += conv->pids.in_namespace && at.tid < 0 && (int)sample->tid >= 0;
	copy_name(conv, &at, thread);
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
	conv->nr_samples++;
	return -conv->timeline.events.err;
}
DEFINE_SAMPLE_CALLBACK(sample_callback, process_sample)

/* ---- other records */

/* A record of a switch repeats what the tracepoint says, with less detail. */
static int process_switch(const struct perf_tool *tool, union perf_event *event,
			  struct perf_sample *sample, struct machine *machine)
{
	struct conversion *conv = container_of(tool, struct conversion, tool);
	struct moment at = moment_of(sample);
	bool preempted = event->header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;

	if (!machine__is_host(machine) || !has_time(sample) || is_left_out(conv, sample))
		return 0;
	use_initial_ids(conv, &at, 0);
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
	struct conversion *conv = container_of(tool, struct conversion, tool);
	struct moment at = { sample->time, -1, (int)event->comm.pid, (int)event->comm.tid };
	int err = perf_event__process_comm(tool, event, sample, machine);
	struct thread *thread = machine__find_thread(machine, at.pid, at.tid);

	use_initial_ids(conv, &at, 0);
	copy_name(conv, &at, thread);
	thread__put(thread);
	if (!err && conv->timeline.host && machine__is_host(machine) && has_time(sample) &&
	    !is_left_out(conv, sample))
		timeline__renamed(&conv->timeline, &at);
	return err;
}

static int process_lost(const struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	struct conversion *conv = container_of(tool, struct conversion, tool);
	struct moment at = moment_of(sample);

	use_initial_ids(conv, &at, 0);
	if (!has_time(sample))
		at.time = 0;
	else if (is_left_out(conv, sample))
		return 0;
	return timeline__lost(&conv->timeline, &at, event->lost.lost);
}

/*
 * Add the kernel's counters, or perf's. They are records at the end of the file, but without a
 * time: perf passes them on before those that wait to be sorted.
 */
static int process_lost_samples(const struct perf_tool *tool, union perf_event *event,
				struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	struct conversion *conv = container_of(tool, struct conversion, tool);
	const struct perf_sample_id *sid;
	int cpu = sample->cpu;

	if (has_time(sample) && is_left_out(conv, sample))
		return 0;
	sid = evlist__id2sid(conv->session->evlist, sample->id);
	if (!has_time(sample) && sid)
		cpu = sid->cpu.cpu;
	return timeline__count(&conv->timeline, cpu,
			       event->header.misc & PERF_RECORD_MISC_LOST_SAMPLES_BPF ?
			       COUNT_FILTERED : COUNT_LOST_IN_ALL, event->lost_samples.lost);
}

/* Close what a task has open before perf forgets it; a new task may have the tid of an old one. */
static int process_task(const struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct machine *machine)
{
	struct conversion *conv = container_of(tool, struct conversion, tool);
	struct moment at = { has_time(sample) ? sample->time : 0, -1,
			     (int)event->fork.pid, (int)event->fork.tid };
	bool exits = event->header.type == PERF_RECORD_EXIT;

	use_initial_ids(conv, &at, 0);
	if (conv->timeline.host && machine__is_host(machine))
		(exits ? timeline__exited : timeline__replaced)(&conv->timeline, &at);
	return exits ? perf_event__process_exit(tool, event, sample, machine) :
		       perf_event__process_fork(tool, event, sample, machine);
}

/* In a pipe, events and features are records, and a feature of no known number is the last. */
static int process_attr(const struct perf_tool *tool, union perf_event *event,
			struct evlist **pevlist)
{
	int err = perf_event__process_attr(tool, event, pevlist);

	if (!err)
		stack__prepare(evlist__last(*pevlist));
	return err;
}

static int read_feature(struct perf_session *session, union perf_event *event)
{
	return event->feat.feat_id < HEADER_LAST_FEATURE ? process_feature(session, event) : 0;
}
DEFINE_SESSION_CALLBACK(feature_callback, read_feature)

static void init_tool(struct perf_tool *tool)
{
	perf_tool__init(tool, /*ordered_events=*/true);
	tool->sample = sample_callback;
	tool->mmap = perf_event__process_mmap;
	tool->mmap2 = perf_event__process_mmap2;
	tool->comm = process_comm;
	tool->namespaces = perf_event__process_namespaces;
	tool->fork = process_task;
	tool->exit = process_task;
	tool->lost = process_lost;
	tool->lost_samples = process_lost_samples;
	tool->context_switch = process_switch;
	tool->ksymbol = perf_event__process_ksymbol;
	tool->bpf = perf_event__process_bpf;
	tool->text_poke = perf_event__process_text_poke;
	tool->attr = process_attr;
	tool->event_update = perf_event__process_event_update;
	tool->tracing_data = perf_event__process_tracing_data;
	tool->build_id = perf_event__process_build_id;
	tool->id_index = perf_event__process_id_index;
	tool->feature = feature_callback;
	tool->ordering_requires_timestamps = true;
}

/* ---- files */

static void write_other(struct conversion *conv)
{
	const struct perf_env *env = session__env(conv->session);
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

/* Return: 0, or a negative errno after an error message. */
static int write_trace(struct conversion *conv)
{
	int err;

	if (conv->html)
		page__begin(conv->timeline.events.json.file);
	fputs("{\"traceEvents\":[", conv->timeline.events.json.file);
	err = perf_session__process_events(conv->session);
	if (err && !conv->timeline.events.err) {
		pr_err("Cannot read %s: %s\n", conv->session->data->path,
		       err < -1 ? strerror(-err) : "the file is damaged");
		return err;
	}
	timeline__finish(&conv->timeline);
	write_other(conv);
	if (conv->html)
		page__end(conv->timeline.events.json.file);
	return 0;
}

static int open_session(struct conversion *conv, struct perf_data *data,
			const struct perf_data_convert_opts *opts)
{
	struct evsel *evsel;
	int size;

	init_tool(&conv->tool);
	conv->session = perf_session__new(data, &conv->tool);
	if (IS_ERR(conv->session)) {
		conv->session = NULL;
		pr_err("Cannot read %s as a perf.data file\n", data->path);
		return -1;
	}
	evlist__for_each_entry(conv->session->evlist, evsel)
		stack__prepare(evsel);
	if (symbol__init(session__env(conv->session)) < 0)
		return -1;
	if (!opts->time_str)
		return 0;
	return perf_time__parse_for_ranges(opts->time_str, conv->session, &conv->ranges, &size,
					   &conv->nr_ranges);
}

/* Return: 0, or -1 after an error message. */
static int close_output(struct chrome_events *events, const char *path)
{
	if (fclose(events->json.file) && !events->err)
		events->err = errno;
	if (!events->err)
		return 0;
	pr_err("Cannot write %s: %s\n", path, strerror(events->err));
	return -1;
}

static FILE *open_output(const char *path, bool force)
{
	int fd = strcmp(path, "-") ?
		 open(path, O_CREAT | O_WRONLY | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0666) :
		 fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		pr_err("Cannot create %s: %m%s\n", path,
		       errno == EEXIST ? "; --force overwrites the file" : "");
	return file;
}

static void report(const struct conversion *conv, const char *input, const char *output)
{
	fprintf(stderr, "[ perf data convert: Converted %" PRIu64 " samples of %s to %s ]\n",
		conv->nr_samples, input, output);
	if (conv->pids.in_namespace)
		pr_warning("The file was recorded in a PID namespace. Tasks have the ids of the initial one; the names of tasks outside the recorder's are only in fields of events.\n");
	if (conv->nr_unknown)
		pr_warning("%" PRIu64 " samples are shown without their task: its id in the initial PID namespace is not known.\n",
			   conv->nr_unknown);
	if (conv->nr_without_time)
		pr_warning("Left out %" PRIu64 " samples without a time: record with -T.\n",
			   conv->nr_without_time);
	if (!conv->nr_samples)
		pr_warning("No sample was converted%s.\n",
			   conv->ranges ? ": --time has selected none" : "");
}

int convert__perf2chrome(const char *input, const char *output, bool html,
			 const struct perf_data_convert_opts *opts)
{
	struct perf_data data = {
		.mode = PERF_DATA_MODE_READ, .path = input ?: "perf.data", .force = opts->force,
	};
	struct conversion conv = { .html = html };
	struct evsel *evsel;
	int err = -1;

	if (opts->all || opts->tod) {
		pr_err("Cannot use --%s with --to-%s\n", opts->all ? "all" : "tod",
		       html ? "html" : "chrome");
		return -1;
	}
	timeline__init(&conv.timeline);
	machine__init(&conv.tasks, "", HOST_KERNEL_ID);
	if (open_session(&conv, &data, opts) || pid_map__read(&conv.pids, &data))
		goto out;
	conv.timeline.events.json.file = open_output(output, opts->force);
	if (!conv.timeline.events.json.file)
		goto out;
	err = write_trace(&conv);
	if (close_output(&conv.timeline.events, output))
		err = -1;
	if (!err)
		report(&conv, data.path, output);
out:
	if (conv.session) {
		evlist__for_each_entry(conv.session->evlist, evsel)
			fields__put(evsel);
		perf_session__delete(conv.session);
	}
	machine__delete_threads(&conv.tasks);
	machine__exit(&conv.tasks);
	pid_map__exit(&conv.pids);
	timeline__exit(&conv.timeline);
	zfree(&conv.ranges);
	return err ? -1 : 0;
}
