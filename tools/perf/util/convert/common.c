// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "recording/lib/compat.h"
#include "util/data-convert.h"
#include "util/debug.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/header.h"
#include "util/machine.h"
#include "util/session.h"
#include "util/time-utils.h"
#include "common.h"

bool conversion__omits(const struct conversion *conv, const struct perf_sample *sample)
{
	return conv->ranges && has_time(sample) &&
	       perf_time__ranges_skip_sample(conv->ranges, conv->nr_ranges, sample->time);
}

bool conversion__is_over(const struct conversion *conv, const struct perf_sample *sample)
{
	int i;

	if (!conv->ranges || !has_time(sample))
		return false;
	for (i = 0; i < conv->nr_ranges; i++) {
		if (!conv->ranges[i].end || sample->time <= conv->ranges[i].end)
			return false;
	}
	return true;
}

/* ---- losses */

static int process_lost(const struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	struct conversion *conv = container_of(tool, struct conversion, tool);
	struct loss loss = {
		.kind = LOSS_RECORD,
		.nr   = event->lost.lost,
		.time = has_time(sample) ? sample->time : 0,
		.cpu  = (int)sample->cpu,
	};

	if (!conv->lost || conversion__omits(conv, sample))
		return 0;
	return conv->lost(conv, &loss);
}

/*
 * Pass on the kernel's counters, or perf's: records at the end of the file that have no time, so
 * that perf delivers them before the records that wait to be sorted. The event of a counter tells
 * the CPU.
 */
static int process_lost_samples(const struct perf_tool *tool, union perf_event *event,
				struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	struct conversion *conv = container_of(tool, struct conversion, tool);
	const struct perf_sample_id *sid = evlist__id2sid(conv->session->evlist, sample->id);
	struct loss loss = {
		.kind = event->header.misc & PERF_RECORD_MISC_LOST_SAMPLES_BPF ? LOSS_FILTERED :
										 LOSS_COUNTER,
		.nr   = event->lost_samples.lost,
		.time = has_time(sample) ? sample->time : 0,
		.cpu  = sid && !has_time(sample) ? sid->cpu.cpu : (int)sample->cpu,
	};

	if (!conv->lost || conversion__omits(conv, sample))
		return 0;
	return conv->lost(conv, &loss);
}

/* ---- input */

/* In a pipe, features are records, and a feature of no known number is the last. */
static int read_feature(struct perf_session *session, union perf_event *event)
{
	return event->feat.feat_id < HEADER_LAST_FEATURE ? process_feature(session, event) : 0;
}
DEFINE_SESSION_CALLBACK(feature_callback, read_feature)

void conversion__init(struct conversion *conv, const char *format)
{
	struct perf_tool *tool = &conv->tool;

	*conv = (struct conversion){ .format = format };
	perf_tool__init(tool, /*ordered_events=*/true);
	tool->mmap = perf_event__process_mmap;
	tool->mmap2 = perf_event__process_mmap2;
	tool->comm = perf_event__process_comm;
	tool->namespaces = perf_event__process_namespaces;
	tool->fork = perf_event__process_fork;
	tool->exit = perf_event__process_exit;
	tool->lost = process_lost;
	tool->lost_samples = process_lost_samples;
	tool->attr = perf_event__process_attr;
	tool->event_update = perf_event__process_event_update;
	tool->tracing_data = perf_event__process_tracing_data;
	tool->build_id = perf_event__process_build_id;
	tool->id_index = perf_event__process_id_index;
	tool->feature = feature_callback;
	tool->ordering_requires_timestamps = true;
}

int conversion__open(struct conversion *conv, const char *input,
		     const struct perf_data_convert_opts *opts)
{
	int size;

	if (opts->all || opts->tod) {
		pr_err("Cannot use --%s with --to-%s\n", opts->all ? "all" : "tod", conv->format);
		return -1;
	}
	conv->force = opts->force;
	conv->data = (struct perf_data){
		.mode = PERF_DATA_MODE_READ, .path = input ?: "perf.data", .force = opts->force,
	};
	conv->session = perf_session__new(&conv->data, &conv->tool);
	if (IS_ERR(conv->session)) {
		conv->session = NULL;
		pr_err("Cannot read %s: it is no perf.data file, or has no formats of tracepoints\n",
		       conv->data.path);
		return -1;
	}
	if (!opts->time_str)
		return 0;
	return perf_time__parse_for_ranges(opts->time_str, conv->session, &conv->ranges, &size,
					   &conv->nr_ranges) ? -1 : 0;
}

