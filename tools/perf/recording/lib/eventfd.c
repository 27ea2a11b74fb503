// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <unistd.h>
#include <linux/types.h>
#include <sys/eventfd.h>
#include "util/debug.h"
#include "eventfd.h"

int eventfd__new(void)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

/* The counter cannot overflow: the eventfd is read now and then. */
void eventfd__signal(int fd)
{
	const u64 one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		pr_debug("Cannot write to eventfd: %m\n");
}

bool eventfd__clear(int fd)
{
	u64 times;

	if (read(fd, &times, sizeof(times)) > 0)
		return true;
	if (errno != EAGAIN)
		pr_debug("Cannot read eventfd: %m\n");
	return false;
}
