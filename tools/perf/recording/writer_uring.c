// SPDX-License-Identifier: GPL-2.0-only
/*
 * io_uring, and direct I/O where the file system takes it: then the kernel copies nothing, and the
 * page cache of the machine that is watched stays as it is.
 *
 * Direct writes begin and end at multiples of CHUNK_ALIGN. What does not, the first bytes of a file and
 * the last, goes through the page cache, by plain writes: the two never share a page.
 *
 *	file	 |....====|========|========|====....|		= direct	. buffered
 *	chunks	 |  first |        |        | flushed
 *
 * Where a direct write fails for want of room, the rest of the chunk is written through the page cache:
 * that takes what fits, to the byte, or says why not. An error of the disk is not put right so: the
 * page cache would take the bytes, and nobody would be told that they never got to the disk.
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

#define DEPTH		16

/* Indices of registered files */
enum { FILE_BUFFERED, FILE_DIRECT };

/**
 * struct flight - a write that the kernel has
 * @chunk:	of which it is
 * @direct:	around the page cache
 */
struct flight {
	struct chunk	*chunk;
	bool		 direct;
};

/**
 * struct writer_uring
 * @writer:	the common part, first
 * @ring:	the queues that are shared with the kernel
 * @pool:	where the chunks are from
 * @registered:	for each chunk of @pool: the kernel knows its memory. NULL where it wants to know none.
 * @files:	the kernel knows the file under the indices above
 * @direct_fd:	the same file, opened for direct I/O, or -1
 * @finished:	chunks that need no completion of the kernel's any more, @nr_finished of them
 * @flights:	those that do, @nr of them
 */
struct writer_uring {
	struct writer	 writer;
	struct io_uring	 ring;
	const struct pool *pool;
	bool		*registered;
	bool		 files;
	int		 direct_fd;
	struct chunk	*finished[DEPTH];
	unsigned int	 nr_finished;
	struct flight	 flights[DEPTH];
	unsigned int	 nr;
};

static struct writer_uring *uring_of(struct writer *writer)
{
	return container_of(writer, struct writer_uring, writer);
}

static void writer_uring__open(struct writer *writer)
{
	struct writer_uring *uring = uring_of(writer);
	char path[32];
	int fds[2];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", writer->fd);
	uring->direct_fd = open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
	if (uring->direct_fd < 0)
		pr_debug("No direct I/O here: %m\n");
	fds[FILE_BUFFERED] = writer->fd;
	fds[FILE_DIRECT] = uring->direct_fd;
	uring->files = !io_uring_register_files(&uring->ring, fds, 2);
}

static void writer_uring__close(struct writer *writer)
{
	struct writer_uring *uring = uring_of(writer);

	if (uring->files)
		io_uring_unregister_files(&uring->ring);
	uring->files = false;
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

static bool goes_direct(const struct writer_uring *uring, const struct chunk *chunk)
{
	return uring->direct_fd >= 0 && !chunk->buffered;
}

static void queue(struct writer_uring *uring, struct chunk *chunk, size_t len)
{
	bool direct = goes_direct(uring, chunk);
	struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);
	int fd = direct ? uring->direct_fd : uring->writer.fd;
	void *data = chunk->data + chunk->done;

	if (uring->files)
		fd = direct ? FILE_DIRECT : FILE_BUFFERED;
	if (register_chunk(uring, chunk))
		io_uring_prep_write_fixed(sqe, fd, data, len, chunk->pos + chunk->done,
					  chunk->index);
	else
		io_uring_prep_write(sqe, fd, data, len, chunk->pos + chunk->done);
	if (uring->files)
		sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data(sqe, chunk);
	uring->flights[uring->nr++] = (struct flight){ chunk, direct };
}

/* Writes what is no whole page, and queues what is, until the chunk is queued or finished. */
static void go_on(struct writer_uring *uring, struct chunk *chunk)
{
	while (!chunk->finished) {
		size_t left = chunk->len - chunk->done;
		size_t head = -(chunk->pos + chunk->done) % CHUNK_ALIGN;

		if (!goes_direct(uring, chunk)) {
			queue(uring, chunk, left);
			return;
		}
		if (!head && left >= CHUNK_ALIGN) {
			queue(uring, chunk, left - left % CHUNK_ALIGN);
			return;
		}
		chunk__advance(chunk, writer__write_once(&uring->writer, chunk,
							 min(left, head ?: left)));
	}
	uring->finished[uring->nr_finished++] = chunk;
}

static void writer_uring__submit(struct writer *writer, struct chunk *chunk)
{
	go_on(uring_of(writer), chunk);
}

static void finish_direct(struct writer_uring *uring, struct chunk *chunk, int ret)
{
	if ((ret == -EINVAL || ret == -EOPNOTSUPP) && uring->direct_fd >= 0) {
		pr_debug("The file system does not take direct I/O: %s\n", strerror(-ret));
		close(uring->direct_fd);	/* a registered file stays, unused */
		uring->direct_fd = -1;
	}
	chunk->buffered = true;
}

/* No alignment is the right one; or there is no room for a whole page. */
static bool cache_may_do(int ret)
{
	return ret == -EINVAL || ret == -EOPNOTSUPP ||
	       ret == -ENOSPC || ret == -EDQUOT || ret == -EFBIG;
}

static void finish(struct writer_uring *uring, struct chunk *chunk, int ret)
{
	struct flight *flight = uring->flights;
	bool direct;

	while (flight->chunk != chunk)
		flight++;
	direct = flight->direct;
	*flight = uring->flights[--uring->nr];
	if (direct && cache_may_do(ret))
		finish_direct(uring, chunk, ret);
	else
		chunk__advance(chunk, ret);
	go_on(uring, chunk);
}

/* The ring itself fails, which has no reason to: the recording ends. */
static void give_up(struct writer_uring *uring, int err)
{
	pr_debug("io_uring_enter: %s\n", strerror(-err));
	while (uring->nr) {
		struct chunk *chunk = uring->flights[--uring->nr].chunk;

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
			give_up(uring, ret);
		while (!io_uring_peek_cqe(&uring->ring, &cqe)) {
			struct chunk *chunk = io_uring_cqe_get_data(cqe);

			ret = cqe->res;
			io_uring_cqe_seen(&uring->ring, cqe);
			finish(uring, chunk, ret);
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

struct writer *writer_uring__new(const struct pool *pool)
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
