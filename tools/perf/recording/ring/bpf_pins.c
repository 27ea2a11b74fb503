// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <internal/lib.h>
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include "util/debug.h"
#include "recording/lib/fd.h"
#include "bpf_pins.h"

#define BPF_DIR		"/sys/fs/bpf"
#define PINS_DIR	BPF_DIR "/perf-record"

/* "session" replaces another one by this name. */
#define NEW_SESSION	"session-new"

#define MAX_NAME	64

/* While the heads of rings move, programs that were detached are still running. */
#define SETTLE_US	20000
#define MAX_SETTLES	50

/*
 * The directory
 */

/* BPF file systems refuse dots in names. */
static bool is_valid(const char *name)
{
	size_t len = strlen(name);

	return len && len <= MAX_NAME &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-@:") ==
	       len;
}

static bool is_bpf_fs(void)
{
	struct statfs fs;

	return !statfs(BPF_DIR, &fs) && fs.f_type == BPF_FS_MAGIC;
}

/* Others that can write a directory could let perf read, and write, maps of theirs. */
static int check_directory(const struct stat *st, const char *path)
{
	if (S_ISDIR(st->st_mode) && (!st->st_uid || st->st_uid == geteuid()) &&
	    !(st->st_mode & 0022))
		return 0;
	pr_err("Cannot use %s: it must be a directory that only root or this user can write.\n",
	       path);
	return -EPERM;
}

static int explain(const char *what, const char *path, int err)
{
	pr_err("Cannot %s %s: %s\n", what, path, strerror(-err));
	return err;
}

