// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/ring_buffer.h>
#include <linux/zalloc.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "util/debug.h"
#include "recording/lib/checksum.h"
#include "recording/lib/fd.h"
#include "guard.h"

/* While the guard of a recorder before writes the file */
#define LOCK_TRIES	100
#define LOCK_PAUSE_US	50000

/* A message to the guard; a ring has its descriptor beside it. ORDER_NONE: there is no message. */
enum order {
	ORDER_STOP,
	ORDER_RING,
	ORDER_NONE,
};

struct message {
	u64	order;
	u64	bytes;
};

/*
 * The guard. The recorder may have had other threads when it was forked: nothing here may take a
 * lock of the C library, nor allocate from its heap.
 */

/**
 * struct guarded_ring
 * @page:	mapped, @bytes long
 */
struct guarded_ring {
	struct perf_event_mmap_page *page;
	size_t			     bytes;
	int			     fd;
};

/**
 * struct guarding - what the guard has
 * @socket:	from the recorder
 * @pidfd:	of the recorder, or -1 (Linux before 5.3): then the end of @socket tells
 * @file:	locked
 * @box:	see struct rings_header
 * @rings:	@nr in mapped memory of @max
 * @missing:	there are rings that could not be mapped
 */
struct guarding {
	int			 socket;
	int			 pidfd;
	int			 file;
	u64			 box;
	struct guarded_ring	*rings;
	size_t			 nr;
	size_t			 max;
	bool			 missing;
};

static void *map_memory(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Return: success. */
static bool grow(struct guarding *guarding)
{
	size_t max = guarding->max ? 2 * guarding->max : 64;
	struct guarded_ring *rings = map_memory(max * sizeof(*rings));

	if (rings == MAP_FAILED)
		return false;
	if (guarding->nr) {
		memcpy(rings, guarding->rings, guarding->nr * sizeof(*rings));
		munmap(guarding->rings, guarding->max * sizeof(*rings));
	}
	guarding->rings = rings;
	guarding->max = max;
	return true;
}

static void add_ring(struct guarding *guarding, int fd, size_t bytes)
{
	void *page = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED || (guarding->nr == guarding->max && !grow(guarding)))
		guarding->missing = true;
	else
		guarding->rings[guarding->nr++] = (struct guarded_ring){ page, bytes, fd };
}

/* Return: what the recorder wants. */
static enum order receive(struct guarding *guarding)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct message message = { .order = ORDER_RING };
	struct iovec part = { &message, sizeof(message) };
	struct msghdr header = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	int fd;

	if (recvmsg(guarding->socket, &header, MSG_CMSG_CLOEXEC) != sizeof(message))
		return ORDER_NONE;
	cmsg = CMSG_FIRSTHDR(&header);
	if (message.order == ORDER_RING && cmsg) {
		memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
		add_ring(guarding, fd, message.bytes);
	}
	return message.order;
}

/* Return: true if the recorder is gone, false if the guard is to stop. */
static bool wait_for_end(struct guarding *guarding)
{
	struct pollfd polled[] = {
		{ .fd = guarding->socket, .events = POLLIN },
		{ .fd = guarding->pidfd, .events = POLLIN },
	};
	enum order order;

	for (;;) {
		if (poll(polled, ARRAY_SIZE(polled), -1) < 0)
			continue;
		order = polled[0].revents & POLLIN ? receive(guarding) : ORDER_NONE;
		if (order == ORDER_STOP)
			return false;
		if (order == ORDER_RING)
			continue;	/* others may follow, also if the recorder is gone */
		if (polled[1].revents || (guarding->pidfd < 0 && polled[0].revents & POLLHUP))
			return true;
	}
}

/* Write @len bytes of the ring from @pos on. Return: success. */
static bool write_part(const struct guarding *guarding, const void *data, u64 size, u64 pos,
		       u64 len, u64 at)
{
	u64 first = min(len, size - (pos & (size - 1)));

	return pwrite(guarding->file, data + (pos & (size - 1)), first, at) == (ssize_t)first &&
	       (first == len ||
		pwrite(guarding->file, data, len - first, at + first) == (ssize_t)(len - first));
}

