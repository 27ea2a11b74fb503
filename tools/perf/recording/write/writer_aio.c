// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write chunks by POSIX AIO. glibc implements it by helper threads that call pwrite(), for each
 * file one after the other. So one thread is enough. It is created at once and stays, so that
 * exclude_self.h can exclude it from the recording.
 */
#include <aio.h>
#include <errno.h>
#include <limits.h>
#include <linux/kernel.h>
#include "writer.h"
#include "writer_aio.h"

/**
 * struct aio_block
 * @cb:		the library's control block
 * @chunk:	the chunk being written, or NULL
 */
struct aio_block {
	struct aiocb	 cb;
	struct chunk	*chunk;
};

/**
 * struct writer_aio
 * @writer:	the common part, first; @writer.depth blocks are used
 * @blocks:	what is in flight
 */
struct writer_aio {
	struct writer	 writer;
	struct aio_block blocks[WRITER_AIO_MAX];
};

/* If the library cannot queue the request, write at once; the chunk may be finished then. */
static void start(struct writer *writer, struct aio_block *block)
{
	struct chunk *chunk = block->chunk;
	size_t left;

	do {
		left = chunk->len - chunk->done;
		block->cb = (struct aiocb){
			.aio_fildes	= writer->fd,
			.aio_offset	= chunk->pos + chunk->done,
			.aio_buf	= chunk->data + chunk->done,
			.aio_nbytes	= left,
			.aio_sigevent	= { .sigev_notify = SIGEV_NONE },
		};
	} while (aio_write(&block->cb) &&
		 !chunk__advance(chunk, writer__write_once(writer, chunk, left)));
}

static void writer_aio__submit(struct writer *writer, struct chunk *chunk)
{
	struct writer_aio *aio = container_of(writer, struct writer_aio, writer);
	struct aio_block *block = aio->blocks;

	while (block->chunk)
		block++;
	block->chunk = chunk;
	start(writer, block);
}

/* Return whether the chunk of @block is finished. After a short write, start to write the rest. */
static bool finish(struct writer *writer, struct aio_block *block)
{
	ssize_t ret;
	int err;

	while (!block->chunk->finished) {
		err = aio_error(&block->cb);
		if (err == EINPROGRESS)
			return false;
		ret = aio_return(&block->cb);
		if (!chunk__advance(block->chunk, err ? -err : ret))
			start(writer, block);
	}
	return true;
}

static struct chunk *writer_aio__complete(struct writer *writer, u64 timeout_ns __maybe_unused)
{
	struct writer_aio *aio = container_of(writer, struct writer_aio, writer);
	const struct aiocb *pending[WRITER_AIO_MAX];
	struct aio_block *block;
	struct chunk *chunk;
	int nr;

	for (;;) {
		nr = 0;
		for (block = aio->blocks; block < aio->blocks + writer->depth; block++) {
			if (block->chunk && finish(writer, block)) {
				chunk = block->chunk;
				block->chunk = NULL;
				return chunk;
			}
			if (block->chunk)
				pending[nr++] = &block->cb;
		}
		aio_suspend(pending, nr, NULL);		/* EINTR: check again */
	}
}

static const struct writer_ops aio_ops = {
	.name	  = "aio",
	.submit	  = writer_aio__submit,
	.complete = writer_aio__complete,
};

/* The thread begins with the first request, and would end after a second without one. */
static void start_thread(void)
{
	const struct aioinit init = { .aio_threads = 1, .aio_num = WRITER_AIO_MAX,
				      .aio_idle_time = INT_MAX / 2 };
	char byte;
	struct aiocb cb = { .aio_fildes = -1, .aio_buf = &byte, .aio_nbytes = 1 };
	const struct aiocb *pending = &cb;

	aio_init(&init);
	if (aio_read(&cb))
		return;
	while (aio_error(&cb) == EINPROGRESS)
		aio_suspend(&pending, 1, NULL);
	aio_return(&cb);
}

struct writer *writer_aio__new(unsigned int nr)
{
	start_thread();
	return writer__alloc(sizeof(struct writer_aio), &aio_ops, nr);
}
