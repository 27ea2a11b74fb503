// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>
#include "util/debug.h"
#include "pipeline.h"
#include "writer.h"
#include "writer_sync.h"

/* The queue that pipeline__append() appends to. */
static struct write_queue *first_queue(struct pipeline *pipeline)
{
	return pipeline->level ? &pipeline->raw_queue : &pipeline->file_queue;
}

static void file_queue__failed(void *arg, int err, u64 end)
{
	struct pipeline *pipeline = arg;

	pipeline->ops->write_failed(pipeline->arg, err, end);
}

/* Called, too, when the file queue has failed, which has reported its error itself. */
static void raw_queue__failed(void *arg, int err, u64 end __maybe_unused)
{
	struct pipeline *pipeline = arg;

	if (!write_queue__flush(&pipeline->file_queue))
		pipeline->ops->compress_failed(pipeline->arg, err);
}

static int init_compression(struct pipeline *pipeline, u64 max_bytes)
{
	if (!pipeline->level)
		return 0;
	return compressor__init(&pipeline->compressor, &pipeline->file_queue, pipeline->level) ?:
	       write_queue__init(&pipeline->raw_queue, max_bytes, raw_queue__failed, pipeline);
}

static int init_writers(struct pipeline *pipeline)
{
	pipeline->writer = writer__new(&pipeline->io, &pipeline->file_queue.pool);
	pipeline->stream_writer = writer_sync__new();
	return pipeline->writer && pipeline->stream_writer ? 0 : -ENOMEM;
}

/* Is there address space for the buffer, and for threads, rings and copies of them? */
static bool has_space(const struct pipeline *pipeline)
{
	const size_t bytes = 4 * pipeline->max_bytes;
	void *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			    0);

	return memory != MAP_FAILED && !munmap(memory, bytes);
}

int pipeline__init(struct pipeline *pipeline, const struct pipeline_ops *ops, void *arg)
{
	u64 max_bytes;
	int err;

	pipeline->ops = ops;
	pipeline->arg = arg;
	while (pipeline->shrinks && pipeline->max_bytes / 4 >= PIPELINE_MIN_BYTES &&
	       !has_space(pipeline))
		pipeline->max_bytes /= 4;
	max_bytes = pipeline->level ? pipeline->max_bytes / 2 : pipeline->max_bytes;
	err = write_queue__init(&pipeline->file_queue, max_bytes, file_queue__failed, pipeline);
	if (!err)
		err = init_compression(pipeline, max_bytes);
	if (!err)
		err = init_writers(pipeline);
	first_queue(pipeline)->rescue = &pipeline->rescue;
	return err;
}

void pipeline__exit(struct pipeline *pipeline)
{
	writer__delete(pipeline->writer);
	writer__delete(pipeline->stream_writer);
	pipeline->writer = pipeline->stream_writer = NULL;
	write_queue__exit(&pipeline->raw_queue);
	write_queue__exit(&pipeline->file_queue);
	compressor__exit(&pipeline->compressor);
	rescue__exit(&pipeline->rescue);
}

int pipeline__for_each_fast_thread(const struct pipeline *pipeline,
				   int (*fn)(void *arg, pthread_t thread), void *arg)
{
	int err = 0;

	if (pipeline->file_queue.running)
		err = fn(arg, pipeline->file_queue.thread);
	if (!err && pipeline->raw_queue.running && pipeline->level <= PIPELINE_FAST_LEVEL)
		err = fn(arg, pipeline->raw_queue.thread);
	return err;
}

void pipeline__resume(struct pipeline *pipeline, int fd, u64 pos, bool regular)
{
	struct writer *writer = regular ? pipeline->writer : pipeline->stream_writer;

	writer->keep_cached = pipeline->read_back;
	write_queue__open(&pipeline->file_queue, writer, fd, pos, regular);
	if (!pipeline->level)
		return;
	compressor__begin_file(&pipeline->compressor);
	write_queue__open(&pipeline->raw_queue, &pipeline->compressor.writer, -1, 0, true);
}

void pipeline__open(struct pipeline *pipeline, int fd, u64 pos, bool regular)
{
	pipeline->start = pos;
	pipeline__resume(pipeline, fd, pos, regular);
}

const char *pipeline__writer_name(const struct pipeline *pipeline, bool regular)
{
	return (regular ? pipeline->writer : pipeline->stream_writer)->ops->name;
}

int pipeline__append(struct pipeline *pipeline, const struct records *records)
{
	return write_queue__append(first_queue(pipeline), records);
}

int pipeline__append_unit(struct pipeline *pipeline, const struct records *unit, u64 *pos)
{
	return write_queue__append_unit(&pipeline->file_queue, unit, pos);
}

