// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "util/path.h"
#include "recording/lib/fd.h"
#include "claim.h"

int claim__stat_data(const char **path, char *data, size_t size, struct stat *st)
{
	if (stat(*path, st))
		return -errno;
	if (!S_ISDIR(st->st_mode))
		return 0;
	path__join(data, size, *path, "data");
	*path = data;
	return stat(data, st) ? -errno : 0;
}

static int lock(int fd, int kind)
{
	return flock(fd, kind | LOCK_NB) && errno == EWOULDBLOCK ? -EBUSY : 0;
}

/* Give up after this time: any user may lock a directory that everybody can read. */
#define MAX_WAIT_MS	2000
#define RETRY_MS	10

int claim__begin(const char *path)
{
	struct stat st;
	char *copy;
	int fd, waited;

	if (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return -1;
	copy = strdup(path);
	if (!copy)
		return -1;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(copy);
	if (fd < 0)
		return -1;
	for (waited = 0; lock(fd, LOCK_EX) && waited < MAX_WAIT_MS; waited += RETRY_MS)
		usleep(RETRY_MS * 1000);
	return fd;
}

void claim__end(int guard)
{
	fd__close(&guard);
}

/* Open regular files only: others may block, or have side effects. */
int claim__check(const char *path)
{
	char data[PATH_MAX];
	struct stat st;
	int fd, err;

	if (claim__stat_data(&path, data, sizeof(data), &st) || !S_ISREG(st.st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	err = lock(fd, LOCK_SH);
	close(fd);
	return err;
}

int claim__take(struct claim *claim, int fd)
{
	struct stat st;

	*claim = (struct claim){ 0 };
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	claim->dev = st.st_dev;
	claim->ino = st.st_ino;
	return lock(fd, LOCK_EX);
}

bool claim__names(const struct claim *claim, const char *path)
{
	char data[PATH_MAX];
	struct stat st;

	return !claim__stat_data(&path, data, sizeof(data), &st) && st.st_dev == claim->dev &&
	       st.st_ino == claim->ino;
}

enum file_fate claim__fate(const struct claim *claim, int fd, const char *path)
{
	struct stat st;

	if (claim__names(claim, path))
		return FILE_KEPT;
	return fstat(fd, &st) || !st.st_nlink ? FILE_DELETED : FILE_MOVED;
}