static int open_directory(struct bpf_pins *pins, bool create)
{
	struct stat st;

	if (create && ((mkdir(PINS_DIR, 0755) && errno != EEXIST) ||
		       (mkdir(pins->path, 0700) && errno != EEXIST))) {
		pr_warning("Cannot create %s: %m. Nothing outlives perf.\n", pins->path);
		return -EOPNOTSUPP;
	}
	if (lstat(PINS_DIR, &st))
		return explain("open", pins->path, -errno);
	if (check_directory(&st, PINS_DIR))
		return -EPERM;
	pins->dir = open(pins->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (pins->dir < 0 || fstat(pins->dir, &st))
		return explain("open", pins->path, -errno);
	if (flock(pins->dir, LOCK_EX | LOCK_NB)) {
		pr_err("%s is in use by another perf record. Use another name.\n", pins->path);
		return -EBUSY;
	}
	return check_directory(&st, pins->path);
}

static bool is_session(const char *name)
{
	return !strcmp(name, "session");
}

/* Remove all names but that of the session. */
static void empty(const struct bpf_pins *pins)
{
	int fd = openat(pins->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && !is_session(entry->d_name) &&
		    unlinkat(pins->dir, entry->d_name, 0))
			pr_warning("Cannot remove %s/%s: %m\n", pins->path, entry->d_name);
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

/*
 * Pins
 */

static int path_of(const struct bpf_pins *pins, const char *prefix, const char *name, char *path,
		   size_t size)
{
	return snprintf(path, size, "%s/%s%s", pins->path, prefix, name) < (int)size ?
	       0 : -ENAMETOOLONG;
}

int bpf_pins__add(const struct bpf_pins *pins, const char *prefix, const char *name, int fd)
{
	char path[PATH_MAX];
	int err = path_of(pins, prefix, name, path, sizeof(path));

	if (!err && unlink(path) && errno != ENOENT)
		err = -errno;
	return err ?: bpf_obj_pin(fd, path) ? -errno : 0;
}

int bpf_pins__get(const struct bpf_pins *pins, const char *prefix, const char *name)
{
	char path[PATH_MAX];
	int err = path_of(pins, prefix, name, path, sizeof(path)), fd;

	if (err)
		return err;
	fd = bpf_obj_get(path);
	return fd < 0 ? -errno : fd;
}

int bpf_pins__get_map(const struct bpf_pins *pins, const char *prefix, const char *name,
		      size_t *bytes)
{
	int fd = bpf_pins__get(pins, prefix, name);
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);

	if (fd < 0)
		return fd;
	if (bpf_obj_get_info_by_fd(fd, &info, &len) || info.type != BPF_MAP_TYPE_ARRAY ||
	    info.max_entries != 1 || !(info.map_flags & BPF_F_MMAPABLE)) {
		close(fd);
		return -EINVAL;
	}
	*bytes = info.value_size;
	return fd;
}

/*
 * Map the only element of an array read-only. Return: memory to be unmapped, or MAP_FAILED with
 * errno set.
 */
static void *map_pin(const struct bpf_pins *pins, const char *name, size_t *bytes)
{
	int fd = bpf_pins__get_map(pins, "", name, bytes);
	void *map = MAP_FAILED;

	if (fd >= 0) {
		map = mmap(NULL, *bytes, PROT_READ, MAP_SHARED, fd, 0);
		close(fd);
	} else {
		errno = -fd;
	}
	return map;
}

/*
 * The session
 */

static bool is_complete(const struct bpf_pin_header *header, size_t bytes)
{
	return !memcmp(header->magic, BPF_PIN_MAGIC, sizeof(header->magic)) &&
	       header->version == BPF_PIN_VERSION &&
	       header->session_bytes <= bytes - sizeof(*header);
}

static int read_header(struct bpf_pins *pins)
{
	struct bpf_pin_header *map;
	size_t bytes = 0;

	if (faccessat(pins->dir, "session", F_OK, AT_SYMLINK_NOFOLLOW)) {
		empty(pins);
		return 0;
	}
	map = map_pin(pins, "session", &bytes);
	if (map != MAP_FAILED && bytes >= sizeof(*map)) {
		pins->header = *map;
		pins->complete = is_complete(&pins->header, bytes);
	}
	if (map != MAP_FAILED)
		munmap(map, bytes);
	if (pins->complete)
		return 0;
	pr_err("%s was pinned by a perf with another format of it. Save it with that perf (--unpin=%s), or\n"
	       "remove it: rm -r %s\n", pins->path, pins->name, pins->path);
	return -EINVAL;
}

int bpf_pins__open(struct bpf_pins *pins, const char *name, bool create)
{
	int err;

	*pins = (struct bpf_pins){ .name = name, .dir = -1 };
	if (!is_valid(name)) {
		pr_warning("Cannot pin events as %s: use letters, digits and _-@: in names, at most %d.\n",
			   name, MAX_NAME);
		return -EOPNOTSUPP;
	}
	if (!is_bpf_fs()) {
		pr_warning("Cannot find pinned events: " BPF_DIR " is no BPF file system. "
			   "Mount one: mount -t bpf none " BPF_DIR "\n");
		return -EOPNOTSUPP;
	}
	if (asprintf(&pins->path, PINS_DIR "/%s", name) < 0) {
		pins->path = NULL;
		return -ENOMEM;
	}
	err = open_directory(pins, create) ?: read_header(pins);
	if (err)
		bpf_pins__close(pins);
	return err;
}

void bpf_pins__close(struct bpf_pins *pins)
{
	if (!bpf_pins__is_open(pins))
		return;
	fd__close(&pins->dir);
	zfree(&pins->path);
}

static int fill(void *map, const struct bpf_pin_header *header, int fd)
{
	ssize_t n;

	*(struct bpf_pin_header *)map = *header;
	n = preadn(fd, map + sizeof(*header), header->session_bytes, 0);
	return n == (ssize_t)header->session_bytes ? 0 : n < 0 ? -errno : -EIO;
}

/* Return: a descriptor of a map with the session, or a negative errno. */
static int create_session(const struct bpf_pin_header *header, int from)
{
	size_t bytes = sizeof(*header) + header->session_bytes;
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int err, fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "perf_session", sizeof(__u32), bytes, 1,
				     &opts);
	void *map;

	if (fd < 0)
		return -errno;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = map == MAP_FAILED ? -errno : fill(map, header, from);
	if (map != MAP_FAILED)
		munmap(map, bytes);
	if (err)
		close(fd);
	return err ?: fd;
}

