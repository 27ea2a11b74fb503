// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open, complete and remove perf.data files, and report write errors.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <internal/lib.h>
#include <sys/stat.h>
#include "util/build-id.h"
#include "util/debug.h"
#include "util/evlist.h"
#include "util/header.h"
#include "util/session.h"
#include "util/symbol.h"
#include "util/util.h"
#include "recording/lib/fd.h"
#include "aux_index.h"
#include "features.h"
#include "names.h"
#include "output.h"
#include "tool.h"
#include "recording/lib/compat.h"
#include "recording/lib/eventfd.h"
#include "recording/ring/channel.h"
#include "recording/write/zstd_records.h"

static int output__fd(struct output *output)
{
	return perf_data__fd(&output->data);
}

/* Is the file read when it is complete, for build-ids or the times of samples? */
static bool output__is_read_back(const struct output *output)
{
	return output->build_ids || output->cache_binaries || output->sample_times;
}

static void describe_compression(struct output *output)
{
	struct perf_session *session = output->session;
	int level = output->pipeline.level ?: output->kept_level;

	if (!level)
		return;
	session->header.env.comp_type = PERF_COMP_ZSTD;
	session->header.env.comp_level = level;
	session->header.env.comp_mmap_len = ZSTD_RECORDS_MMAP_LEN;
	perf_header__set_feat(&session->header, HEADER_COMPRESSED);
	zstd_fini(&session->zstd_data);		/* decompresses when the file is read back */
	zstd_init(&session->zstd_data, 0);
}

static int explain_claimed(const char *path)
{
	pr_err("Cannot write to %s: another perf record is writing to it. Use another -o.\n", path);
	return -EBUSY;
}

/* Copy the kernel's code as it is now. Later changes are in the file, as PERF_RECORD_TEXT_POKE. */
static int output__copy_kernel(struct output *output)
{
	char dir[PATH_MAX];

	if (!output->kcore || (!perf_data__make_kcore_dir(&output->data, dir, sizeof(dir)) &&
			       !kcore_copy("/proc", dir)))
		return 0;
	pr_err("Cannot copy the kernel's code from /proc/kcore to %s (--kcore). This needs root, "
	       "visible kernel addresses (kernel.kptr_restrict), and a kernel with modules.\n",
	       output__name(output));
	return output->err = -EIO;
}

static void take_reserve(struct output *output)
{
	reserve__take(&output->reserve, output->data.path, output->evlist->core.nr_entries);
}

static int output__start_file(struct output *output)
{
	struct perf_session *session = output->session;
	struct stat st;
	u64 start;
	int err;

	output->open = true;
	output->regular = false;
	output->has_whole = false;
	if (!output__is_pipe(output) && claim__take(&output->claim, output__fd(output)))
		return output->err = explain_claimed(output->data.path);
	describe_compression(output);
	output->regular = !output__is_pipe(output) && !fstat(output__fd(output), &st) &&
			  S_ISREG(st.st_mode);
	err = output__copy_kernel(output);
	if (err)
		return err;
	if (output__is_pipe(output)) {
		err = perf_header__write_pipe(output__fd(output));
	} else {
		session->header.data_size = 0;
		err = perf_session__write_header(session, output->evlist, output__fd(output),
						 false);
		if (output->regular)
			take_reserve(output);
	}
	if (err < 0) {
		output->err = errno ? -errno : -EIO;
		pr_err("Cannot write the header of %s: %s\n", output__name(output),
		       strerror(-output->err));
		return output->err;
	}
	start = output__is_pipe(output) ? 0 : session->header.data_offset;
	if (pipeline__has_next(&output->pipeline) && start != output->pipeline.start) {
		pr_err("Cannot continue in %s: its data begin at %" PRIu64
		       ", those of the file before at %" PRIu64 ".\n", output__name(output), start,
		       output->pipeline.start);
		output->err = -EINVAL;
		return output->err;
	}
	pr_debug("Writing to %s by %s.\n", output__name(output),
		 pipeline__writer_name(&output->pipeline, output->regular));
	output->pipeline.compressor.cuttable = output->droppable;
	output->pipeline.read_back = output__is_read_back(output);
	pipeline__open(&output->pipeline, output__fd(output), start, output->regular);
	return 0;
}

static void output__free_session(struct output *output)
{
	reserve__release(&output->reserve);
	if (output->session) {
		output->session->data = NULL;		/* closed already */
		perf_session__delete(output->session);
	}
	output->session = NULL;
}

