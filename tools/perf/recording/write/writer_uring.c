// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page cache as long as it keeps up, then io_uring and direct I/O around it, where the file system
 * takes that: the queue says which, chunk by chunk (chunk->buffered).
 *
 * A plain write to the page cache is over when the bytes are copied. A direct write is over when a thread
 * of the kernel says so, which waits for a busy CPU as any other task; all chunks behind it wait with it. So
 * it comes second, when the cache is full and has its writers wait as well.
 *
 * What goes to the page cache is written in this thread: handed to io_uring, it would be done by threads of
 * the kernel that wait for each other, and take longer than a storm lets them. So where there is no
 * direct I/O this is writer_sync.c.
 *
 * Direct writes begin and end at multiples of CHUNK_ALIGN. What does not is the first bytes of a file and
 * the last, and where chunks were flushed: the two ways never share a page.
 *
 *	file	 |....====|========|========|====....|		= direct	. buffered
 *	chunks	 |  first |        |        | flushed
 *
 * Where a direct write fails for want of room, or is to be tried again, the rest of the chunk is written
 * through the page cache: that takes what fits, to the byte, or says why not; and waits. An error of the
 * disk is not put right so: the page cache would take the bytes, and nobody would be told that they never
 * got to the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include "util/debug.h"
#include "writer.h"
#include "writer_uring.h"

#define DEPTH		8

/**
 * struct writer_uring
 * @writer:	the common part, first
 * @ring:	the queues that are shared with the kernel
 * @pool:	where the chunks are from
 * @registered:	for each chunk of @pool: the kernel knows its memory. NULL where it wants to know none.
 * @direct_fd:	the file, opened for direct I/O, or -1
 * @direct:	it takes that
 * @fixed:	the kernel knows @direct_fd, as file 0
 * @in_flight:	chunks with a write that the kernel has, @nr_in_flight of them
 * @finished:	chunks that are to be handed back, @nr_finished of them
 */
struct writer_uring {
	struct writer	 writer;
	struct io_uring	 ring;
	const struct chunk_pool *pool;
	bool		*registered;
	int		 direct_fd;
	bool		 direct;
	bool		 fixed;
	struct chunk	*in_flight[DEPTH];
	unsigned int	 nr_in_flight;
	struct chunk	*finished[DEPTH];
	unsigned int	 nr_finished;
};

static struct writer_uring *uring_of(struct writer *writer)
{
	return container_of(writer, struct writer_uring, writer);
}

static void writer_uring__open(struct writer *writer)
{
	struct writer_uring *uring = uring_of(writer);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", writer->fd);
	uring->direct_fd = open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
	uring->direct = uring->direct_fd >= 0;
	uring->fixed = uring->direct && !io_uring_register_files(&uring->ring, &uring->direct_fd, 1);
	if (!uring->direct)
		pr_debug("No direct I/O here: %m\n");
}

static void writer_uring__close(struct writer *writer)
{
	struct writer_uring *uring = uring_of(writer);

	if (uring->fixed)
		io_uring_unregister_files(&uring->ring);
	uring->fixed = false;
	if (uring->direct_fd >= 0)
		close(uring->direct_fd);
	uring->direct_fd = -1;
}

/* Memory that the kernel knows is locked: only what is used is made known. */
static bool register_chunk(struct writer_uring *uring, const struct chunk *chunk)
{
	struct iovec iov = { chunk->memory, CHUNK_SIZE };

	if (!uring->registered)
		return false;
	if (uring->registered[chunk->index])
		return true;
	uring->registered[chunk->index] =
		io_uring_register_buffers_update_tag(&uring->ring, chunk->index, &iov, NULL, 1) == 1;
	return uring->registered[chunk->index];
}

static void queue_write(struct writer_uring *uring, struct chunk *chunk, size_t len)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);
	int fd = uring->fixed ? 0 : uring->direct_fd;
	void *data = chunk->data + chunk->done;

	if (register_chunk(uring, chunk))
		io_uring_prep_write_fixed(sqe, fd, data, len, chunk->pos + chunk->done,
					  chunk->index);
	else
		io_uring_prep_write(sqe, fd, data, len, chunk->pos + chunk->done);
	if (uring->fixed)
		sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data(sqe, chunk);
	uring->in_flight[uring->nr_in_flight++] = chunk;
}

