// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <linux/kernel.h>
#include "util/debug.h"
#include "writer_aio.h"
#include "writer_kind.h"
#include "writer_sync.h"
#include "writer_uring.h"

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

static const char *unavailable_reason(int err)
{
	return err == EOPNOTSUPP ? "this perf was built without it" : strerror(err);
}

struct writer *writer__new(const struct writer_choice *choice, const struct chunk_pool *pool)
{
	struct writer *writer = try_kind(choice, choice->kind, pool);

	if (writer)
		return writer;
	if (choice->kind == WRITER_BEST)
		pr_debug("io_uring is not available: %s\n", unavailable_reason(errno));
	else
		pr_warning("Cannot use --io=%s: %s. Using sync.\n", names[choice->kind],
			   unavailable_reason(errno));
	return writer_sync__new();
}
