/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Choose the writer's back end (--io, --aio) and create it.
 */
#ifndef PERF_RECORDING_WRITER_KIND_H
#define PERF_RECORDING_WRITER_KIND_H

#include "writer_aio.h"

struct chunk_pool;
struct writer;

enum writer_kind {
	WRITER_BEST,		/* uring, or sync where the kernel does not allow io_uring */
	WRITER_SYNC,
	WRITER_AIO,
	WRITER_URING,
};

/**
 * struct writer_choice - the back end that the user asks for
 * @kind:	--io
 * @nr_aio:	number of writes in flight (--aio), 1 to WRITER_AIO_MAX
 */
struct writer_choice {
	enum writer_kind	kind;
	unsigned int		nr_aio;
};

/** writer__parse - parse "sync", "aio" or "uring". Return: 0, or -EINVAL */
int writer__parse(struct writer_choice *choice, const char *name);

/**
 * writer__new - create the chosen writer, or a sync writer after a warning if that fails
 * @pool:	pool of the chunks that will be submitted; must outlive the writer
 *
 * Return: the writer, or NULL if there is not enough memory.
 */
struct writer *writer__new(const struct writer_choice *choice, const struct chunk_pool *pool);

#endif
