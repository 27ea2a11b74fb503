// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <linux/kernel.h>
#include "writer.h"
#include "writer_sync.h"

/**
 * struct writer_sync
 * @writer:	the common part, first
 * @chunk:	the chunk that was submitted last; it is written already
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
		if (ret == -EAGAIN)	/* a non-blocking pipe */
			poll(&(struct pollfd){ .fd = writer->fd, .events = POLLOUT }, 1, -1);
	} while (!chunk__advance(chunk, ret));
	sync->chunk = chunk;
}

static struct chunk *writer_sync__complete(struct writer *writer, u64 timeout_ns __maybe_unused)
{
	struct writer_sync *sync = container_of(writer, struct writer_sync, writer);

	return sync->chunk;
}

static const struct writer_ops sync_ops = {
	.name	  = "sync",
	.submit	  = writer_sync__submit,
	.complete = writer_sync__complete,
};

struct writer *writer_sync__new(void)
{
	return writer__alloc(sizeof(struct writer_sync), &sync_ops, 1);
}
