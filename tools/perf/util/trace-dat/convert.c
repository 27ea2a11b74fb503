// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convert samples of tracepoints to the file that trace-cmd and KernelShark read.
 *
 * The payload of such a sample is a record of ftrace. Read the records in the order of time, and
 * pack the payloads into pages; front.h and pages.h describe the output.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/err.h>
#include <linux/zalloc.h>
#include <traceevent/event-parse.h>
#include "recording/lib/compat.h"
#include "util/comm.h"
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
#include "comms.h"
#include "convert.h"
#include "front.h"
#include "kallsyms.h"
#include "pages.h"
#include "print.h"

#define MIN_PAYLOAD	8		/* fields that all tracepoints have */

/**
 * struct conversion
 * @tool:	callbacks
 * @session:	input
 * @front:	begin of the output
 * @pages:	rest of it
 * @comms:	name of each task
 * @err:	negative errno of writing, 0 if all is well
 * @no_symbols:	formats print symbols, and the kernel's are not found
 * @in_namespace: the pids of samples are those of a pid namespace
 * @ranges:	times to convert; others are left out
 * @nr_ranges:	number of @ranges
 * @nr_samples:	converted samples, including those that describe a snapshot
 * @end:	time of the last converted sample [ns]
 * @nr_other:	samples of events that are not tracepoints, and of guests
 * @nr_too_large: samples that do not fit in a page
 * @nr_incomplete: samples without time, CPU or payload
 * @nr_lost:	lost events of PERF_RECORD_LOST
 * @nr_counted:	lost samples of PERF_RECORD_LOST_SAMPLES, which may include @nr_lost
 */
struct conversion {
	struct perf_tool		 tool;
	struct perf_session		*session;
	struct front			 front;
	struct pages			 pages;
	struct hashmap			*comms;
	int				 err;
	bool				 no_symbols;
	bool				 in_namespace;
	struct perf_time_interval	*ranges;
	int				 nr_ranges;
	u64				 nr_samples;
	u64				 end;
	u64				 nr_other;
	u64				 nr_too_large;
	u64				 nr_incomplete;
	u64				 nr_lost;
	u64				 nr_counted;
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

static bool is_tracepoint(const struct evsel *evsel)
{
	return evsel->core.attr.type == PERF_TYPE_TRACEPOINT;
}

/* ---- formats of tracepoints */

/* The kernel records tracepoints with these clocks only. */
static const char *clock_name(struct evlist *evlist)
{
	const struct perf_event_attr *attr = &evlist__first(evlist)->core.attr;

	if (!attr->use_clockid)
		return "[perf]";
	return attr->clockid == CLOCK_MONOTONIC ? "[mono]" : "[mono_raw]";
}

/* Check the events and read the formats. Return: 0, or -1 after an error message. */
static int begin(struct conversion *conv)
{
	const char *path = conv->session->data->path;
	struct page_format format;
	bool tracepoints = false;
	struct evsel *evsel;

	evlist__for_each_entry(conv->session->evlist, evsel) {
		u64 type = evsel->core.attr.sample_type;

		if (!is_tracepoint(evsel))
			continue;
		tracepoints = true;
		if (!(type & PERF_SAMPLE_CPU)) {
			pr_err("Cannot convert %s: its samples have no CPU: record with -a or --sample-cpu\n",
			       evsel__name(evsel));
			return -1;
		}
		if (!(type & PERF_SAMPLE_TIME)) {
			pr_err("Cannot convert %s: its samples have no time: record with -T\n",
			       evsel__name(evsel));
			return -1;
		}
		if (!(type & PERF_SAMPLE_RAW)) {
			pr_err("Cannot convert %s: its samples have no fields: record with -R\n",
			       evsel__name(evsel));
			return -1;
		}
	}
	if (!tracepoints) {
		pr_err("Cannot convert %s: none of its events is a tracepoint; --to-chrome converts all events\n",
		       path);
		return -1;
	}
	if (!conv->front.data) {
		pr_err("Cannot convert %s: it has no formats of tracepoints. If its recorder was killed, complete the file with: perf inject -i %s -o NEW\n",
		       path, path);
		return -1;
	}
	if (front__parse(&conv->front, &format)) {
		pr_err("Cannot convert %s: the formats of its tracepoints are damaged\n", path);
		return -1;
	}
	conv->pages.format = format;
	conv->front.clock = clock_name(conv->session->evlist);
	return 0;
}

/* The formats of a regular file */
static int read_section(struct perf_file_section *section,
			struct perf_header *header __maybe_unused, int feat, int fd, void *data)
{
	struct conversion *conv = data;
	struct stat st;

