// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write chunks by io_uring and direct I/O, where the file system supports that, or to the page
 * cache. The queue decides for each chunk (chunk->buffered, see "Choosing direct I/O" in queue.h).
 *
 * statx(2) tells since Linux 6.1 whether a file takes direct I/O (STATX_DIOALIGN). Where it does
 * not tell, direct I/O is tried when the page cache does not keep up.
 *
 * This thread itself writes to the page cache. Through io_uring kernel threads would do it, which
 * wait for each other, and take longer than the rings last under a storm of events. So where direct
 * I/O is not supported, this writer does the same as writer_sync.c.
 *
 * A direct write that extends a file holds the lock of its inode on ext4 until the disk has
 * answered, and a write to the page cache would wait for that lock. So extend the file before, by
 * unwritten extents, and cut it when it is closed. Where that is not possible, direct I/O is not
 * the first choice. If the recorder is killed, the file ends with zeros.
 *
 * Direct writes begin and end at multiples of CHUNK_ALIGN. The first bytes of a file, the last
 * ones, and the borders of chunks that were flushed are written to the page cache: buffered and
 * direct writes never share a page.
 *
 *	file	 |....====|========|========|====....|		= direct	. buffered
 *	chunks	 |  first |        |        | flushed
 *
 * When a direct write fails because the disk is full, or with EAGAIN, the rest of the chunk is
 * written to the page cache: that takes as many bytes as fit, or returns an error, or waits. After
 * an I/O error this would be wrong: the page cache would take the bytes, and nobody would learn
 * that they never reached the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include <sys/stat.h>
#include "util/debug.h"
#include "recording/lib/fd.h"
#include "writer.h"
#include "writer_uring.h"

#define DEPTH		8
#define EXTEND_BYTES	(32 << 20)

/**
 * struct writer_uring
 * @writer:	the common part, first
 * @ring:	the queues shared with the kernel
 * @pool:	the pool of the chunks
 * @registered:	for each chunk of @pool: its memory is registered with the kernel. NULL if the
 *		kernel registers none.
 * @direct_fd:	the file, opened for direct I/O, or -1
 * @direct:	the file system supports direct I/O
 * @extended:	position up to which the file was extended, or 0
 * @end:	position where the last chunk ends
 * @in_flight:	chunks with a write pending in the kernel, @nr_in_flight of them
 * @finished:	chunks to be returned by writer__complete(), @nr_finished of them
 */
struct writer_uring {
	struct writer	 writer;
	struct io_uring	 ring;
	const struct chunk_pool *pool;
	bool		*registered;
	int		 direct_fd;
	bool		 direct;
	u64		 extended;
	u64		 end;
	struct chunk	*in_flight[DEPTH];
	unsigned int	 nr_in_flight;
	struct chunk	*finished[DEPTH];
	unsigned int	 nr_finished;
};

static struct writer_uring *uring_of(struct writer *writer)
{
	return container_of(writer, struct writer_uring, writer);
}

/*
 * tmpfs and others accept O_DIRECT, and write to the page cache nevertheless: STATX_DIOALIGN tells
 * them apart.
 */
static bool takes_direct_io(int fd __maybe_unused)
{
#ifdef STATX_DIOALIGN
	struct statx stat;

	return !statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &stat) &&
	       (stat.stx_mask & STATX_DIOALIGN) && stat.stx_dio_offset_align &&
	       CHUNK_ALIGN % stat.stx_dio_offset_align == 0 &&
	       CHUNK_ALIGN % stat.stx_dio_mem_align == 0;
#else
	return false;
#endif
}

static void writer_uring__open(struct writer *writer)
{
	struct writer_uring *uring = uring_of(writer);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", writer->fd);
	uring->direct_fd = open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
	uring->direct = uring->direct_fd >= 0;
	uring->extended = uring->end = 0;
	writer->direct_first = uring->direct && !writer->keep_cached &&
			       takes_direct_io(uring->direct_fd);
	if (!uring->direct)
		pr_debug("Direct I/O is not available: %m\n");
}