/* Decide as perf_data__open() will: the workload must know before the output is opened. */
bool output__will_be_pipe(const struct output *output)
{
	struct stat st;

	if (output->data.path)
		return !strcmp(output->data.path, "-");
	return !fstat(STDOUT_FILENO, &st) && S_ISFIFO(st.st_mode);
}

/* perf_session__new() renames an existing file to .old, and prints why it cannot open a file. */
static int open_first(struct output *output, const char *path)
{
	struct perf_session *session;
	struct stat st = { 0 };
	int err;

	output->reserve.fd = -1;
	output->replaced = !stat(path, &st) && st.st_size;
	if (name__is_other_directory(path, &st)) {
		pr_err("Cannot write to -o %s: it is a directory. Example: -o %s/perf.data\n",
		       path, path);
		return -EISDIR;
	}
	if (!output__will_be_pipe(output) && claim__check(path))
		return explain_claimed(path);
	output_tool__init(&output->tool, (output->build_ids || output->cache_binaries) &&
			  !output->all_build_ids);
	output->data.is_dir = output->kcore;
	errno = 0;
	session = perf_session__new(&output->data, &output->tool);
	if (IS_ERR(session)) {
		err = errno == EMFILE ? -EMFILE : PTR_ERR(session);
		pr_err("Cannot create the output file %s.\n", path);
		if (output->replaced && access(path, F_OK))
			name__restore_old(path);
		return err;
	}
	output->session = session;
	session->evlist = output->evlist;
	evlist__set_session(output->evlist, session);
	perf_session__set_id_hdr_size(session);
	features__init(session, output->evlist, output->build_ids);

	err = output__start_file(output);
	if (err) {
		output__discard(output);
		output__free_session(output);
	}
	return err;
}

int output__open(struct output *output)
{
	const char *path = output->data.path ?: "perf.data";
	int guard = output__will_be_pipe(output) ? -1 : claim__begin(path);
	int err = open_first(output, path);

	claim__end(guard);
	return err;
}

static void explain_end(const struct output *output)
{
	if (!output->droppable)
		pr_err("The recording ends; %.3f MB of it are saved.\n",
		       output__bytes(output) / 1024.0 / 1024.0);
}

/* Called in a thread of the pipeline. */
static void output__write_failed(void *arg, int err, u64 end)
{
	struct output *output = arg;

	output->err = err;
	if (output->regular && ftruncate(output__fd(output), end))
		pr_debug("Cannot cut %s behind the last whole record: %m\n", output__name(output));
	pr_err("\nCannot write to %s: %s\n", output__name(output), strerror(-err));
	explain_end(output);
	eventfd__signal(output->error_fd);
}

/* Called in a thread of the pipeline. */
static void output__compress_failed(void *arg, int err)
{
	struct output *output = arg;

	output->err = err;
	pr_err("\n-z %d: cannot compress records for %s: %s.%s\n", output->pipeline.level,
	       output__name(output), strerror(-err),
	       err == -ENOMEM ? " Lower levels need less memory." : "");
	explain_end(output);
	eventfd__signal(output->error_fd);
}

int output__answer(const struct output *output)
{
	u64 max_file_bytes = __atomic_load_n(&output->max_file_bytes, __ATOMIC_RELAXED);

	if (output->max_bytes && output__kept(output) >= output->max_bytes)
		return SINK_STOP_READING;
	return max_file_bytes && output__bytes(output) >= max_file_bytes ? SINK_WAKE_RECORDER : 0;
}

static int write_stream(struct record_sink *sink, const struct records *records, struct ring *ring)
{
	struct output *output = container_of(sink, struct output, sink);

	return output__write(output, records, &ring->stats) ?: output__answer(output);
}

static int rescue_stream(struct record_sink *sink, const struct records *records,
			 struct ring *ring __maybe_unused)
{
	struct output *output = container_of(sink, struct output, sink);

	rescue__add_all(&output->pipeline.rescue, records);
	return 0;
}

void output__begin_rescue(struct output *output)
{
	output__flush(output);
	output->sink.write = rescue_stream;
}

int output__init(struct output *output)
{
	static const struct pipeline_ops ops = {
		.write_failed	 = output__write_failed,
		.compress_failed = output__compress_failed,
	};
	const u64 max_bytes = output->pipeline.max_bytes;
	int err;

	output->sink.write = write_stream;
	pthread_mutex_init(&output->spans.lock, NULL);
	output->error_fd = eventfd__new();
	err = min(output->error_fd, 0);
	if (!err)
		err = pipeline__init(&output->pipeline, &ops, output);
	if (err)
		pr_err("Cannot create the writing threads and their buffer of %" PRIu64 " MB: %s. Try a smaller "
		       "--write-buffer.\n", output->pipeline.max_bytes >> 20, strerror(-err));
	else if (output->pipeline.max_bytes < max_bytes)
		pr_warning("Not enough address space (ulimit -v) for a write buffer of %" PRIu64
			   " MB: using %" PRIu64 " MB. See --write-buffer.\n", max_bytes >> 20,
			   output->pipeline.max_bytes >> 20);
	return err;
}

