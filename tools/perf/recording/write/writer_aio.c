// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX AIO. What glibc makes of it: helper threads that call pwrite(), for each file one after the
 * other. They are named like the thread that submits, which is how exclude_self.h leaves them out.
 */
#include <aio.h>
#include <errno.h>
#include <linux/kernel.h>
#include "writer.h"
#include "writer_aio.h"

/**
 * struct aio_block
 * @cb:		what the library knows of it
 * @chunk:	the one that is written, or NULL
 */
struct aio_block {
	struct aiocb	 cb;
	struct chunk	*chunk;
};

/**
 * struct writer_aio
 * @writer:	the common part, first; @writer.depth blocks are used
 * @blocks:	the control blocks
 */
struct writer_aio {
	struct writer	 writer;
	struct aio_block blocks[WRITER_AIO_MAX];
};

/* Where the library has no room for the request it is done at once; then the chunk may be finished. */
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

/* Returns whether the chunk of @block is finished; if a part of it is, the rest is started. */
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

static struct chunk *writer_aio__complete(struct writer *writer)
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
		aio_suspend(pending, nr, NULL);		/* EINTR: look again */
	}
}

static const struct writer_ops aio_ops = {
	.name	  = "aio",
	.submit	  = writer_aio__submit,
	.complete = writer_aio__complete,
};

struct writer *writer_aio__new(unsigned int nr)
{
	return writer__alloc(sizeof(struct writer_aio), &aio_ops, nr);
}
