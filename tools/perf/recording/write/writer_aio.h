/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write chunks by POSIX AIO, up to WRITER_AIO_MAX at a time.
 */
#ifndef PERF_RECORDING_WRITER_AIO_H
#define PERF_RECORDING_WRITER_AIO_H

#include <errno.h>
#include <stddef.h>
#include <linux/compiler.h>

struct writer;

#define WRITER_AIO_MAX	4

/**
 * writer_aio__new - create a writer that keeps up to @nr chunks in flight
 * @nr:		1 to WRITER_AIO_MAX
 *
 * Return: the writer, or NULL with errno set: EOPNOTSUPP if perf was built without AIO.
 */
#ifdef HAVE_AIO_SUPPORT
struct writer *writer_aio__new(unsigned int nr);
#else
static inline struct writer *writer_aio__new(unsigned int nr __maybe_unused)
{
	errno = EOPNOTSUPP;
	return NULL;
}
#endif

#endif
