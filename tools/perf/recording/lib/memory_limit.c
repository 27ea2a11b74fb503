// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read the memory limits of cgroups, of version 2 and 1.
 *
 * A limit holds for all descendants: the lowest one counts. In a container, /proc/self/cgroup has
 * paths relative to the container's cgroup, which is what is mounted. Without a cgroup namespace,
 * the paths are those of the host, most of which do not exist below the mount. Both ways, the walk
 * up to the mount ends at the container's own limit. What is outside the container is not visible.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <linux/kernel.h>
#include "memory_limit.h"

/* Return: the number in a file; 0: it has none, as "max", or does not exist. */
static u64 read_number(const char *path)
{
	FILE *file = fopen(path, "re");
	u64 number = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%" SCNu64, &number) != 1)
		number = 0;
	fclose(file);
	return number;
}

/* Note the limit of the cgroup @path and of its parents, up to @mount, where it is below @limit. */
static u64 find_lowest(const char *mount, const char *path, const char *name, u64 limit, char *file,
		       size_t size)
{
	char dir[PATH_MAX], candidate[PATH_MAX + 32], *slash;
	int min_len = strlen(mount);
	u64 number;

	if (snprintf(dir, sizeof(dir), "%s%s", mount, path) >= (int)sizeof(dir))
		return limit;
	do {
		snprintf(candidate, sizeof(candidate), "%s/%s", dir, name);
		number = read_number(candidate);
		if (number && (!limit || number < limit)) {
			limit = number;
			snprintf(file, size, "%s", candidate);
		}
		slash = strrchr(dir, '/');
		if (slash)
			*slash = '\0';
	} while (slash && (int)strlen(dir) >= min_len);
	return limit;
}

/* Is "memory" one of the controllers of version 1, separated by commas? */
static bool has_memory(char *controllers)
{
	char *name, *rest = controllers;

	while ((name = strsep(&rest, ","))) {
		if (!strcmp(name, "memory"))
			return true;
	}
	return false;
}

u64 memory_limit__find(const char *root, char *file, size_t size)
{
	char line[PATH_MAX + 256], mount[PATH_MAX], *rest, *controllers;
	FILE *cgroups;
	u64 limit = 0;

	*file = '\0';
	snprintf(mount, sizeof(mount), "%s/proc/self/cgroup", root);
	cgroups = fopen(mount, "re");
	if (!cgroups)
		return 0;
	while (fgets(line, sizeof(line), cgroups)) {
		rest = line;
		rest[strcspn(rest, "\n")] = '\0';
		strsep(&rest, ":");
		controllers = strsep(&rest, ":");
		if (!rest)
			continue;
		if (!strcmp(rest, "/"))
			*rest = '\0';
		if (!*controllers) {
			snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup", root);
			limit = find_lowest(mount, rest, "memory.max", limit, file, size);
			snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/unified", root);
			limit = find_lowest(mount, rest, "memory.max", limit, file, size);
		} else if (has_memory(controllers)) {
			snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/memory", root);
			limit = find_lowest(mount, rest, "memory.limit_in_bytes", limit, file,
					    size);
		}
	}
	fclose(cgroups);
	return limit;
}
