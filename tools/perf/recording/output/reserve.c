// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util/debug.h"
#include "reserve.h"

/* Features without tracepoints take about 100 kB; each tracepoint adds its format file. */
#define RESERVE_BYTES		(1 << 20)
#define RESERVE_PER_EVENT	(8 << 10)

/* A recorded command is not affected: it has been forked, with the limit as it was. */
static void lower_limit(struct reserve *reserve, rlim_t size)
{
	struct rlimit limit;

	reserve->limited = !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
			   limit.rlim_cur > 2 * size;
	if (!reserve->limited)
		return;
	reserve->limit = limit;
	limit.rlim_cur -= size;
	setrlimit(RLIMIT_FSIZE, &limit);
}

void reserve__take(struct reserve *reserve, const char *output_path, int nr_events)
{
	off_t size = RESERVE_BYTES + (off_t)nr_events * RESERVE_PER_EVENT;
	char *path = strdup(output_path);

	reserve->fd = -1;
	if (!path)
		return;
	reserve->fd = open(dirname(path), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (reserve->fd >= 0 && fallocate(reserve->fd, 0, 0, size)) {
		pr_debug("Cannot reserve disk space for the header's features: %m\n");
		close(reserve->fd);
		reserve->fd = -1;
	}
	free(path);
	lower_limit(reserve, size);
}

void reserve__release(struct reserve *reserve)
{
	if (reserve->fd >= 0)
		close(reserve->fd);
	reserve->fd = -1;
	if (reserve->limited)
		setrlimit(RLIMIT_FSIZE, &reserve->limit);
	reserve->limited = false;
}
