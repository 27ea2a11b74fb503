/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write chunks to a file: the interface of the back ends, and their helpers. writer_kind.h creates
 * them.
 *
 *	writer_sync.c	one chunk after the other, by write(2); pipes and devices, too
 *	writer_aio.c	POSIX AIO, a few chunks at a time
 *	writer_uring.c	io_uring, many chunks at a time, by direct I/O where the file system
 *	supports it
 *
 *	writer__open()		set the file
 *	writer__submit()	pass a chunk to the writer ...
 *	writer__complete()	... and take back a finished one, in any order
 *	writer__close()		call before the file is closed; no chunk may be in flight
 *
 * Short writes, EINTR and EAGAIN are no errors: the rest of the chunk is written. After an error
 * the chunk comes back with the number of bytes written, and the error.
 *
 * A writer is used by one thread at a time.
 */
#ifndef PERF_RECORDING_WRITER_H
#define PERF_RECORDING_WRITER_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include "chunk_pool.h"

struct writer;

/**
 * struct writer_ops - a back end
 * @name:	its name in --io
 * @open:	prepare for writer->fd; may be NULL
 * @submit:	see writer__submit()
 * @complete:	see writer__complete(); may ignore the timeout unless @open sets direct_first
 * @close:	undo @open; may be NULL
 * @delete:	release resources before the writer is freed; may be NULL
 */
struct writer_ops {
	const char	 *name;
	void		(*open)(struct writer *writer);
	void		(*submit)(struct writer *writer, struct chunk *chunk);
	struct chunk   *(*complete)(struct writer *writer, u64 timeout_ns);
	void		(*close)(struct writer *writer);
	void		(*delete)(struct writer *writer);
};

/**
 * struct writer
 * @ops:	its back end
 * @depth:	how many chunks can be in flight
 * @fd:		the file, or -1
 * @seekable:	write chunks at their positions; otherwise in the order of submission
 * @keep_cached: the file is read when it is complete: leave it in the page cache; set by the caller
 *		before writer__open()
 * @direct_first: the file is known to take direct I/O, which may be the first choice; set by @open
 */
struct writer {
	const struct writer_ops	*ops;
	unsigned int		 depth;
	int			 fd;
	bool			 seekable;
	bool			 keep_cached;
	bool			 direct_first;
};

/**
 * writer__open - write to @fd from now on, which stays the caller's; @seekable: it is a regular
 * file
 */
static inline void writer__open(struct writer *writer, int fd, bool seekable)
{
	writer->fd = fd;
	writer->seekable = seekable;
	if (writer->ops->open)
		writer->ops->open(writer);
}

/** writer__submit - write @chunk. The caller makes sure that no more than @depth are in flight. */
static inline void writer__submit(struct writer *writer, struct chunk *chunk)
{
	writer->ops->submit(writer, chunk);
}

/**
 * writer__complete - wait for a chunk that was submitted
 * @timeout_ns:	how long to wait for a direct write; 0: as long as it takes
 *
 * Return: a finished chunk, or NULL after @timeout_ns.
 */
static inline struct chunk *writer__complete(struct writer *writer, u64 timeout_ns)
{
	return writer->ops->complete(writer, timeout_ns);
}

/** writer__close - let go of the file. No chunk is in flight. */
static inline void writer__close(struct writer *writer)
{
	if (writer->ops->close)
		writer->ops->close(writer);
	writer->fd = -1;
}

/** writer__delete - free the writer; harmless for NULL */
static inline void writer__delete(struct writer *writer)
{
	if (writer && writer->ops->delete)
		writer->ops->delete(writer);
	free(writer);
}

/*
 * Helpers for the back ends
 */

/**
 * writer__alloc - allocate a writer without a file
 * @size:	of the back end's own structure, whose first member is the writer; the rest is
 *		zeroed
 *
 * Return: the writer, or NULL with errno set.
 */
struct writer *writer__alloc(size_t size, const struct writer_ops *ops, unsigned int depth);

/**
 * chunk__advance - account for a write of the rest of @chunk
 * @ret:	what the write returned: bytes, or a negative errno
 *
 * Return: true if the chunk is finished: everything is written, or chunk->err is set.
 */
bool chunk__advance(struct chunk *chunk, ssize_t ret);

/*
 * Largest write to the page cache [bytes]. The kernel allocates folios as large as the write if it
 * can: with 1 MB, a copy took up to twice the time.
 */
#define WRITER_MAX_BYTES	((size_t)256 << 10)

/**
 * writer__write_once - write the next @len bytes of @chunk, or fewer, by one blocking system call
 *
 * Return: bytes written, or a negative errno.
 */
ssize_t writer__write_once(const struct writer *writer, const struct chunk *chunk, size_t len);

#endif
