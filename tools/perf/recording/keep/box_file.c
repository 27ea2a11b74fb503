// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include "util/debug.h"
#include "box_file.h"
#include "box_format.h"

static int explain_open(const char *path)
{
	int err = -errno;

	if (err == -ELOOP)
		pr_err("--keep-file=%s is a symbolic link: give the name of the file itself.\n",
		       path);
	else
		pr_err("Cannot create --keep-file=%s: %s\n", path, strerror(-err));
	return err;
}

/* Return: does @path lead to the file that is open as @fd? */
static bool names(const char *path, int fd)
{
	struct stat named, opened;

	return !lstat(path, &named) && !fstat(fd, &opened) && named.st_dev == opened.st_dev &&
	       named.st_ino == opened.st_ino;
}

/* Of another file that has the lock, the header tells whose it is. */
static int explain_locked(int fd, const char *path)
{
	struct box_header header = { .pid = 0 };

	if (pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
	    !memcmp(header.magic, BOX_MAGIC, sizeof(header.magic)))
		pr_err("--keep-file=%s is in use by perf record, process %" PRIu64 ". Use another name.\n",
		       path, (u64)header.pid);
	else
		pr_err("--keep-file=%s is locked by another process. Use another name.\n", path);
	return -EBUSY;
}

/* Others must not be able to read what is kept, nor to change it. */
static int check_owner(const struct stat *st, const char *path)
{
	if (!S_ISREG(st->st_mode)) {
		pr_err("--keep-file=%s: must be a regular file.\n", path);
		return -EINVAL;
	}
	if (st->st_uid == geteuid() && st->st_nlink == 1)
		return 0;
	pr_err("--keep-file=%s exists, and %s. Use another name.\n", path,
	       st->st_nlink == 1 ? "belongs to another user" : "has other names");
	return -EPERM;
}

/* Do not overwrite what is no box, nor records that are in no other file. */
static int check_contents(int fd, const struct stat *st, const char *path)
{
	struct box_header header;

	if (!st->st_size)
		return 0;
	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.magic, BOX_MAGIC, sizeof(header.magic))) {
		pr_err("--keep-file=%s exists, and is no file of --keep-file. Remove it, or use another name.\n",
		       path);
		return -EEXIST;
	}
	if (header.version != BOX_VERSION || header.byte_order != BOX_BYTE_ORDER) {
		pr_err("--keep-file=%s exists, and is from another version of perf, or another machine. Save its records\n"
		       "with the perf inject --recover-keep of that version, or remove the file.\n",
		       path);
		return -EEXIST;
	}
	if (header.state != BOX_RECORDING && header.state != BOX_UNSAVED)
		return 0;
	pr_err("--keep-file=%s has the records of a recorder that was killed, or could not save them. Save them\n"
	       "with: perf inject --recover-keep %s -o FILE\nor remove the file.\n", path, path);
	return -EEXIST;
}

/* File systems such as ext4 leave what they had reserved when there was no more space. */
static int explain_space(int fd, const char *path, u64 bytes, int err)
{
	struct statvfs fs;

	if (ftruncate(fd, 0))
		pr_warning("Cannot empty --keep-file=%s: %m\n", path);
	pr_err("Cannot reserve %" PRIu64 " MB for --keep-file=%s: %s.", bytes >> 20, path,
	       strerror(err));
	if (err == ENOSPC && !fstatvfs(fd, &fs))
		pr_err(" The file system has %" PRIu64 " MB free: use a smaller --keep, or another file system.",
		       (u64)fs.f_bavail * fs.f_frsize >> 20);
	pr_err("\n");
	return -err;
}

/* Whenever this process is killed, the next one finds an empty file, or a box without records. */
static int mark(int fd)
{
	struct box_header header = { .byte_order = BOX_BYTE_ORDER, .version = BOX_VERSION };

	memcpy(header.magic, BOX_MAGIC, sizeof(header.magic));
	return pwrite(fd, &header, sizeof(header), 0) == sizeof(header) ? 0 : errno;
}

/* A file with holes would fail later, by SIGBUS. */
static int reserve(int fd, const char *path, u64 bytes)
{
	int err;

	if (ftruncate(fd, 0) || fchmod(fd, 0600)) {
		err = errno;
		pr_err("Cannot empty --keep-file=%s: %s\n", path, strerror(err));
		return -err;
	}
	err = mark(fd) ?: posix_fallocate(fd, 0, bytes);
	return err ? explain_space(fd, path, bytes, err) : 0;
}

/* Is the mapping the medium itself (DAX)? Then the file may outlive the machine. */
static bool is_dax(int fd)
{
	struct statx stat;

	return !statx(fd, "", AT_EMPTY_PATH, 0, &stat) && stat.stx_attributes & STATX_ATTR_DAX;
}

/* Blocks that were reserved, but never written, are zeros for who mounts the file system next. */
static int write_zeros(int fd, u64 bytes)
{
	static const char zeros[1 << 16];
	u64 at = sizeof(struct box_header);
	ssize_t n;

	for (; at < bytes; at += n) {
		n = pwrite(fd, zeros, min((u64)sizeof(zeros), bytes - at), at);
		if (n <= 0)
			return n ? errno : EIO;
	}
	return 0;
}

static int sync_with_name(int fd, const char *path)
{
	char *copy = strdup(path);
	int dir = copy ? open(dirname(copy), O_RDONLY | O_CLOEXEC) : -1;
	int err = dir < 0 || fsync(fd) || fsync(dir) ? errno : 0;

	if (dir >= 0)
		close(dir);
	free(copy);
	return err;
}

/*
 * Stores to the mapping change nothing that the file system has to write, if it has written all
 * there is to know about the file before.
 */
static int settle(int fd, const char *path, u64 bytes)
{
	int err;

	if (!is_dax(fd))
		return 0;
	err = write_zeros(fd, bytes) ?: sync_with_name(fd, path);
	if (err)
		pr_err("Cannot write --keep-file=%s: %s\n", path, strerror(err));
	return -err;
}

/*
 * Caller closes @fd, or removes the file, after an error. @existed: the file may not be removed. Of
 * a device, a FIFO and a file of another user, the size tells nothing.
 */
static int prepare(int fd, const char *path, u64 bytes, bool *existed)
{
	struct stat st;
	int err;

	*existed = true;
	if (flock(fd, LOCK_EX | LOCK_NB))
		return explain_locked(fd, path);
	if (fstat(fd, &st))
		return explain_open(path);
	err = check_owner(&st, path);
	if (err)
		return err;
	*existed = st.st_size;
	err = check_contents(fd, &st, path);
	return err ?: reserve(fd, path, bytes) ?: settle(fd, path, bytes);
}

int box_file__create(const char *path, u64 bytes)
{
	bool existed = false;
	int fd, err;

	/* A recorder that ends may remove the file between open and lock. */
	do {
		fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
		if (fd < 0)
			return explain_open(path);
		err = prepare(fd, path, bytes, &existed);
		if (!err && names(path, fd))
			return fd;
		if (err && !existed)
			box_file__remove(fd, path);
		close(fd);
	} while (!err);
	return err;
}

void *box_file__map(int fd, const char *path, u64 bytes)
{
	int other = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), err = ENOENT;
	void *map = MAP_FAILED;

	if (other < 0)
		return map;
	if (names(path, other) && names(path, fd)) {
		map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0);
		err = errno;
	}
	close(other);
	errno = err;
	return map;
}

void box_file__remove(int fd, const char *path)
{
	if (names(path, fd) && unlink(path))
		pr_warning("Cannot remove %s: %m\n", path);
}