void output__exit(struct output *output)
{
	pipeline__log(&output->pipeline);
	pipeline__exit(&output->pipeline);
	pthread_mutex_destroy(&output->spans.lock);
	fd__close(&output->error_fd);
	output__free_session(output);
}

/* Extend the span by the run that @stats have counted last. */
static void note_times(struct output *output, const struct ring_stats *stats)
{
	file_spans__extend(&output->spans, stats->run_first, stats->run_last);
}

/* The records may come to the next file if output__next() is called meanwhile: note both. */
int output__write(struct output *output, const struct records *records, struct ring_stats *stats)
{
	struct ring_stats ignored = { 0 };
	size_t len = records__len(records), whole;

	if (!output->open)
		return output->err ?: -EBADF;
	/* Count first: records that cannot be written are subtracted in the end. */
	whole = ring_stats__add(stats ?: &ignored, records, len);
	if (whole < len)
		pr_warning("Malformed record: the last %zu bytes of a run of records may not be readable.\n",
			   len - whole);
	note_times(output, stats ?: &ignored);
	if (pipeline__append(&output->pipeline, records))
		return output__flush(output);
	note_times(output, stats ?: &ignored);
	return 0;
}

int output__write_kept(struct output *output, const struct records *records, u64 raw_len,
		       const struct time_span *span)
{
	file_spans__extend(&output->spans, span->first, span->last);
	output->kept_raw += raw_len;
	output->kept_bytes += records__len(records);
	return output__write(output, records, NULL);
}

int output__mark(struct output *output, unsigned int type)
{
	const struct perf_event_header header = { .type = type, .size = sizeof(header) };

	return output__write_data(output, &header, sizeof(header));
}

int output__write_synthesized(const struct perf_tool *tool, union perf_event *event,
			      struct perf_sample *sample __maybe_unused,
			      struct machine *machine __maybe_unused)
{
	struct output *output = container_of(tool, struct output, tool);

	return perf_event__is_too_new(event) ? 0 :
	       output__write_data(output, event, event->header.size);
}

int output__write_unit(struct output *output, const struct records *unit, u64 *pos)
{
	if (!output->open)
		return output->err ?: -EBADF;
	return pipeline__append_unit(&output->pipeline, unit, pos) ? output__flush(output) : 0;
}

int output__error(struct output *output)
{
	return pipeline__error(&output->pipeline);
}

int output__flush(struct output *output)
{
	return pipeline__flush(&output->pipeline) ?: output->err;
}

bool output__no_space(const struct output *output)
{
	return output->no_space || output->err == -ENOSPC || output->err == -EDQUOT ||
	       output->err == -EFBIG;
}

/* Clear the error to go on with the recording. Remember whether space was missing. */
static void forget_error(struct output *output)
{
	output->no_space = output__no_space(output);
	output->err = 0;
}

struct unsaved output__unsaved(const struct output *output)
{
	return pipeline__unsaved(&output->pipeline);
}

void output__hold(struct output *output)
{
	pipeline__hold(&output->pipeline);
}

void output__release(struct output *output)
{
	pipeline__release(&output->pipeline);
}

void output__next(struct output *output)
{
	if (!output->open)
		return;
	pipeline__next(&output->pipeline);
	file_spans__end(&output->spans);
}

u64 output__bytes(const struct output *output)
{
	return output->open ? pipeline__bytes(&output->pipeline) : 0;
}

u64 output__total(const struct output *output)
{
	return __atomic_load_n(&output->closed, __ATOMIC_RELAXED) + output__bytes(output);
}

u64 output__kept(const struct output *output)
{
	return output__total(output) - __atomic_load_n(&output->removed, __ATOMIC_RELAXED);
}

void output__add_removed(struct output *output, u64 bytes)
{
	__atomic_store_n(&output->removed, output->removed + bytes, __ATOMIC_RELAXED);
}

/*
 * Write the header without features when the disk is too full for them: the header itself has its
 * place at the begin of the file, and records without features are better than nothing. If the
 * formats of tracepoints are missing, no reader accepts such a file: let the header list the
 * features all the same, as in a truncated file, whose formats this perf finds on this machine.
 */