/* Of a record in two parts, and so of a ring, the checksum is that of what is in the file. */
static u64 sum_of_file(const struct guarding *guarding, u64 at, u64 len)
{
	void *map;
	u64 start = at & ~(u64)(page_size - 1), sum;

	if (!len)
		return checksum("", 0);
	map = mmap(NULL, at - start + len, PROT_READ, MAP_SHARED, guarding->file, start);
	if (map == MAP_FAILED)
		return 0;
	sum = checksum(map + (at - start), len);
	munmap(map, at - start + len);
	return sum;
}

static bool write_ring(const struct guarding *guarding, const struct guarded_ring *ring,
		       struct rings_entry *entry)
{
	const u64 offset = ring->page->data_offset ?: page_size;
	const u64 size = ring->page->data_size ?: ring->bytes - page_size;
	const u64 tail = ring->page->data_tail;
	/* The backlog may have begun to start over: then it is empty. */
	const u64 head = max(ring_buffer_read_head(ring->page), tail);

	if (head - tail > size || size & (size - 1) || offset > ring->bytes ||
	    size > ring->bytes - offset)
		return false;
	entry->len = head - tail;
	entry->free = size - entry->len;
	if (!write_part(guarding, (void *)ring->page + offset, size, tail, entry->len, entry->at))
		return false;
	entry->sum = sum_of_file(guarding, entry->at, entry->len);
	return true;
}

/*
 * An entry without records and without free space says that a ring may have had more: of one that
 * cannot be written, and of all that could not be mapped.
 */
static void save(const struct guarding *guarding)
{
	struct rings_header header = { .box = guarding->box, .nr = guarding->nr };
	size_t bytes = (guarding->nr + 1) * sizeof(struct rings_entry), i;
	struct rings_entry *entries = map_memory(bytes);
	u64 at = sizeof(header) + bytes;

	/* Take the space of header and entries first: the records may fill the disk. */
	if (entries == MAP_FAILED ||
	    pwrite(guarding->file, entries, bytes, sizeof(header)) != (ssize_t)bytes)
		return;
	for (i = 0; i < guarding->nr; i++)
		ioctl(guarding->rings[i].fd, PERF_EVENT_IOC_DISABLE, 0); /* not of BPF's rings */
	for (i = 0; i < guarding->nr; i++) {
		entries[i].at = at;
		if (!write_ring(guarding, &guarding->rings[i], &entries[i]))
			entries[i] = (struct rings_entry){ .at = at };
		at += entries[i].len;
	}
	if (guarding->missing)
		entries[header.nr++].at = at;
	bytes = header.nr * sizeof(*entries);
	memcpy(header.magic, RINGS_MAGIC, sizeof(header.magic));
	header.sum = checksum(entries, bytes);
	if (pwrite(guarding->file, entries, bytes, sizeof(header)) == (ssize_t)bytes)
		(void)!pwrite(guarding->file, &header, sizeof(header), 0);
}

/* Close all descriptors but those of @guarding: others wait for the end of the recorder's pipes. */
static void close_others(const struct guarding *guarding)
{
	int keep[] = { guarding->socket, guarding->pidfd, guarding->file };
	int fd, max = sysconf(_SC_OPEN_MAX), i;

	for (fd = 0; fd < min(max, 4096); fd++) {
		for (i = 0; i < (int)ARRAY_SIZE(keep) && fd != keep[i]; i++)
			;
		if (i == (int)ARRAY_SIZE(keep))
			close(fd);
	}
}

/* A guard that the OOM killer ends saves nothing. Only root may lower the value. */
static void lower_oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, "-999", 4);
	close(fd);
}

