// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <linux/zalloc.h>
#include "util/data.h"
#include "util/debug.h"
#include "names.h"

/* Never rename such a directory to .old. */
bool name__is_other_directory(const char *path, const struct stat *st)
{
	char data[PATH_MAX];

	if (!S_ISDIR(st->st_mode))
		return false;
	snprintf(data, sizeof(data), "%s/data", path);
	return !is_perf_data(data);
}

bool name__is_link(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISLNK(st.st_mode);
}

int name__check_suffix(const char *path, size_t len)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char *copy = strdup(path);
	long max = copy ? pathconf(dirname(copy), _PC_NAME_MAX) : -1;	/* -1: unknown */

	free(copy);
	return (max > 0 && strlen(base) + len > (size_t)max) || strlen(path) + len >= PATH_MAX ?
	       -ENAMETOOLONG : 0;
}

/* Some file systems, such as NFS, cannot refuse to replace a file: look for it before. */
static int rename_to_free(const char *path, const char *name)
{
	if (!renameat2(AT_FDCWD, path, AT_FDCWD, name, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL)
		return -errno;
	if (!access(name, F_OK))
		return -EEXIST;
	return rename(path, name) ? -errno : 0;
}

/* Two files may be closed within the resolution of the suffix. */
int name__add_suffix(const char *path, const char *suffix, char **name)
{
	int nr = 0, err;

	do {
		err = nr ? asprintf(name, "%s.%s-%d", path, suffix, nr) :
			   asprintf(name, "%s.%s", path, suffix);
		if (err < 0) {
			*name = NULL;
			return -ENOMEM;
		}
		err = rename_to_free(path, *name);
		if (err == -EEXIST)
			zfree(name);
		nr++;
	} while (err == -EEXIST);

	if (err) {
		pr_err("Cannot rename %s to %s: %s\n", path, *name, strerror(-err));
		zfree(name);
	}
	return err;
}

void name__restore_old(const char *path)
{
	char *old;

	if (asprintf(&old, "%s.old", path) < 0)
		return;
	if (rename(old, path))
		pr_warning("Cannot rename %s to %s: %m\n", old, path);
	free(old);
}

/* Pipes, devices and some file systems cannot be synced. */
static int sync_path(const char *path, bool all)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), err;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	err = (all ? syncfs(fd) : fsync(fd)) && errno != EINVAL ? -errno : 0;
	close(fd);
	return err;
}

int name__sync(const char *path, bool is_dir)
{
	char *copy = strdup(path);
	int err = copy ? 0 : -ENOMEM;

	err = err ?: sync_path(path, is_dir) ?: sync_path(dirname(copy), false);
	if (err == -EACCES)	/* a directory that this user may write, but not read */
		err = sync_path(path, true);
	free(copy);
	if (err)
		pr_err("Cannot sync %s to the disk: %s. See --no-fsync.\n", path, strerror(-err));
	return err;
}