int bpf_pins__refuse(const struct bpf_pins *pins, const char *reason)
{
	pr_err("Cannot go on with the events that a killed recorder (process %llu) left in %s: %s.\n"
	       "Save and remove them with: perf record --unpin=%s -o FILE\n",
	       pins->header.pid, pins->path, reason, pins->name);
	return -ESTALE;
}

int bpf_pins__commit(struct bpf_pins *pins, const struct bpf_pin_header *header, int fd)
{
	struct bpf_pin_header new = *header;
	struct stat st;
	int map, err;

	if (fstat(fd, &st))
		return -errno;
	memcpy(new.magic, BPF_PIN_MAGIC, sizeof(new.magic));
	new.version = BPF_PIN_VERSION;
	new.pid = getpid();
	new.session_bytes = st.st_size;
	map = create_session(&new, fd);
	if (map < 0)
		return map;
	err = bpf_pins__add(pins, "", NEW_SESSION, map);
	if (!err && renameat(pins->dir, NEW_SESSION, pins->dir, "session"))
		err = -errno;
	close(map);
	if (!err) {
		pins->header = new;
		pins->complete = true;
	}
	return err;
}

int bpf_pins__copy_session(const struct bpf_pins *pins, int fd)
{
	size_t bytes = 0;
	void *map = map_pin(pins, "session", &bytes);
	const size_t len = pins->header.session_bytes;
	int err = 0;

	if (map == MAP_FAILED)
		return -errno;
	if (writen(fd, map + sizeof(pins->header), len) != (ssize_t)len)
		err = -errno;
	munmap(map, bytes);
	return err;
}

/*
 * Rings
 */

/* Call @visit for each ring, which is mapped. Return: 0, or the first error. */
static int for_each_ring(const struct bpf_pins *pins,
			 int (*visit)(const void *ring, size_t bytes, void *arg), void *arg)
{
	int fd = openat(pins->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	size_t bytes;
	void *ring;

	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "ring-", 5))
			continue;
		ring = map_pin(pins, entry->d_name, &bytes);
		err = ring == MAP_FAILED ? -errno : visit(ring, bytes, arg);
		if (ring != MAP_FAILED)
			munmap(ring, bytes);
	}
	closedir(dir);
	return err;
}

static int write_ring(const void *ring, size_t bytes, void *fd)
{
	return writen(*(int *)fd, (void *)ring, bytes) == (ssize_t)bytes ? 0 : -errno;
}

int bpf_pins__copy_rings(const struct bpf_pins *pins, int fd)
{
	return for_each_ring(pins, write_ring, &fd);
}

static int count(const void *ring __maybe_unused, size_t bytes __maybe_unused, void *nr)
{
	++*(int *)nr;
	return 0;
}

int bpf_pins__nr_rings(const struct bpf_pins *pins)
{
	int nr = 0;

	return for_each_ring(pins, count, &nr) ?: nr;
}

static int add_head(const void *ring, size_t bytes __maybe_unused, void *sum)
{
	*(__u64 *)sum += ((const struct perf_event_mmap_page *)ring)->data_head;
	return 0;
}

static __u64 sum_of_heads(const struct bpf_pins *pins)
{
	__u64 sum = 0;

	for_each_ring(pins, add_head, &sum);
	return sum;
}

bool bpf_pins__is_empty(const struct bpf_pins *pins)
{
	__u64 sum = 0;

	return !for_each_ring(pins, add_head, &sum) && !sum;
}

void bpf_pins__detach(const struct bpf_pins *pins)
{
	int fd = openat(pins->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), i;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	__u64 before, sum;

	while (dir && (entry = readdir(dir))) {
		if (!strncmp(entry->d_name, "link-", 5))
			unlinkat(pins->dir, entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
	sum = sum_of_heads(pins);
	for (i = 0; i < MAX_SETTLES; i++) {
		before = sum;
		usleep(SETTLE_US);
		sum = sum_of_heads(pins);
		if (sum == before)
			break;
	}
}

void bpf_pins__remove(struct bpf_pins *pins)
{
	if (!bpf_pins__is_open(pins))
		return;
	unlinkat(pins->dir, "session", 0);
	empty(pins);
	rmdir(pins->path);		/* it stays if its parent belongs to another user */
	bpf_pins__close(pins);
}