int conversion__read(struct conversion *conv)
{
	int err = perf_session__process_events(conv->session);

	if (err && !conv->err && !conv->reported)
		pr_err("Cannot read %s: %s\n", conv->data.path,
		       err < -1 ? strerror(-err) : "the file is damaged");
	return err || conv->err ? -1 : 0;
}

/* ---- output */

static bool is_file(int fd, const struct stat *other)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_dev == other->st_dev &&
	       st.st_ino == other->st_ino;
}

/* An output that is the input, or a file of its directory, would be emptied before it is read. */
static bool is_input(struct conversion *conv, int fd)
{
	const struct perf_data *data = &conv->data;
	struct stat output;
	int i;

	if (fstat(fd, &output))
		return false;
	for (i = 0; i < data->dir.nr; i++) {
		if (is_file(data->dir.files[i].fd, &output))
			return true;
	}
	return is_file(perf_data__fd(&conv->data), &output);
}

/* Empty a file, and leave pipes and devices alone. Return: 0, or -1 with errno. */
static int empty(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) ? ftruncate(fd, 0) : 0;
}

int conversion__create(struct conversion *conv, const char *path)
{
	int flags = O_CREAT | O_WRONLY | O_CLOEXEC | (conv->force ? 0 : O_EXCL);
	bool named = strcmp(path, "-");
	int fd = named ? open(path, flags, 0666) : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);

	conv->path = path;
	signal(SIGXFSZ, SIG_IGN);	/* beyond ulimit -f, a write then fails with EFBIG */
	if (fd >= 0 && is_input(conv, fd)) {
		pr_err("Cannot write to %s: it is the input\n", path);
		close(fd);
		return -1;
	}
	conv->file = fd < 0 || (named && empty(fd)) ? NULL : fdopen(fd, "w");
	if (conv->file)
		return 0;
	pr_err("Cannot create %s: %m%s\n", path,
	       errno == EEXIST ? "; --force overwrites the file" : "");
	if (fd >= 0)
		close(fd);
	return -1;
}

/* /dev/stdout, for example, is a name of a file, but must not be removed. */
bool conversion__is_regular(const struct conversion *conv)
{
	struct stat named, st;

	return strcmp(conv->path, "-") && !lstat(conv->path, &named) && S_ISREG(named.st_mode) &&
	       !fstat(fileno(conv->file), &st) && named.st_dev == st.st_dev &&
	       named.st_ino == st.st_ino;
}

int conversion__close(struct conversion *conv, int err)
{
	bool remove;

	if (!conv->file)
		return -1;
	remove = conversion__is_regular(conv);
	if (ferror(conv->file) && !conv->err)
		conv->err = -EIO;
	if (fclose(conv->file) && (!conv->err || conv->err == -EIO))
		conv->err = -errno;
	conv->file = NULL;
	if (conv->err && !conv->reported)
		pr_err("Cannot write %s: %s\n", conv->path, strerror(-conv->err));
	if (err || conv->err) {
		if (remove)
			unlink(conv->path);
		return -1;
	}
	fprintf(stderr, "[ perf data convert: Converted %" PRIu64 " samples of %s to %s ]\n",
		conv->nr_samples, conv->data.path, conv->path);
	if (!conv->nr_samples)
		pr_warning("No sample was converted%s.\n",
			   conv->ranges ? ": --time may have selected none" : "");
	return 0;
}

void conversion__report_omitted(u64 nr, const char *which)
{
	if (nr)
		pr_warning("Left out %" PRIu64 " samples %s.\n", nr, which);
}

void conversion__exit(struct conversion *conv)
{
	if (conv->session)
		perf_session__delete(conv->session);
	conv->session = NULL;
	zfree(&conv->ranges);
}