static int write_bare_header(struct output *output)
{
	struct perf_header *header = &output->session->header;
	DECLARE_BITMAP(features, HEADER_FEAT_BITS);
	int fd = output__fd(output), err;
	bool incomplete;

	if (ftruncate(fd, header->data_offset + header->data_size))
		return -errno;
	memcpy(features, header->adds_features, sizeof(features));
	bitmap_zero(header->adds_features, HEADER_FEAT_BITS);
	err = features__write(output->session, output->evlist, fd, &incomplete);
	memcpy(header->adds_features, features, sizeof(features));
	if (!err && test_bit(HEADER_TRACING_DATA, features) &&
	    pwrite(fd, features, sizeof(features),
		   offsetof(struct perf_file_header, adds_features)) != sizeof(features))
		err = -EIO;
	return err;
}

static const char *write_what_fits(struct output *output)
{
	return write_bare_header(output) ?
	       "perf report --force may read it." :
	       "The file lacks hostname, build-ids, tracepoint formats: read it on this machine.";
}

static void write_features(struct output *output)
{
	bool incomplete;
	int err = features__write(output->session, output->evlist, output__fd(output),
				  &incomplete);

	if (!err)
		return;
	pr_err("Cannot complete the header of %s: %s. %s\n", output__name(output), strerror(-err),
	       incomplete ? "The file lacks build-ids or other descriptions." :
			    write_what_fits(output));
	output->err = output->err ?: err;
}

/* Copy the binaries that samples have hit to the build-id cache. */
static void cache_binaries(struct output *output)
{
	perf_session__read_build_ids(output->session, /*with_hits=*/true);
	perf_session__cache_build_ids(output->session);
}

static void output__finish_file(struct output *output)
{
	struct perf_session *session = output->session;
	u64 bytes = pipeline__file_bytes(&output->pipeline);

	session->header.data_size = bytes;
	aux_index__cut(&session->auxtrace_index, output->pipeline.start + bytes);
	output->data.file.size = lseek(output__fd(output), output->pipeline.start + bytes,
				       SEEK_SET);
	if (!pipeline__has_next(&output->pipeline))
		file_spans__end(&output->spans);
	output->evlist->first_sample_time = output->spans.ended.first;
	output->evlist->last_sample_time = output->spans.ended.last;
	if (output__is_read_back(output))
		output_tool__read_back(output->session, output->all_build_ids);
	features__update_clock(session);

	/* Not earlier: others fill the disk, too. */
	reserve__release(&output->reserve);
	write_features(output);
	if (output->cache_binaries)
		cache_binaries(output);
}

/* Drop the records that were appended for the next file, if any. */
static void drop_next(struct output *output)
{
	pipeline__drop_next(&output->pipeline, output->err);
	output->open = false;
}

/* Writing has failed: with compression the file ends behind the last whole chunk. */
static void cut_file(struct output *output)
{
	u64 end;

	if (pipeline__cut(&output->pipeline, &end) && output->regular &&
	    ftruncate(output__fd(output), end))
		pr_debug("Cannot cut %s behind the last whole chunk: %m\n", output__name(output));
}

static int append_rescued(struct output *output)
{
	u64 end = output->pipeline.start + pipeline__file_bytes(&output->pipeline);
	const struct rescue *rescue = &output->pipeline.rescue;
	int fd = output__fd(output), err;

	errno = 0;
	if (lseek(fd, end, SEEK_SET) == (off_t)end &&
	    writen(fd, rescue->data, rescue->len) == (ssize_t)rescue->len) {
		pipeline__append_rescued(&output->pipeline);
		return 0;
	}
	err = errno ? -errno : -EIO;
	if (ftruncate(fd, end))
		pr_debug("Cannot cut %s behind the last whole record: %m\n", output__name(output));
	return err;
}

/*
 * Append the names of tasks and maps that could not be written, in the space of the reserve. What
 * is left of it is still for the features.
 */
static void write_rescued(struct output *output)
{
	int err;

	if (!output->pipeline.rescue.len || !output->regular || output->reserve.small)
		return;
	reserve__release(&output->reserve);
	err = append_rescued(output);
	if (err)
		pr_debug("Cannot append names of tasks to %s: %s\n", output__name(output),
			 strerror(-err));
	take_reserve(output);
}

/*
 * Delayed writes fail when the file is closed (NFS, quota), by whichever of its descriptors.
 * perf_data__close() returns no error, so close a duplicate before.
 */
