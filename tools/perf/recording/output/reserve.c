// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util/debug.h"
#include "recording/lib/fd.h"
#include "reserve.h"

/* Features without tracepoints take about 100 kB; each tracepoint adds its format file. */
#define RESERVE_BYTES		(1 << 20)
#define SMALL_RESERVE_BYTES	(192 << 10)
#define RESERVE_PER_EVENT	(8 << 10)

/* A recorded command is not affected: it has been forked, with the limit as it was. */
static void lower_limit(struct reserve *reserve, rlim_t size, rlim_t small_size)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return;
	if (limit.rlim_cur <= 2 * size) {
		size = small_size;
		reserve->small = true;
	}
	reserve->limited = limit.rlim_cur > 2 * size;
	if (!reserve->limited)
		return;
	reserve->limit = limit;
	limit.rlim_cur -= size;
	setrlimit(RLIMIT_FSIZE, &limit);
}

/* Some file systems keep what a failed fallocate() has allocated. */
static int allocate(struct reserve *reserve, off_t size, off_t small_size)
{
	if (!fallocate(reserve->fd, 0, 0, size))
		return 0;
	if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)
		return -1;
	reserve->small = true;
	return ftruncate(reserve->fd, 0) ?: fallocate(reserve->fd, 0, 0, small_size);
}

void reserve__take(struct reserve *reserve, const char *output_path, int nr_events)
{
	off_t formats = (off_t)nr_events * RESERVE_PER_EVENT;
	off_t size = RESERVE_BYTES + formats, small_size = SMALL_RESERVE_BYTES + formats;
	char *path = strdup(output_path);

	*reserve = (struct reserve){ .fd = -1 };
	if (!path)
		return;
	reserve->fd = open(dirname(path), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (reserve->fd >= 0 && allocate(reserve, size, small_size)) {
		pr_debug("Cannot reserve disk space for the header's features: %m\n");
		fd__close(&reserve->fd);
	}
	free(path);
	lower_limit(reserve, size, small_size);
}

void reserve__release(struct reserve *reserve)
{
	fd__close(&reserve->fd);
	if (reserve->limited)
		setrlimit(RLIMIT_FSIZE, &reserve->limit);
	reserve->limited = false;
}
