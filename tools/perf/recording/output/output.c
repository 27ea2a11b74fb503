// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <sys/stat.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/header.h"
#include "util/path.h"
#include "util/session.h"
#include "util/symbol.h"
#include "util/util.h"
#include "features.h"
#include "output.h"
#include "tool.h"
#include "recording/lib/eventfd.h"
#include "recording/write/writer.h"
#include "recording/write/writer_sync.h"

static int output__fd(struct output *output)
{
	return perf_data__fd(&output->data);
}

static const char *output__name(const struct output *output)
{
	return output->data.is_pipe ? "standard output" : output->data.path;
}

static void describe_compression(struct output *output)
{
	struct perf_header *header = &output->session->header;

	header->env.comp_type = PERF_COMP_ZSTD;
	header->env.comp_level = output->level;
	header->env.comp_mmap_len = CHUNK_SIZE;
	perf_header__set_feat(header, HEADER_COMPRESSED);
}

/* What reads the file back begins anew, too. */
static void begin_compression(struct output *output)
{
	zstd_fini(&output->session->zstd_data);
	zstd_init(&output->session->zstd_data, 0);
	compressor__begin_file(&output->compressor);
	write_queue__open(&output->raw, &output->compressor.writer, -1, 0, true);
}

/* What goes into chunks first. */
static struct write_queue *first_queue(struct output *output)
{
	return output->level ? &output->raw : &output->queue;
}

static int output__start_file(struct output *output)
{
	struct perf_session *session = output->session;
	struct writer *writer;
	struct stat st;
	u64 start;
	int err;

	output->open = true;
	if (output->level)
		describe_compression(output);
	output->regular = !output__is_pipe(output) && !fstat(output__fd(output), &st) &&
			  S_ISREG(st.st_mode);
	if (output__is_pipe(output)) {
		err = perf_header__write_pipe(output__fd(output));
	} else {
		session->header.data_size = 0;
		err = perf_session__write_header(session, output->evlist, output__fd(output), false);
		if (output->regular)
			reserve__take(&output->reserve, output->data.path,
				      output->evlist->core.nr_entries);
	}
	if (err < 0) {
		output->err = errno ? -errno : -EIO;
		pr_err("Cannot write the header of %s: %s\n", output__name(output),
		       strerror(-output->err));
		return output->err;
	}
	start = output__is_pipe(output) ? 0 : session->header.data_offset;
	if (output->queue.turned && start != output->start) {
		pr_err("%s begins at %" PRIu64 ", the file before at %" PRIu64 ".\n",
		       output__name(output), start, output->start);
		output->err = -EINVAL;
		return output->err;
	}
	output->start = start;
	writer = output->regular ? output->writer : output->stream_writer;
	pr_debug("Writing to %s by %s.\n", output__name(output), writer->ops->name);
	write_queue__open(&output->queue, writer, output__fd(output), output->start, output->regular);
	if (output->level)
		begin_compression(output);
	return 0;
}

