// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "util/time-utils.h"
#include "cause.h"

struct snapshot_cause snapshot_cause__now(const char *reason)
{
	return (struct snapshot_cause){
		.reason = reason, .time = rdclock(), .pid = getpid(), .tid = getpid(),
		.cpu = sched_getcpu(),
	};
}

struct snapshot_cause snapshot_cause__exit(void)
{
	struct snapshot_cause cause = snapshot_cause__now("exit");

	cause.is_exit = true;
	return cause;
}

/* A task chooses its own name: leave nothing in it that a terminal would act on. */
void snapshot_cause__find_comm(struct snapshot_cause *cause)
{
	char path[32];
	ssize_t len;
	int fd, i;

	snprintf(path, sizeof(path), "/proc/%d/comm", cause->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	len = read(fd, cause->comm, sizeof(cause->comm) - 1);
	close(fd);
	if (len < 0)
		len = 0;
	cause->comm[len] = '\0';
	cause->comm[strcspn(cause->comm, "\n")] = '\0';
	for (i = 0; cause->comm[i]; i++) {
		if (!isprint((unsigned char)cause->comm[i]))
			cause->comm[i] = '?';
	}
}
