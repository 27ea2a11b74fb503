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
#include <traceevent/event-parse.h>
#include "recording/lib/compat.h"
#include "util/convert/common.h"
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
#include "util/tool.h"
#include "comms.h"
#include "convert.h"
#include "front.h"
#include "kallsyms.h"
#include "pages.h"
#include "print.h"

#define MIN_PAYLOAD	8		/* fields that all tracepoints have */

/**
 * struct trace_dat - a conversion
 * @base:	input and output
 * @front:	begin of the output
 * @pages:	rest of it
 * @comms:	name of each task
 * @no_symbols:	formats print symbols, and the kernel's are not found
 * @in_namespace: the pids of samples are those of a pid namespace
 * @end:	time of the last converted sample [ns]
 * @nr_other:	samples of events that are not tracepoints, and of guests
 * @nr_too_large: samples that do not fit in a page
 * @nr_incomplete: samples without time, CPU or payload
 * @nr_lost:	lost events of PERF_RECORD_LOST
 * @nr_counted:	lost samples of PERF_RECORD_LOST_SAMPLES, which may include @nr_lost
 */
struct trace_dat {
	struct conversion	 base;
	struct front		 front;
	struct pages		 pages;
	struct hashmap		*comms;
	bool			 no_symbols;
	bool			 in_namespace;
	u64			 end;
	u64			 nr_other;
	u64			 nr_too_large;
	u64			 nr_incomplete;
	u64			 nr_lost;
	u64			 nr_counted;
};

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
static int begin(struct trace_dat *conv)
{
	const char *path = conv->base.session->data->path;
	struct page_format format;
	bool tracepoints = false;
	struct evsel *evsel;

	evlist__for_each_entry(conv->base.session->evlist, evsel) {
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
	conv->front.clock = clock_name(conv->base.session->evlist);
	return 0;
}

/* The formats of a regular file */
static int read_section(struct perf_file_section *section,
			struct perf_header *header __maybe_unused, int feat, int fd, void *data)
{
	struct trace_dat *conv = data;
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
	struct trace_dat *conv = container_of(session->tool, struct trace_dat, base.tool);
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
static int note_comm(struct trace_dat *conv, const struct perf_sample *sample,
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
static int add_snapshot(struct trace_dat *conv, const struct perf_sample *sample,
			struct machine *machine)
{
	/* In a namespace, no record tells the id that the recorder has in the initial one. */
	int pid = conv->in_namespace ? 0 : max(0, (int)sample->tid);
	int err = note_comm(conv, sample, machine, pid);
	char text[512];

	snprintf(text, sizeof(text), "snapshot: %.*s", (int)sample->raw_size,
		 (const char *)sample->raw_data);
	conv->base.nr_samples++;
	return err ?: print__add(&conv->pages, sample->cpu, sample->time, pid, text);
}

static int process_sample(const struct perf_tool *tool, union perf_event *event __maybe_unused,
			  struct perf_sample *sample, struct evsel *evsel, struct machine *machine)
{
	struct trace_dat *conv = container_of(tool, struct trace_dat, base.tool);
	struct tep_record record = { .data = sample->raw_data, .size = (int)sample->raw_size };
	bool snapshot = evsel__is_bpf_output(evsel) && !strcmp(evsel__name(evsel), "snapshot");

	if (conversion__omits(&conv->base, sample))
		return 0;
	if (!(snapshot || is_tracepoint(evsel)) || !machine__is_host(machine)) {
		conv->nr_other++;
		return 0;
	}
	/* In a pipe, all events are known before the first sample. */
	if (!conv->pages.format.size && begin(conv)) {
		conv->base.reported = true;
		return -EINVAL;
	}
	if (!has_time(sample) || sample->cpu >= TRACE_DAT_MAX_CPUS || !sample->raw_data ||
	    sample->raw_size < MIN_PAYLOAD) {
		conv->nr_incomplete++;
		return 0;
	}
	conv->end = sample->time;
	if (snapshot)
		return conv->base.err = add_snapshot(conv, sample, machine);
	if (sample->raw_size > pages__max_event(&conv->pages)) {
		conv->nr_too_large++;
		return 0;
	}
	conv->base.err = pages__add(&conv->pages, sample->cpu, sample->time,
				    sample->raw_data, sample->raw_size);
	if (!conv->base.err)
		conv->base.err = note_comm(conv, sample, machine,
					   tep_data_pid(conv->base.session->tevent.pevent,
							&record));
	conv->base.nr_samples++;
	return conv->base.err;
}
DEFINE_SAMPLE_CALLBACK(sample_callback, process_sample)

/* ---- other records */

static int add_loss(struct conversion *base, const struct loss *loss)
{
	struct trace_dat *conv = container_of(base, struct trace_dat, base);
	bool known_cpu = loss->cpu >= 0 && loss->cpu < TRACE_DAT_MAX_CPUS;

	if (loss->kind == LOSS_RECORD) {
		conv->nr_lost += loss->nr;
		if (loss->time && known_cpu)
			base->err = pages__lost(&conv->pages, loss->cpu, loss->time, loss->nr);
	} else if (loss->kind == LOSS_COUNTER) {
		conv->nr_counted += loss->nr;
		if (!known_cpu)
			return 0;
		base->err = pages__grow(&conv->pages, loss->cpu + 1);
		if (!base->err)
			conv->pages.cpus[loss->cpu].nr_counted += loss->nr;
	}
	return base->err;
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

static void set_callbacks(struct trace_dat *conv)
{
	struct perf_tool *tool = &conv->base.tool;

	tool->sample = sample_callback;
	tool->mmap = process_kernel_map;
	tool->mmap2 = process_kernel_map;
	tool->tracing_data = tracing_data_callback;
	conv->base.lost = add_loss;
}

/* ---- files */

/* Read the formats of a file; those of a pipe follow. Return: 0, or -1 after an error message. */
static int read_formats(struct trace_dat *conv)
{
	struct perf_session *session = conv->base.session;

	if (perf_data__is_pipe(session->data))
		return 0;
	if (perf_header__process_sections(&session->header, perf_data__fd(session->data), conv,
					  read_section) < 0)
		return -1;
	return begin(conv);
}

static const char *temporary_dir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir ? dir : "/tmp";
}

/* The temporary file is beside the output if that is a file: there is space for it. */
static void explain_spool(const struct conversion *base, int error)
{
	if (conversion__is_regular(base))
		pr_err("Cannot write %s and a temporary file beside it: %s\n", base->path,
		       strerror(error));
	else
		pr_err("Cannot write a temporary file to %s: %s. Set TMPDIR to a directory with space for the output.\n",
		       temporary_dir(), strerror(error));
}

/* Create the temporary file. Return: a descriptor, or -1 after an error message. */
static int open_spool(const struct conversion *base)
{
	char *name;
	int fd;

	if (conversion__is_regular(base) ?
	    asprintf(&name, "%s.XXXXXX", base->path) < 0 :
	    asprintf(&name, "%s/trace-dat.XXXXXX", temporary_dir()) < 0)
		return -1;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		explain_spool(base, errno);
	else
		unlink(name);
	free(name);
	return fd;
}

static int add_thread(struct thread *thread, void *data)
{
	struct trace_dat *conv = data;

	if (thread__tid(thread) <= 0 || !thread__comm_set(thread))
		return 0;
	return comms__add(conv->comms, thread__tid(thread), thread__comm_str(thread));
}

/* Complete what is known of tasks and the machine after the last record. Return: 0, or -ENOMEM. */
static int describe(struct trace_dat *conv)
{
	struct perf_env *env = &conv->base.session->header.env;
	int err = 0;

	/* Tasks that other events are about, sched:sched_wakeup for example */
	if (!conv->in_namespace)
		err = machine__for_each_thread(&conv->base.session->machines.host, add_thread,
					       conv);
	conv->front.comms = err ? NULL : comms__text(conv->comms, &conv->front.comms_size);
	if (!conv->front.has_symbols && front__prints_symbols(&conv->front)) {
		conv->front.symbols = kallsyms__text(&conv->base.session->machines.host,
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
static int print_losses(struct trace_dat *conv)
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
		if (err || conv->base.ranges || cpu->nr_counted <= cpu->nr_lost)
			continue;
		snprintf(text, sizeof(text), "%" PRIu64 " events lost at unknown times",
			 cpu->nr_counted - cpu->nr_lost);
		err = print__add(&conv->pages, i, max(conv->end, cpu->time), 0, text);
	}
	return err;
}

/* Fill the temporary file. Return: 0, or -1 after an error message. */
static int fill_spool(struct trace_dat *conv)
{
	struct conversion *base = &conv->base;
	int err = conversion__read(base);

	/* A pipe without samples */
	if (!err && !conv->pages.format.size && begin(conv))
		err = -1;
	if (!err)
		base->err = print_losses(conv) ?: pages__flush(&conv->pages);
	if (base->err && !base->reported) {
		explain_spool(base, -base->err);
		base->reported = true;
	}
	return err || base->err ? -1 : 0;
}

/* Return: 0, or -1 after an error message, or with base.err. */
static int convert(struct trace_dat *conv)
{
	struct conversion *base = &conv->base;

	conv->pages.spool = open_spool(base);
	if (conv->pages.spool < 0 || fill_spool(conv))
		return -1;
	base->err = describe(conv) ?: front__write(&conv->front, &conv->pages, base->file) ?:
		    pages__copy(&conv->pages, base->file);
	return base->err ? -1 : 0;
}

static u64 nr_lost_placed(const struct trace_dat *conv)
{
	u64 nr = 0;
	unsigned int i;

	for (i = 0; i < conv->pages.nr_cpus; i++)
		nr += conv->pages.cpus[i].nr_lost;
	return nr;
}

static void report(const struct trace_dat *conv)
{
	u64 nr_lost = conv->base.ranges ? conv->nr_lost : max(conv->nr_lost, conv->nr_counted);
	u64 nr_placed = nr_lost_placed(conv);

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
		pr_warning("%" PRIu64 " lost events are not marked, because their times are unknown.\n",
			   nr_lost - nr_placed);
}

int convert__perf2trace_dat(const char *input, const char *output,
			    const struct perf_data_convert_opts *opts)
{
	struct trace_dat conv = { .no_symbols = false };
	int err;

	conversion__init(&conv.base, "trace-dat");
	set_callbacks(&conv);
	pages__init(&conv.pages, -1);
	err = comms__init(&conv.comms) ?: conversion__open(&conv.base, input, opts) ?:
	      read_formats(&conv) ?: conversion__create(&conv.base, output) ?: convert(&conv);
	err = conversion__close(&conv.base, err);
	if (!err)
		report(&conv);
	if (conv.pages.spool >= 0)
		close(conv.pages.spool);
	pages__exit(&conv.pages);
	comms__exit(conv.comms);
	front__exit(&conv.front);
	conversion__exit(&conv.base);
	return err;
}