void pipeline__hold(struct pipeline *pipeline)
{
	write_queue__hold(first_queue(pipeline));
}

void pipeline__release(struct pipeline *pipeline)
{
	write_queue__release(first_queue(pipeline));
}

int pipeline__flush(struct pipeline *pipeline)
{
	if (pipeline->level)
		write_queue__flush(&pipeline->raw_queue);
	return write_queue__flush(&pipeline->file_queue);
}

int pipeline__error(struct pipeline *pipeline)
{
	int err = write_queue__error(&pipeline->file_queue);

	return err || !pipeline->level ? err : write_queue__error(&pipeline->raw_queue);
}

void pipeline__next(struct pipeline *pipeline)
{
	write_queue__next_file(first_queue(pipeline), pipeline->level ? 0 : pipeline->start);
}

bool pipeline__has_next(const struct pipeline *pipeline)
{
	return pipeline->level ? pipeline->raw_queue.in_next_file :
				 pipeline->file_queue.in_next_file;
}

void pipeline__drop_next(struct pipeline *pipeline, int err)
{
	write_queue__drop_next(first_queue(pipeline), err);
}

void pipeline__close(struct pipeline *pipeline)
{
	if (pipeline->raw_queue.running)
		write_queue__close(&pipeline->raw_queue);
	if (pipeline->file_queue.running)
		write_queue__close(&pipeline->file_queue);
}

bool pipeline__cut(struct pipeline *pipeline, u64 *end)
{
	if (!pipeline->level)
		return false;
	*end = compressor__drop(&pipeline->compressor, write_queue__end(&pipeline->file_queue));
	write_queue__truncate(&pipeline->file_queue, *end);
	return true;
}

void pipeline__append_rescued(struct pipeline *pipeline)
{
	struct write_queue *first = first_queue(pipeline);

	first->unsaved.records -= pipeline->rescue.dropped;
	write_queue__truncate(&pipeline->file_queue,
			      write_queue__file_end(&pipeline->file_queue) + pipeline->rescue.len);
}

void pipeline__reset(struct pipeline *pipeline)
{
	write_queue__reset(&pipeline->file_queue);
	write_queue__truncate(&pipeline->file_queue, pipeline->start);
	if (pipeline->level) {
		write_queue__reset(&pipeline->raw_queue);
		pipeline->compressor.unsaved = (struct unsaved){ 0 };
	}
	rescue__exit(&pipeline->rescue);
}

/* With compression pipeline__next() ends the file of the raw queue only. */
void pipeline__forget_file(struct pipeline *pipeline)
{
	if (pipeline->level)
		write_queue__truncate(&pipeline->file_queue, pipeline->start);
}

u64 pipeline__bytes(const struct pipeline *pipeline)
{
	return write_queue__end(&pipeline->file_queue) - pipeline->start;
}

u64 pipeline__file_bytes(const struct pipeline *pipeline)
{
	return write_queue__file_end(&pipeline->file_queue) - pipeline->start;
}

u64 pipeline__ratio(const struct pipeline *pipeline)
{
	const struct compressor *compressor = &pipeline->compressor;

	return compressor->compressed_bytes ?
	       compressor->raw_bytes / compressor->compressed_bytes : 0;
}

u64 pipeline__unused_memory(const struct pipeline *pipeline)
{
	const struct chunk_pool *pool = &pipeline->file_queue.pool;

	return (u64)__atomic_load_n(&pool->min_free, __ATOMIC_RELAXED) * pool->chunk_size;
}

static void log_queue(const struct write_queue *queue, const char *name)
{
	const struct write_counters *counters = &queue->counters;

	if (!counters->chunks)
		return;
	pr_debug("%s: %" PRIu64 " chunks (%" PRIu64 " direct, %" PRIu64 " released early); appends locked "
		 "%" PRIu64 " times, waited for a chunk %" PRIu64 " times; the thread slept %" PRIu64
		 " times, for a copy %" PRIu64 " times\n", name, counters->chunks, counters->direct,
		 counters->released, counters->locked, counters->pool_waits, counters->sleeps,
		 counters->copy_waits);
}

void pipeline__log(const struct pipeline *pipeline)
{
	log_queue(&pipeline->raw_queue, "Compression queue");
	log_queue(&pipeline->file_queue, "File queue");
}

struct unsaved pipeline__unsaved(const struct pipeline *pipeline)
{
	struct unsaved unsaved = pipeline->file_queue.unsaved;

	if (!pipeline->level)
		return unsaved;
	unsaved = pipeline->raw_queue.unsaved;
	unsaved.records += pipeline->compressor.unsaved.records;
	unsaved.samples += pipeline->compressor.unsaved.samples;
	unsaved.bytes += pipeline->compressor.unsaved.bytes;
	return unsaved;
}