static void __attribute__((noreturn)) guard(struct guarding *guarding, pid_t recorder)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "perf-guard");
	close_others(guarding);
	lower_oom_score();
	guarding->pidfd = pidfd_open(recorder, 0);
	if (wait_for_end(guarding))
		save(guarding);
	_exit(0);
}

/*
 * The recorder
 */

char *guard__path(const char *file)
{
	char *path;

	return asprintf(&path, "%s.rings", file) < 0 ? NULL : path;
}

int guard__lock(int fd, int operation, int tries)
{
	int i;

	for (i = 0; i < tries; i++) {
		if (!flock(fd, operation | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK)
			break;
		usleep(LOCK_PAUSE_US);
	}
	return -errno;
}

static int check(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1 ? 0 : -EPERM;
}

/* Do not overwrite what no guard has written: the header is zero, or whole. Caller has the lock. */
static int check_contents(int fd)
{
	static const struct rings_header unfinished;
	struct rings_header header = { .nr = 0 };

	if (pread(fd, &header, sizeof(header), 0) < 0)
		return -errno;
	return !memcmp(header.magic, RINGS_MAGIC, sizeof(header.magic)) ||
	       !memcmp(&header, &unfinished, sizeof(header)) ? 0 : -EEXIST;
}

/*
 * Return: a descriptor of the file, empty and locked; or a negative errno after an error message.
 */
static int create(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600), err;

	err = fd < 0 ? -errno : check(fd) ?: guard__lock(fd, LOCK_EX, LOCK_TRIES) ?:
				check_contents(fd);
	if (!err && (ftruncate(fd, 0) || fchmod(fd, 0600)))
		err = -errno;
	if (!err)
		return fd;
	pr_err("Cannot create %s: %s\n", path, strerror(-err));
	fd__close(&fd);
	return err;
}

static int fork_guard(struct guard *guard_, struct guarding *guarding)
{
	const pid_t recorder = getpid();
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	guarding->socket = sockets[1];
	guard_->pid = fork();
	if (!guard_->pid)
		guard(guarding, recorder);
	close(sockets[1]);
	guard_->socket = sockets[0];
	return guard_->pid < 0 ? -errno : 0;
}

int guard__start(struct guard *guard_, const char *file, u64 box)
{
	struct guarding guarding = { .pidfd = -1, .box = box };
	int err;

	guard_->path = guard__path(file);
	if (!guard_->path)
		return -ENOMEM;
	guarding.file = create(guard_->path);
	if (guarding.file < 0) {
		zfree(&guard_->path);
		return guarding.file;
	}
	err = fork_guard(guard_, &guarding);
	close(guarding.file);
	if (err)
		pr_err("Cannot start a process that saves the rings: %s\n", strerror(-err));
	return err;
}

static int send_message(const struct guard *guard_, const struct message *message, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { (void *)message, sizeof(*message) };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	if (fd >= 0) {
		header.msg_control = control;
		header.msg_controllen = sizeof(control);
		cmsg = CMSG_FIRSTHDR(&header);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	}
	return sendmsg(guard_->socket, &header, MSG_NOSIGNAL) == sizeof(*message) ? 0 : -errno;
}

int guard__add(struct guard *guard_, int fd, size_t bytes)
{
	const struct message message = { .order = ORDER_RING, .bytes = bytes };
	int err = guard_->path ? send_message(guard_, &message, fd) : 0;

	if (err)
		pr_err("Cannot pass a ring to the process that saves it: %s\n", strerror(-err));
	return err;
}

void guard__stop(struct guard *guard_)
{
	const struct message message = { .order = ORDER_STOP };

	if (!guard_->path)
		return;
	if (guard_->pid > 0) {
		if (send_message(guard_, &message, -1))
			kill(guard_->pid, SIGKILL);
		while (waitpid(guard_->pid, NULL, 0) < 0 && errno == EINTR)
			;
		close(guard_->socket);
	}
	unlink(guard_->path);
	zfree(&guard_->path);
}
