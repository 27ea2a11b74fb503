// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test finding the memory limit of a cgroup, in trees that look like /proc and /sys.
 *
 * tags: fast parallel
 */
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <linux/compiler.h>

#include "recording/lib/memory_limit.h"
#include "perf/tests/tap.h"

static char root[] = "/tmp/memory_limit_XXXXXX";

/* Write a file below @root, and create its folders. */
static void put(const char *name, const char *text)
{
	char path[PATH_MAX], *slash;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (slash = path + sizeof(root); (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file)) {
		perror(path);
		exit(1);
	}
}

static int remove_one(const char *path, const struct stat *st __maybe_unused,
		      int kind __maybe_unused, struct FTW *ftw)
{
	return ftw->level ? remove(path) : 0;
}

/* @name: file below /sys/fs/cgroup with the limit, or "". Then begin with an empty tree. */
static void finds(u64 limit, const char *name, const char *title)
{
	char file[PATH_MAX], expected[PATH_MAX] = "";
	u64 found = memory_limit__find(root, file, sizeof(file));

	if (*name)
		snprintf(expected, sizeof(expected), "%s/sys/fs/cgroup/%s", root, name);
	check(found == limit && !strcmp(file, expected), title);
	nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	if (!mkdtemp(root)) {
		perror(root);
		return 1;
	}

	finds(0, "", "no /proc");

	put("proc/self/cgroup", "0::/system.slice/perf.service\n");
	put("sys/fs/cgroup/cgroup.controllers", "memory\n");
	put("sys/fs/cgroup/system.slice/memory.max", "max\n");
	put("sys/fs/cgroup/system.slice/perf.service/memory.max", "max\n");
	finds(0, "", "no limit");

	put("proc/self/cgroup", "0::/system.slice/perf.service\n");
	put("sys/fs/cgroup/system.slice/memory.max", "max\n");
	put("sys/fs/cgroup/system.slice/perf.service/memory.max", "209715200\n");
	finds(209715200, "system.slice/perf.service/memory.max", "its own limit");

	put("proc/self/cgroup", "0::/a/b/c\n");
	put("sys/fs/cgroup/a/memory.max", "4096\n");
	put("sys/fs/cgroup/a/b/memory.max", "max\n");
	put("sys/fs/cgroup/a/b/c/memory.max", "8192\n");
	finds(4096, "a/memory.max", "a lower limit of a parent");

	put("proc/self/cgroup", "0::/\n");
	put("sys/fs/cgroup/memory.max", "4096\n");
	finds(4096, "memory.max", "the root of a cgroup namespace");

	put("proc/self/cgroup", "0::/docker/0123/sub\n");
	put("sys/fs/cgroup/memory.max", "4096\n");
	finds(4096, "memory.max", "a path of the host, of which a part is mounted");

	put("proc/self/cgroup", "5:cpu,memory:/a\n4:cpuset:/b\n0::/c\n");
	put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "8192\n");
	put("sys/fs/cgroup/unified/c/cgroup.procs", "1\n");
	finds(8192, "memory/a/memory.limit_in_bytes", "version 1");

	put("proc/self/cgroup", "5:memory_other:/a\nbroken\n\n0:\n");
	put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "8192\n");
	finds(0, "", "lines without the controller");

	remove(root);
	return tap_end();
}
