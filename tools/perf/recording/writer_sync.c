// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include "writer.h"

/**
 * struct writer_sync
 * @writer:	the common part
 * @chunk:	the one that is written and was not asked for yet
 */
struct writer_sync {
	struct writer	 writer;
	struct chunk	*chunk;
};

static void writer_sync__submit(struct writer *writer, struct chunk *chunk)
{
	struct writer_sync *sync = container_of(writer, struct writer_sync, writer);
	ssize_t ret;

	do {
		ret = writer__write_once(writer, chunk, chunk->len - chunk->done);
		if (ret == -EAGAIN)	/* a pipe that somebody has made non-blocking */
			poll(&(struct pollfd){ .fd = writer->fd, .events = POLLOUT }, 1, -1);
	} while (!chunk__advance(chunk, ret));
	sync->chunk = chunk;
}

static struct chunk *writer_sync__complete(struct writer *writer)
{
	struct writer_sync *sync = container_of(writer, struct writer_sync, writer);

	return sync->chunk;
}

static void writer_sync__delete(struct writer *writer)
{
	free(container_of(writer, struct writer_sync, writer));
}

static const struct writer_ops sync_ops = {
	.name	  = "sync",
	.submit	  = writer_sync__submit,
	.complete = writer_sync__complete,
	.delete	  = writer_sync__delete,
};

struct writer *writer_sync__new(void)
{
	struct writer_sync *sync = calloc(1, sizeof(*sync));

	if (!sync)
		return NULL;
	sync->writer.ops = &sync_ops;
	sync->writer.depth = 1;
	sync->writer.fd = -1;
	return &sync->writer;
}
