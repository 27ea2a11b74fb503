/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write chunks by io_uring and direct I/O, or to the page cache, as the queue decides.
 */
#ifndef PERF_RECORDING_WRITER_URING_H
#define PERF_RECORDING_WRITER_URING_H

#include <errno.h>
#include <stddef.h>
#include <linux/compiler.h>

struct chunk_pool;
struct writer;

/**
 * writer_uring__new - create a writer
 * @pool:	pool of the chunks that will be submitted; must outlive the writer
 *
 * Return: the writer, or NULL with errno set: EOPNOTSUPP if perf was built without liburing.
 */
#ifdef HAVE_LIBURING_SUPPORT
struct writer *writer_uring__new(const struct chunk_pool *pool);
#else
static inline struct writer *writer_uring__new(const struct chunk_pool *pool __maybe_unused)
{
	errno = EOPNOTSUPP;
	return NULL;
}
#endif

#endif
