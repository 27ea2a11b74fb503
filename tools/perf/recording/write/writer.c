// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include <unistd.h>
#include "writer.h"

struct writer *writer__alloc(size_t size, const struct writer_ops *ops, unsigned int depth)
{
	struct writer *writer = calloc(1, size);

	if (writer)
		*writer = (struct writer){ .ops = ops, .depth = depth, .fd = -1 };
	return writer;
}

bool chunk__advance(struct chunk *chunk, ssize_t ret)
{
	if (ret == -EINTR || ret == -EAGAIN)
		return false;
	if (ret > 0)
		chunk->done += ret;
	else
		chunk->err = ret ?: -EIO;
	chunk->finished = chunk->err || chunk->done == chunk->len;
	return chunk->finished;
}

ssize_t writer__write_once(const struct writer *writer, const struct chunk *chunk, size_t len)
{
	const void *data = chunk->data + chunk->done;
	ssize_t ret;

	len = min(len, WRITER_MAX_BYTES);
	if (writer->seekable)
		ret = pwrite(writer->fd, data, len, chunk->pos + chunk->done);
	else
		ret = write(writer->fd, data, len);
	return ret < 0 ? -errno : ret;
}