/* Make sure that the direct write of @chunk does not extend the file. */
static bool extend_file(struct writer_uring *uring, const struct chunk *chunk)
{
	if (uring->end <= uring->extended)
		return true;
	if (fallocate(uring->writer.fd, 0, chunk->pos, EXTEND_BYTES)) {
		pr_debug("Direct I/O is not the first choice: fallocate: %m\n");
		return false;
	}
	uring->extended = chunk->pos + EXTEND_BYTES;
	return true;
}

/* After an error the file ends earlier, and is cut already. */
static void cut_file(const struct writer_uring *uring)
{
	struct stat stat;

	if (!fstat(uring->writer.fd, &stat) && stat.st_size > (off_t)uring->end &&
	    ftruncate(uring->writer.fd, uring->end))
		pr_debug("Cannot cut the file behind the last record: %m\n");
}

static void writer_uring__close(struct writer *writer)
{
	struct writer_uring *uring = uring_of(writer);

	if (uring->extended)
		cut_file(uring);
	fd__close(&uring->direct_fd);
}

/* Registering memory locks it: register only chunks that are used. */
static bool register_chunk(struct writer_uring *uring, const struct chunk *chunk)
{
	struct iovec iov = { chunk->memory, chunk->size };

	if (!uring->registered)
		return false;
	if (uring->registered[chunk->index])
		return true;
	uring->registered[chunk->index] =
		io_uring_register_buffers_update_tag(&uring->ring, chunk->index, &iov, NULL,
						     1) == 1;
	return uring->registered[chunk->index];
}

static void queue_write(struct writer_uring *uring, struct chunk *chunk, size_t len)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);
	void *data = chunk->data + chunk->done;
	u64 pos = chunk->pos + chunk->done;

	if (register_chunk(uring, chunk))
		io_uring_prep_write_fixed(sqe, uring->direct_fd, data, len, pos, chunk->index);
	else
		io_uring_prep_write(sqe, uring->direct_fd, data, len, pos);
	io_uring_sqe_set_data(sqe, chunk);
	uring->in_flight[uring->nr_in_flight++] = chunk;
}

/*
 * Write partial pages to the page cache and queue whole pages, until the chunk is queued or
 * finished.
 */
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
	struct writer_uring *uring = uring_of(writer);

	uring->end = max(uring->end, chunk->pos + chunk->len);
	if (writer->direct_first && !chunk->buffered && !extend_file(uring, chunk)) {
		writer->direct_first = false;
		chunk->buffered = true;
	}
	advance(uring, chunk);
}

/*
 * Return whether to write the rest to the page cache after a direct write returned @ret: direct I/O
 * is not supported, there is no space for a whole page, or it would block (EAGAIN). Retrying in a
 * loop would keep the CPU from whatever the kernel waits for: this thread may have real-time
 * priority.
 */
static bool use_page_cache(struct writer_uring *uring, int ret)
{
	if (ret == -EINVAL || ret == -EOPNOTSUPP) {
		pr_debug("The file system does not support direct I/O: %s\n", strerror(-ret));
		uring->direct = uring->writer.direct_first = false;
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

/* The io_uring itself failed, which is not expected: fail all writes, which ends the recording. */
static void fail_all(struct writer_uring *uring, int err)
{
	pr_debug("io_uring_enter: %s\n", strerror(-err));
	while (uring->nr_in_flight) {
		struct chunk *chunk = uring->in_flight[--uring->nr_in_flight];

		chunk__advance(chunk, err);
		uring->finished[uring->nr_finished++] = chunk;
	}
}

static struct chunk *writer_uring__complete(struct writer *writer, u64 timeout_ns)
{
	struct writer_uring *uring = uring_of(writer);
	struct __kernel_timespec timeout = {
		.tv_sec	 = timeout_ns / NSEC_PER_SEC,
		.tv_nsec = timeout_ns % NSEC_PER_SEC,
	};
	struct io_uring_cqe *cqe;
	int ret = 0;

	while (!uring->nr_finished) {
		if (ret == -ETIME)
			return NULL;
		ret = io_uring_submit_and_wait_timeout(&uring->ring, &cqe, 1,
						       timeout_ns ? &timeout : NULL, NULL);
		if (ret < 0 && ret != -ETIME && ret != -EINTR && ret != -EAGAIN && ret != -EBUSY)
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
	/*
	 * Twice the depth: the rest of a chunk can be queued before the kernel has consumed older
	 * entries.
	 */
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
