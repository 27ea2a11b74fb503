// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include "util/debug.h"
#include "writer.h"

static const char * const names[] = {
	[WRITER_SYNC]  = "sync",
	[WRITER_AIO]   = "aio",
	[WRITER_URING] = "uring",
};

int writer__parse(struct writer_choice *choice, const char *name)
{
	size_t i;

	for (i = WRITER_SYNC; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(name, names[i])) {
			choice->kind = i;
			return 0;
		}
	}
	return -EINVAL;
}

static struct writer *try_kind(const struct writer_choice *choice, enum writer_kind kind,
			       const struct chunk_pool *pool)
{
	switch (kind) {
	case WRITER_AIO:
		return writer_aio__new(choice->nr_aio);
	case WRITER_SYNC:
		return writer_sync__new();
	case WRITER_BEST:
	case WRITER_URING:
	default:
		return writer_uring__new(pool);
	}
}

static const char *why_not(int err)
{
	return err == EOPNOTSUPP ? "this perf was built without it" : strerror(err);
}

struct writer *writer__new(const struct writer_choice *choice, const struct chunk_pool *pool)
{
	struct writer *writer = try_kind(choice, choice->kind, pool);

	if (writer)
		return writer;
	if (choice->kind == WRITER_BEST)
		pr_debug("No io_uring here: %s\n", why_not(errno));
	else
		pr_warning("--io=%s: %s. Writing without it.\n", names[choice->kind],
			   why_not(errno));
	return writer_sync__new();
}

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

	if (writer->seekable)
		ret = pwrite(writer->fd, data, len, chunk->pos + chunk->done);
	else
		ret = write(writer->fd, data, len);
	return ret < 0 ? -errno : ret;
}