/* As it is when the file begins. What is patched after that, the file tells (PERF_RECORD_TEXT_POKE). */
static int output__copy_kernel(struct output *output)
{
	char dir[PATH_MAX];

	if (!output->kcore || (!perf_data__make_kcore_dir(&output->data, dir, sizeof(dir)) &&
			       !kcore_copy("/proc", dir)))
		return 0;
	pr_err("--kcore: cannot copy the kernel's code from /proc/kcore to %s. It takes root, addresses that "
	       "are not hidden (kernel.kptr_restrict), and a kernel with modules.\n",
	       output__name(output));
	return output->err = -EIO;
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

/* A recording can be a directory, with a file "data" in it. No other is to be moved out of the way. */
static bool is_other_directory(const char *path, const struct stat *st)
{
	char data[PATH_MAX];

	if (!S_ISDIR(st->st_mode))
		return false;
	path__join(data, sizeof(data), path, "data");
	return !is_perf_data(data);
}

/* util's perf_data__open() keeps what exists as .old, and says why it cannot open a file. */
int output__open(struct output *output)
{
	const char *path = output->data.path ?: "perf.data";
	struct perf_session *session;
	struct stat st = { 0 };
	int err;

	output->reserve.fd = -1;
	output->replaced = !stat(path, &st) && st.st_size;
	if (is_other_directory(path, &st)) {
		pr_err("-o %s: is a directory. Example: -o %s/perf.data\n", path, path);
		return -EISDIR;
	}
	output_tool__init(&output->tool, output->build_ids && !output->all_build_ids);
	output->data.is_dir = output->kcore;
	session = perf_session__new(&output->data, &output->tool);
	if (IS_ERR(session)) {
		pr_err("Cannot create the output file %s.\n", output->data.path ?: "perf.data");
		return PTR_ERR(session);
	}
	output->session = session;
	session->evlist = output->evlist;
	output->evlist->env = &session->header.env;
	perf_session__set_id_hdr_size(session);
	features__init(session, output->evlist, output->build_ids);

	err = output__start_file(output) ?: output__copy_kernel(output);
	if (err) {
		output__discard(output);
		output__free_session(output);
	}
	return err;
}

/* In the queue's thread. */
static void output__failed(void *arg, int err, u64 end)
{
	struct output *output = arg;

	output->err = err;
	reserve__release(&output->reserve);
	if (output->regular && ftruncate(output__fd(output), end))
		pr_debug("%s: cannot go back to the last whole record: %m\n", output__name(output));
	pr_err("\nCannot write to %s: %s. The recording ends; %.3f MB of it are saved.\n",
	       output__name(output), strerror(-err), output__bytes(output) / 1024.0 / 1024.0);
	eventfd__signal(output->error_fd);
}

static int new_writers(struct output *output)
{
	output->writer = writer__new(&output->io, &output->queue.pool);
	output->stream_writer = writer_sync__new();
	return output->writer && output->stream_writer ? 0 : -ENOMEM;
}

/* With the error of the file's queue, which has told; or else it is the compressor that has failed. */
static void raw__failed(void *arg, int err, u64 end __maybe_unused)
{
	struct output *output = arg;

	if (write_queue__drain(&output->queue))
		return;
	output->err = err;
	pr_err("\n-z %d: cannot compress what is for %s: %s.%s The recording ends; %.3f MB of it are "
	       "saved.\n", output->level, output__name(output), strerror(-err),
	       err == -ENOMEM ? " Lower levels need less." : "",
	       output__bytes(output) / 1024.0 / 1024.0);
	eventfd__signal(output->error_fd);
}

static int init_compression(struct output *output, u64 write_buffer)
{
	if (!output->level)
		return 0;
	return compressor__init(&output->compressor, &output->queue, output->level) ?:
	       write_queue__init(&output->raw, write_buffer, raw__failed, output);
}

int output__init(struct output *output)
{
	u64 write_buffer = output->level ? output->write_buffer / 2 : output->write_buffer;
	int err;

	output->error_fd = eventfd__new();
	err = min(output->error_fd, 0);
	if (!err)
		err = write_queue__init(&output->queue, write_buffer, output__failed, output);
	if (!err)
		err = init_compression(output, write_buffer);
	if (!err)
		err = new_writers(output);
	scnprintf(output->worker_name, sizeof(output->worker_name), "iou-wrk-%d", output->queue.tid);
	if (err)
		pr_err("Cannot set up a thread that writes: %s\n", strerror(-err));
	return err;
}

void output__exit(struct output *output)
{
	writer__delete(output->writer);
	writer__delete(output->stream_writer);
	output->writer = output->stream_writer = NULL;
	write_queue__exit(&output->raw);
	write_queue__exit(&output->queue);
	compressor__exit(&output->compressor);
	eventfd__free(&output->error_fd);
	output__free_session(output);
}

int output__write(struct output *output, const struct records *records, struct ring_stats *stats)
{
	struct ring_stats ignored = { 0 };
	size_t len = records__len(records), whole;

	if (!output->open)
		return output->err ?: -EBADF;
	/* First, because what cannot be written is subtracted from it. */
	whole = ring_stats__add(stats ?: &ignored, records, len);
	if (whole < len)
		pr_warning("Malformed record: %zu bytes from it on may not be readable.\n", len - whole);
	return write_queue__append(first_queue(output), records) ? output__drain(output) : 0;
}

int output__write_unit(struct output *output, const struct records *unit, u64 *pos)
{
	if (!output->open)
		return output->err ?: -EBADF;
	return write_queue__append_unit(&output->queue, unit, pos) ? output__drain(output) : 0;
}

int output__error(struct output *output)
{
	int err = write_queue__error(&output->queue);

	return err || !output->level ? err : write_queue__error(&output->raw);
}

int output__drain(struct output *output)
{
	if (output->level)
		write_queue__drain(&output->raw);
	return write_queue__drain(&output->queue) ?: output->err;
}

struct unsaved output__unsaved(const struct output *output)
{
	struct unsaved unsaved = output->queue.unsaved;

	if (!output->level)
		return unsaved;
	unsaved = output->raw.unsaved;
	unsaved.records += output->compressor.given_up.records;
	unsaved.samples += output->compressor.given_up.samples;
	unsaved.bytes += output->compressor.given_up.bytes;
	return unsaved;
}

static void end_compression(struct output *output)
{
	const struct compressor *compressor = &output->compressor;
	u64 end = write_queue__end(&output->queue);

	if (output->err) {
		end = compressor__give_up(&output->compressor, end);
		write_queue__cut(&output->queue, end);
		if (output->regular && ftruncate(output__fd(output), end))
			pr_debug("%s: cannot go back to the last whole chunk: %m\n",
				 output__name(output));
	}
	if (compressor->compressed)
		output->session->header.env.comp_ratio = compressor->raw / compressor->compressed;
}

static void close_queues(struct output *output)
{
	if (output->raw.running)
		write_queue__close(&output->raw);
	if (output->queue.running)
		write_queue__close(&output->queue);
}

void output__hold(struct output *output)
{
	write_queue__hold(first_queue(output));
}

void output__release(struct output *output)
{
	write_queue__release(first_queue(output));
}

void output__next(struct output *output)
{
	if (output->open)
		write_queue__next(first_queue(output), output->level ? 0 : output->start);
}

u64 output__bytes(const struct output *output)
{
	return output->open ? write_queue__end(&output->queue) - output->start : 0;
}

u64 output__total(const struct output *output)
{
	return __atomic_load_n(&output->closed, __ATOMIC_RELAXED) + output__bytes(output);
}

/* Of the file that is being completed. */
static u64 file_bytes(const struct output *output)
{
	return write_queue__file_end(&output->queue) - output->start;
}

static int write_final_header(struct output *output)
{
	return perf_session__write_header(output->session, output->evlist, output__fd(output), true);
}

/*
 * Where there is no room for the features, records without them are better than nothing: the header
 * itself has its room at the begin of the file.
 */
static int write_bare_header(struct output *output)
{
	struct perf_header *header = &output->session->header;

	bitmap_zero(header->adds_features, HEADER_FEAT_BITS);
	if (ftruncate(output__fd(output), header->data_offset + header->data_size))
		return -errno;
	return write_final_header(output);
}

static void output__finish_file(struct output *output)
{
	struct perf_session *session = output->session;
	int err;

	reserve__release(&output->reserve);
	if (!output->regular)
		return;

	session->header.data_size = file_bytes(output);
	output->data.file.size = lseek(output__fd(output), output->start + file_bytes(output), SEEK_SET);
	if (output->build_ids || output->sample_times)
		output_tool__read_back(output->session, output->all_build_ids);

	errno = 0;
	if (!write_final_header(output))
		return;
	err = errno ? -errno : -EIO;
	pr_err("Cannot complete the header of %s: %s. %s\n", output__name(output), strerror(-err),
	       write_bare_header(output) ? "perf report --force may read it." :
	       "It has no names of hosts, build-ids and tracepoints.");
	output->err = output->err ?: err;
}

/* There is no next file. */
static void give_up_next(struct output *output)
{
	write_queue__abandon(first_queue(output), output->err);
	output->open = false;
}

int output__close(struct output *output)
{
	u64 bytes;

	if (!output->open)
		return output->err;
	close_queues(output);
	if (output->level)
		end_compression(output);
	output__finish_file(output);
	perf_data__close(&output->data);

	bytes = file_bytes(output);
	if (output->level)	/* the other threads count what they write, and not this once more */
		write_queue__cut(&output->queue, output->start);
	__atomic_store_n(&output->closed, output->closed + bytes, __ATOMIC_RELAXED);
	if (output->err || !first_queue(output)->turned)
		give_up_next(output);
	return output->err;
}

/* Returns whether there is none any more; /dev/null is left, and a pipe. */
static bool remove_file(struct output *output)
{
	perf_data__close(&output->data);
	output->open = false;
	return output->regular && !rm_rf_perf_data(output->data.path);
}

void output__discard(struct output *output)
{
	char *old = NULL;

	close_queues(output);
	if (!remove_file(output))
		return;
	if (output->replaced && asprintf(&old, "%s.old", output->data.path) >= 0 &&
	    rename(old, output->data.path))
		pr_warning("Cannot rename %s to %s: %m\n", old, output->data.path);
	free(old);
}

/* Two snapshots may be taken within what the suffix resolves: nothing is ever replaced. */
static char *free_name(const char *path, const char *suffix)
{
	char *name = NULL;
	int nr;

	if (asprintf(&name, "%s.%s", path, suffix) < 0)
		return NULL;
	for (nr = 1; !access(name, F_OK); nr++) {
		free(name);
		if (asprintf(&name, "%s.%s-%d", path, suffix, nr) < 0)
			return NULL;
	}
	return name;
}

int output__close_as(struct output *output, const char *suffix, char **name)
{
	bool open = output->open;
	int err = output__close(output);

	*name = NULL;
	if (!open)
		return err;
	*name = free_name(output->data.path, suffix);
	if (!*name)
		return err ?: -ENOMEM;
	/* Somebody has moved it away, say. The next file is none the worse for it. */
	if (rename(output->data.path, *name)) {
		pr_warning("Cannot rename %s to %s: %m\n", output->data.path, *name);
		zfree(name);
	}
	return err;
}

int output__reopen(struct output *output)
{
	int err = output->err;

	if (!err && perf_data__open(&output->data) < 0) {
		err = output->err = errno ? -errno : -EIO;
		pr_err("Cannot create the next output file %s: %s\n", output->data.path, strerror(-err));
	}
	if (err) {
		give_up_next(output);
		return err;
	}
	err = output__start_file(output) ?: output__copy_kernel(output);
	if (err) {
		give_up_next(output);
		remove_file(output);
	}
	return err;
}