	if (feat != HEADER_TRACING_DATA)
		return 0;
	if (fstat(fd, &st) || section->size > (u64)st.st_size)
		return 0;
	conv->front.data = malloc(section->size);
	if (!conv->front.data)
		return -ENOMEM;
	if (preadn(fd, conv->front.data, section->size, section->offset) == (ssize_t)section->size)
		conv->front.size = section->size;
	else
		zfree(&conv->front.data);
	return 0;
}

/*
 * The formats in a pipe follow their record. perf parses them from the descriptor of the pipe: let
 * it be another file meanwhile.
 */
static int copy_tracing_data(struct perf_session *session, union perf_event *event)
{
	struct conversion *conv = container_of(session->tool, struct conversion, tool);
	int pipe = perf_data__fd(session->data), saved, copy, err = -1;
	size_t size = event->tracing_data.size;

	if (!perf_data__is_pipe(session->data) || conv->front.data)
		return process_tracing_data(session, event);
	conv->front.data = malloc(size);
	copy = memfd_create("tracing data", MFD_CLOEXEC);
	saved = fcntl(pipe, F_DUPFD_CLOEXEC, 0);
	if (conv->front.data && copy >= 0 && saved >= 0 &&
	    readn(pipe, conv->front.data, size) == (ssize_t)size &&
	    writen(copy, conv->front.data, size) == (ssize_t)size &&
	    !lseek(copy, 0, SEEK_SET) && dup2(copy, pipe) >= 0) {
		err = process_tracing_data(session, event);
		if (dup2(saved, pipe) < 0)
			err = -1;
	}
	conv->front.size = size;
	close(copy);
	close(saved);
	return err;
}
DEFINE_SESSION_CALLBACK(tracing_data_callback, copy_tracing_data)

/* ---- samples */

/* Note which name the task @pid of ftrace has. Return: 0, or -ENOMEM. */
static int note_comm(struct conversion *conv, const struct perf_sample *sample,
		     struct machine *machine, int pid)
{
	struct thread *thread;
	int err = 0;

	if (!pid || (int)sample->tid < 0)	/* the idle task, or one that has exited */
		return 0;
	if (pid != (int)sample->tid)
		conv->in_namespace = true;
	if (!sample->tid)			/* a task outside the recorder's PID namespace */
		return 0;
	thread = machine__findnew_thread(machine, sample->pid, sample->tid);
	if (thread && thread__comm_set(thread))
		err = comms__set(conv->comms, pid, thread__comm_str(thread));
	thread__put(thread);
	return err;
}

/* Print why a snapshot was taken, at the time and the CPU of the request. */
static int add_snapshot(struct conversion *conv, const struct perf_sample *sample,
			struct machine *machine)
{
	/* In a namespace, no record tells the id that the recorder has in the initial one. */
	int pid = conv->in_namespace ? 0 : max(0, (int)sample->tid);
	int err = note_comm(conv, sample, machine, pid);
	char text[512];

	snprintf(text, sizeof(text), "snapshot: %.*s", (int)sample->raw_size,
		 (const char *)sample->raw_data);
	conv->nr_samples++;
	return err ?: print__add(&conv->pages, sample->cpu, sample->time, pid, text);
}

static int process_sample(const struct perf_tool *tool, union perf_event *event __maybe_unused,
			  struct perf_sample *sample, struct evsel *evsel, struct machine *machine)
{
	struct conversion *conv = container_of(tool, struct conversion, tool);
	struct tep_record record = { .data = sample->raw_data, .size = (int)sample->raw_size };
	bool snapshot = evsel__is_bpf_output(evsel) && !strcmp(evsel__name(evsel), "snapshot");