/* Writes what is no whole page, and queues what is, until the chunk is queued or finished. */
static void advance(struct writer_uring *uring, struct chunk *chunk)
{
	while (!chunk->finished) {
		size_t left = chunk->len - chunk->done;
		size_t head = -(chunk->pos + chunk->done) % CHUNK_ALIGN;

		if (!uring->direct || chunk->buffered) {
			head = left;
		} else if (!head && left >= CHUNK_ALIGN) {
			queue_write(uring, chunk, left - left % CHUNK_ALIGN);
			return;
		}
		chunk__advance(chunk, writer__write_once(&uring->writer, chunk,
							 min(left, head ?: left)));
	}
	uring->finished[uring->nr_finished++] = chunk;
}

static void writer_uring__submit(struct writer *writer, struct chunk *chunk)
{
	advance(uring_of(writer), chunk);
}

/*
 * Returns whether the page cache may do: there is no direct I/O, no room for a whole page, or not just now. To ask
 * again and again would keep the CPU from whatever it is that the kernel waits for: this thread is real-time.
 */
static bool use_page_cache(struct writer_uring *uring, int ret)
{
	if (ret == -EINVAL || ret == -EOPNOTSUPP) {
		pr_debug("The file system does not take direct I/O: %s\n", strerror(-ret));
		uring->direct = false;
		return true;
	}
	return ret == -ENOSPC || ret == -EDQUOT || ret == -EFBIG || ret == -EAGAIN;
}

static void complete_write(struct writer_uring *uring, struct chunk *chunk, int ret)
{
	struct chunk **in_flight = uring->in_flight;

	while (*in_flight != chunk)
		in_flight++;
	*in_flight = uring->in_flight[--uring->nr_in_flight];
	if (use_page_cache(uring, ret))
		chunk->buffered = true;
	else
		chunk__advance(chunk, ret);
	advance(uring, chunk);
}

/* The ring itself fails, which has no reason to: the recording ends. */
static void fail_all(struct writer_uring *uring, int err)
{
	pr_debug("io_uring_enter: %s\n", strerror(-err));
	while (uring->nr_in_flight) {
		struct chunk *chunk = uring->in_flight[--uring->nr_in_flight];

		chunk__advance(chunk, err);
		uring->finished[uring->nr_finished++] = chunk;
	}
}

static struct chunk *writer_uring__complete(struct writer *writer)
{
	struct writer_uring *uring = uring_of(writer);
	struct io_uring_cqe *cqe;
	int ret;

	while (!uring->nr_finished) {
		ret = io_uring_submit_and_wait(&uring->ring, 1);
		if (ret < 0 && ret != -EINTR && ret != -EAGAIN && ret != -EBUSY)
			fail_all(uring, ret);
		while (!io_uring_peek_cqe(&uring->ring, &cqe)) {
			struct chunk *chunk = io_uring_cqe_get_data(cqe);

			ret = cqe->res;
			io_uring_cqe_seen(&uring->ring, cqe);
			complete_write(uring, chunk, ret);
		}
	}
	return uring->finished[--uring->nr_finished];
}

static void writer_uring__delete(struct writer *writer)
{
	struct writer_uring *uring = uring_of(writer);

	io_uring_queue_exit(&uring->ring);
	free(uring->registered);
}

static const struct writer_ops uring_ops = {
	.name	  = "uring",
	.open	  = writer_uring__open,
	.submit	  = writer_uring__submit,
	.complete = writer_uring__complete,
	.close	  = writer_uring__close,
	.delete	  = writer_uring__delete,
};

struct writer *writer_uring__new(const struct chunk_pool *pool)
{
	struct writer *writer = writer__alloc(sizeof(struct writer_uring), &uring_ops, DEPTH);
	struct writer_uring *uring;
	int err;

	if (!writer)
		return NULL;
	uring = uring_of(writer);
	/* Twice the depth: a chunk that goes on is queued before what was submitted is consumed. */
	err = io_uring_queue_init(2 * DEPTH, &uring->ring, 0);
	if (err) {
		free(uring);
		errno = -err;
		return NULL;
	}
	uring->pool = pool;
	uring->direct_fd = -1;
	if (!io_uring_register_buffers_sparse(&uring->ring, pool->nr))
		uring->registered = calloc(pool->nr, sizeof(*uring->registered));
	return writer;
}
