/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace writers: how chunks get into the file.
 *
 *	writer_sync.c	one after the other, by write(2); pipes and devices, too
 *	writer_aio.c	POSIX AIO, a few at a time
 *	writer_uring.c	io_uring, many at a time, around the page cache where that can be
 *
 *	writer__open()		the file
 *	writer__submit()	a chunk is the writer's ...
 *	writer__complete()	... until it comes back, finished, in any order
 *	writer__close()		before the file is; nothing may be on its way
 *
 * Short writes, EINTR and EAGAIN are no errors: the rest of the chunk is written. After an error the
 * chunk comes back with what was written of it, and why that is not all.
 *
 * All is called in one thread at a time.
 */
#ifndef PERF_RECORDING_WRITER_H
#define PERF_RECORDING_WRITER_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include "chunk_pool.h"

struct writer;

/**
 * struct writer_ops - a kind of trace writer
 * @name:	as in --io
 * @open:	prepare for writer->fd; NULL if there is nothing to prepare
 * @submit:	see writer__submit()
 * @complete:	see writer__complete()
 * @close:	undo @open; may be NULL
 * @delete:	before the writer is freed; may be NULL
 */
struct writer_ops {
	const char	 *name;
	void		(*open)(struct writer *writer);
	void		(*submit)(struct writer *writer, struct chunk *chunk);
	struct chunk   *(*complete)(struct writer *writer);
	void		(*close)(struct writer *writer);
	void		(*delete)(struct writer *writer);
};

/**
 * struct writer
 * @ops:	its kind
 * @depth:	how many chunks it can have at a time
 * @fd:		the file
 * @seekable:	chunks are written at their positions; otherwise in the order of submission
 */
struct writer {
	const struct writer_ops	*ops;
	unsigned int		 depth;
	int			 fd;
	bool			 seekable;
};

/** writer__open - write to @fd from now on, which stays the caller's; @seekable: a regular file */
static inline void writer__open(struct writer *writer, int fd, bool seekable)
{
	writer->fd = fd;
	writer->seekable = seekable;
	if (writer->ops->open)
		writer->ops->open(writer);
}

/** writer__submit - write @chunk; the caller sees to it that there are no more than @depth */
static inline void writer__submit(struct writer *writer, struct chunk *chunk)
{
	writer->ops->submit(writer, chunk);
}

/** writer__complete - wait for a chunk that was submitted. Return: it, finished */
static inline struct chunk *writer__complete(struct writer *writer)
{
	return writer->ops->complete(writer);
}

static inline void writer__close(struct writer *writer)
{
	if (writer->ops->close)
		writer->ops->close(writer);
	writer->fd = -1;
}

/** writer__delete - free it; NULL is fine */
static inline void writer__delete(struct writer *writer)
{
	if (writer && writer->ops->delete)
		writer->ops->delete(writer);
	free(writer);
}

/*
 * For the kinds
 */

/**
 * writer__alloc - a writer without a file
 * @size:	of the kind's own structure, whose first member is the writer; the rest is zeroed
 *
 * Return: it, or NULL with errno.
 */
struct writer *writer__alloc(size_t size, const struct writer_ops *ops, unsigned int depth);

/**
 * chunk__advance - take note of what a write of the rest of @chunk returned
 * @ret:	bytes, or a negative errno
 *
 * Return: true if that was the last one: all is written, or the chunk has its error.
 */
bool chunk__advance(struct chunk *chunk, ssize_t ret);

/** writer__write_once - one blocking write of @len bytes of the rest. Return: bytes, or a negative errno */
ssize_t writer__write_once(const struct writer *writer, const struct chunk *chunk, size_t len);

#endif