	if (has_time(sample) && is_left_out(conv, sample))
		return 0;
	if (!(snapshot || is_tracepoint(evsel)) || !machine__is_host(machine)) {
		conv->nr_other++;
		return 0;
	}
	/* In a pipe, all events are known before the first sample. */
	if (!conv->pages.format.size && begin(conv))
		return conv->err = -EINVAL;
	if (!has_time(sample) || sample->cpu >= TRACE_DAT_MAX_CPUS || !sample->raw_data ||
	    sample->raw_size < MIN_PAYLOAD) {
		conv->nr_incomplete++;
		return 0;
	}
	conv->end = sample->time;
	if (snapshot)
		return conv->err = add_snapshot(conv, sample, machine);
	if (sample->raw_size > pages__max_event(&conv->pages)) {
		conv->nr_too_large++;
		return 0;
	}
	conv->err = pages__add(&conv->pages, sample->cpu, sample->time, sample->raw_data,
			       sample->raw_size);
	if (!conv->err)
		conv->err = note_comm(conv, sample, machine,
				      tep_data_pid(conv->session->tevent.pevent, &record));
	conv->nr_samples++;
	return conv->err;
}
DEFINE_SAMPLE_CALLBACK(sample_callback, process_sample)

/* ---- other records */

static int process_lost(const struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	struct conversion *conv = container_of(tool, struct conversion, tool);

	if (has_time(sample) && is_left_out(conv, sample))
		return 0;
	conv->nr_lost += event->lost.lost;
	if (has_time(sample) && sample->cpu < TRACE_DAT_MAX_CPUS)
		conv->err = pages__lost(&conv->pages, sample->cpu, sample->time, event->lost.lost);
	return conv->err;
}

static int process_lost_samples(const struct perf_tool *tool, union perf_event *event,
				struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	struct conversion *conv = container_of(tool, struct conversion, tool);
	const struct perf_sample_id *sid = evlist__id2sid(conv->session->evlist, sample->id);
	unsigned int cpu = sid ? (unsigned int)sid->cpu.cpu : sample->cpu;

	if (event->header.misc & PERF_RECORD_MISC_LOST_SAMPLES_BPF)
		return 0;
	conv->nr_counted += event->lost_samples.lost;
	if (cpu >= TRACE_DAT_MAX_CPUS)
		return 0;
	conv->err = pages__grow(&conv->pages, cpu + 1);
	if (!conv->err)
		conv->pages.cpus[cpu].nr_counted += event->lost_samples.lost;
	return conv->err;
}

/* The kernel's symbols need its maps, whose addresses differ for each boot. */
static int process_kernel_map(const struct perf_tool *tool, union perf_event *event,
			      struct perf_sample *sample, struct machine *machine)
{
	if ((event->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_KERNEL)
		return 0;
	return event->header.type == PERF_RECORD_MMAP ?
	       perf_event__process_mmap(tool, event, sample, machine) :
	       perf_event__process_mmap2(tool, event, sample, machine);
}

/* In a pipe, features are records, and a feature of no known number is the last. */
static int read_feature(struct perf_session *session, union perf_event *event)
{
	return event->feat.feat_id < HEADER_LAST_FEATURE ? process_feature(session, event) : 0;
}
DEFINE_SESSION_CALLBACK(feature_callback, read_feature)

static void init_tool(struct perf_tool *tool)
{
	perf_tool__init(tool, /*ordered_events=*/true);
	tool->sample = sample_callback;
	tool->mmap = process_kernel_map;
	tool->mmap2 = process_kernel_map;
	tool->comm = perf_event__process_comm;
	tool->namespaces = perf_event__process_namespaces;
	tool->fork = perf_event__process_fork;
	tool->exit = perf_event__process_exit;
	tool->lost = process_lost;
	tool->lost_samples = process_lost_samples;
	tool->attr = perf_event__process_attr;
	tool->event_update = perf_event__process_event_update;
	tool->tracing_data = tracing_data_callback;
	tool->build_id = perf_event__process_build_id;
	tool->id_index = perf_event__process_id_index;
	tool->feature = feature_callback;
	tool->ordering_requires_timestamps = true;
}

/* ---- files */

/* Return: 0, or -1 after an error message. */
static int open_session(struct conversion *conv, struct perf_data *data,
			const struct perf_data_convert_opts *opts)
{
	int size;

	init_tool(&conv->tool);
	conv->session = perf_session__new(data, &conv->tool);
	if (IS_ERR(conv->session)) {
		conv->session = NULL;
		pr_err("Cannot read %s: it is no perf.data file, or has no formats of tracepoints\n", data->path);
		return -1;
	}
	if (!perf_data__is_pipe(data) &&
	    (perf_header__process_sections(&conv->session->header, perf_data__fd(data), conv,
					   read_section) < 0 || begin(conv)))
		return -1;
	if (!opts->time_str)
		return 0;
	return perf_time__parse_for_ranges(opts->time_str, conv->session, &conv->ranges, &size,
					   &conv->nr_ranges);
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

static bool is_regular(FILE *file)
{
	struct stat st;

	return !fstat(fileno(file), &st) && S_ISREG(st.st_mode);
}

/*
 * Create the temporary file, beside the output if that is a file: there is space for it. Return: a
 * descriptor, or -1 after an error message.
 */
static int open_spool(FILE *output, const char *path)
{
	const char *dir = getenv("TMPDIR") ?: "/tmp";
	char *name;
	int fd;

	if (strcmp(path, "-") && is_regular(output) ?
	    asprintf(&name, "%s.XXXXXX", path) < 0 :
	    asprintf(&name, "%s/trace-dat.XXXXXX", dir) < 0)
		return -1;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		pr_err("Cannot create %s: %m\n", name);
	else
		unlink(name);
	free(name);
	return fd;
}

static int add_thread(struct thread *thread, void *data)
{
	struct conversion *conv = data;

	if (thread__tid(thread) <= 0 || !thread__comm_set(thread))
		return 0;
	return comms__add(conv->comms, thread__tid(thread), thread__comm_str(thread));
}

/* Complete what is known of tasks and the machine after the last record. Return: 0, or -ENOMEM. */
static int describe(struct conversion *conv)
{
	struct perf_env *env = session__env(conv->session);
	int err = 0;

	/* Tasks that other events are about, sched:sched_wakeup for example */
	if (!conv->in_namespace)
		err = machine__for_each_thread(&conv->session->machines.host, add_thread, conv);
	conv->front.comms = err ? NULL : comms__text(conv->comms, &conv->front.comms_size);
	if (!conv->front.has_symbols && front__prints_symbols(&conv->front)) {
		conv->front.symbols = kallsyms__text(&conv->session->machines.host,
						     &conv->front.symbols_size);
		conv->no_symbols = !conv->front.symbols;
	}
	if (asprintf(&conv->front.system, "Linux %s %s %s", env->hostname ?: "-",
		     env->os_release ?: "-", env->arch ?: "-") < 0)
		conv->front.system = NULL;
	if (asprintf(&conv->front.program, "perf %s", env->version ?: "") < 0)
		conv->front.program = NULL;
	if (!conv->front.comms || !conv->front.system || !conv->front.program)
		return -ENOMEM;
	if (env->nr_cpus_online > 0 && env->nr_cpus_online <= TRACE_DAT_MAX_CPUS)
		return pages__grow(&conv->pages, env->nr_cpus_online);
	return 0;
}

/* Print the losses that no event follows, and those of which only the number is known. */
static int print_losses(struct conversion *conv)
{
	unsigned int i;
	char text[64];
	int err = 0;

	for (i = 0; i < conv->pages.nr_cpus && !err; i++) {
		struct cpu_pages *cpu = &conv->pages.cpus[i];

		if (cpu->pending_lost) {
			snprintf(text, sizeof(text), "%" PRIu64 " events lost", cpu->pending_lost);
			err = print__add(&conv->pages, i, cpu->lost_time, 0, text);
		}
		if (err || conv->ranges || cpu->nr_counted <= cpu->nr_lost)
			continue;
		snprintf(text, sizeof(text), "%" PRIu64 " events lost at unknown times",
			 cpu->nr_counted - cpu->nr_lost);
		err = print__add(&conv->pages, i, max(conv->end, cpu->time), 0, text);
	}
	return err;
}

/* Return: 0, or -1 after an error message. */
static int convert(struct conversion *conv, FILE *output, const char *path)
{
	int err;

	err = perf_session__process_events(conv->session);
	if (err && !conv->err) {
		pr_err("Cannot read %s: %s\n", conv->session->data->path,
		       err < -1 ? strerror(-err) : "the file is damaged");
		return -1;
	}
	/* A pipe without samples */
	if (!conv->pages.format.size && (conv->err || begin(conv)))
		return -1;
	err = conv->err ?: print_losses(conv);
	err = err ?: pages__flush(&conv->pages);
	err = err ?: describe(conv);
	err = err ?: front__write(&conv->front, &conv->pages, output);
	err = err ?: pages__copy(&conv->pages, output);
	if (!err && (fflush(output) || ferror(output)))
		err = -errno ?: -EIO;
	if (err)
		pr_err("Cannot write %s: %s\n", path, strerror(-err));
	return err ? -1 : 0;
}

static u64 nr_lost_placed(const struct conversion *conv)
{
	u64 nr = 0;
	unsigned int i;

	for (i = 0; i < conv->pages.nr_cpus; i++)
		nr += conv->pages.cpus[i].nr_lost;
	return nr;
}

static void report(const struct conversion *conv, const char *input, const char *output)
{
	u64 nr_lost = conv->ranges ? conv->nr_lost : max(conv->nr_lost, conv->nr_counted);
	u64 nr_placed = nr_lost_placed(conv);

	fprintf(stderr, "[ perf data convert: Converted %" PRIu64 " samples of %s to %s ]\n",
		conv->nr_samples, input, output);
	if (conv->nr_other)
		pr_warning("Left out %" PRIu64 " samples of events that are not tracepoints.\n",
			   conv->nr_other);
	if (conv->nr_too_large)
		pr_warning("Left out %" PRIu64 " samples with more than %u bytes, which fit in a page of the ring buffer.\n",
			   conv->nr_too_large, pages__max_event(&conv->pages));
	if (conv->nr_incomplete)
		pr_warning("Left out %" PRIu64 " samples without time, CPU or fields.\n",
			   conv->nr_incomplete);
	if (conv->in_namespace)
		pr_warning("The file was recorded in a PID namespace. Tasks have the ids of the initial one; the names of tasks outside the recorder's are only in fields of events.\n");
	if (conv->no_symbols)
		pr_warning("Addresses are not shown as symbols: the file has no build-id of the kernel, or its symbols are neither in /proc/kallsyms nor in the build-id cache.\n");
	if (nr_placed)
		pr_warning("%" PRIu64 " lost events are marked in the trace.\n", nr_placed);
	if (nr_lost > nr_placed)
		pr_warning("%" PRIu64 " lost events are not, because their times are unknown.\n",
			   nr_lost - nr_placed);
	if (!conv->nr_samples)
		pr_warning("No sample was converted%s.\n",
			   conv->ranges ? ": --time may have selected none" : "");
}

int convert__perf2trace_dat(const char *input, const char *output,
			    const struct perf_data_convert_opts *opts)
{
	struct perf_data data = {
		.mode = PERF_DATA_MODE_READ, .path = input ?: "perf.data", .force = opts->force,
	};
	struct conversion conv = { .session = NULL };
	FILE *file = NULL;
	bool remove = false;
	int spool = -1, err = -1;

	if (opts->all || opts->tod) {
		pr_err("Cannot use --%s with --to-trace-dat\n", opts->all ? "all" : "tod");
		return -1;
	}
	pages__init(&conv.pages, -1);
	if (comms__init(&conv.comms) || open_session(&conv, &data, opts))
		goto out;
	file = open_output(output, opts->force);
	if (!file)
		goto out;
	remove = strcmp(output, "-") && is_regular(file);
	spool = open_spool(file, output);
	if (spool < 0)
		goto out;
	conv.pages.spool = spool;
	err = convert(&conv, file, output);
	if (fclose(file) && !err) {
		pr_err("Cannot write %s: %m\n", output);
		err = -1;
	}
	file = NULL;
	if (!err)
		report(&conv, data.path, output);
out:
	if (file)
		fclose(file);
	if (err && remove)
		unlink(output);
	if (spool >= 0)
		close(spool);
	pages__exit(&conv.pages);
	comms__exit(conv.comms);
	front__exit(&conv.front);
	if (conv.session)
		perf_session__delete(conv.session);
	zfree(&conv.ranges);
	return err ? -1 : 0;
}