static void output__save_file(struct output *output)
{
	int fd = dup(output__fd(output)), err;

	if (fd < 0 || !close(fd))
		return;
	err = -errno;
	pr_err("Cannot save %s: %s. Data that were written last may be missing.\n",
	       output__name(output), strerror(-err));
	output->err = output->err ?: err;
}

int output__close(struct output *output)
{
	u64 bytes, ratio;

	if (!output->open)
		return output->err;
	pipeline__close(&output->pipeline);
	if (output->err) {
		cut_file(output);
		write_rescued(output);
	}
	ratio = output->kept_bytes ? output->kept_raw / output->kept_bytes :
				     pipeline__ratio(&output->pipeline);
	if (ratio)
		output->session->header.env.comp_ratio = ratio;
	if (output->regular)
		output__finish_file(output);
	output->fate = output->regular ?
		       claim__fate(&output->claim, output__fd(output), output->data.path) :
		       FILE_KEPT;
	output__save_file(output);
	perf_data__close(&output->data);

	bytes = pipeline__file_bytes(&output->pipeline);
	/* In this order: output__total() must not count the file twice. */
	pipeline__forget_file(&output->pipeline);
	output->deleted = output->fate == FILE_DELETED ? bytes : 0;
	__atomic_store_n(&output->closed, output->closed + bytes - output->deleted,
			 __ATOMIC_RELAXED);
	if (output->err || !pipeline__has_next(&output->pipeline))
		drop_next(output);
	return output->err;
}

int output__sync(const struct output *output, const char *name)
{
	return name__sync(name, output->kcore);
}

/*
 * Return whether the file was removed. Devices, pipes and files of others are not removed. Nor is a
 * symbolic link, such as /dev/stdout: the file that it leads to is emptied.
 */
static bool remove_file(struct output *output)
{
	bool ours = output->regular && claim__names(&output->claim, output->data.path);
	bool linked = ours && name__is_link(output->data.path);

	if (linked && ftruncate(output__fd(output), 0))
		pr_debug("Cannot empty %s: %m\n", output__name(output));
	perf_data__close(&output->data);
	output->open = false;
	return ours && !linked && !rm_rf_perf_data(output->data.path);
}

void output__discard(struct output *output)
{
	pipeline__close(&output->pipeline);
	if (remove_file(output) && output->replaced)
		name__restore_old(output->data.path);
}

void output__drop(struct output *output)
{
	pipeline__close(&output->pipeline);
	reserve__release(&output->reserve);
	if (output->open)
		remove_file(output);
	pipeline__reset(&output->pipeline);
	file_spans__end(&output->spans);
	eventfd__clear(output->error_fd);
	forget_error(output);
}

void output__set_whole(struct output *output)
{
	output->has_whole = output->regular;
	output->whole_bytes = output__bytes(output);
	output->whole_span = output->spans.present;
}

int output__cut(struct output *output)
{
	u64 end = output->pipeline.start + output->whole_bytes;
	int fd = output__fd(output), err;

	pipeline__close(&output->pipeline);
	if (ftruncate(fd, end)) {
		err = -errno;
		pr_err("Cannot remove an incomplete snapshot from %s: %m\n", output__name(output));
		return err;
	}
	pipeline__reset(&output->pipeline);
	pipeline__resume(&output->pipeline, fd, end, output->regular);
	output->spans.present = output->whole_span;
	eventfd__clear(output->error_fd);
	forget_error(output);
	return 0;
}

int output__close_as(struct output *output, const char *suffix, char **name)
{
	bool open = output->open;
	int err = output__close(output), rename_err;

	*name = NULL;
	if (!open || !output->regular || output->fate != FILE_KEPT)
		return err;
	rename_err = name__add_suffix(output->data.path, suffix, name);
	return err ?: rename_err;
}

static int open_next(struct output *output)
{
	int err = output->err;

	if (!err && claim__check(output->data.path))
		err = output->err = explain_claimed(output->data.path);
	if (!err && perf_data__open(&output->data) < 0) {
		err = output->err = errno ? -errno : -EIO;
		pr_err("Cannot create the next output file %s: %s\n", output->data.path,
		       strerror(-err));
	}
	if (err) {
		drop_next(output);
		return err;
	}
	err = output__start_file(output);
	if (err) {
		drop_next(output);
		remove_file(output);
	}
	return err;
}

int output__reopen(struct output *output)
{
	int guard = claim__begin(output->data.path), err = open_next(output);

	claim__end(guard);
	return err;
}
