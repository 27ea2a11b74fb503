// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <linux/kernel.h>
#include <sys/stat.h>
#include "util/levenshtein.h"
#include "recording/lib/compat.h"
#include "condition.h"
#include "names.h"

/* More than any architecture has */
#define MAX_SYSCALLS	1024

/* Edits of a name that still make another one similar: one letter of each */
#define MAX_DISTANCE	3

const char *when_names__syscall(int number)
{
	return host_syscall_name(number);
}

static const char *find_similar(const char *name)
{
	int best = MAX_DISTANCE + 1, distance, i;
	const char *similar = NULL, *other;

	for (i = 0; i < MAX_SYSCALLS; i++) {
		other = host_syscall_name(i);
		if (!other)
			continue;
		distance = levenshtein(name, other, 1, 2, 1, 1);
		if (distance < best) {
			best = distance;
			similar = other;
		}
	}
	return similar;
}

/* The id of a cgroup is the number of its folder. */
static u64 find_cgroup(const char *path)
{
	static const char * const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char file[PATH_MAX];
	struct stat st;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mounts); i++) {
		/* Folders of version 1 have no such file. */
		snprintf(file, sizeof(file), "%s/cgroup.controllers", mounts[i]);
		if (stat(file, &st))
			continue;
		snprintf(file, sizeof(file), "%s/%s", mounts[i], path);
		return stat(file, &st) || !S_ISDIR(st.st_mode) ? 0 : st.st_ino;
	}
	return 0;
}

const struct when_names when_names = {
	.syscall	 = host_syscall_id,
	.similar_syscall = find_similar,
	.cgroup		 = find_cgroup,
};
