// SPDX-License-Identifier: GPL-2.0-only
/*
 * Inject faults of a slow or broken disk into the writes of a program (LD_PRELOAD) or of a unit
 * test (linked).
 * flags: -shared -fPIC -D_GNU_SOURCE
 *
 * SPOIL_WRITES in the environment selects the fault. The writes of each thread count from 1:
 *	stall N		write N does not begin before the file SPOIL_UNTIL exists
 *	fail N ERRNO	write N and all later ones fail
 *	once N ERRNO	only write N fails
 *	trouble N	from N on, writes are short or fail with EINTR or EAGAIN, and succeed when
 *			retried
 *	close ERRNO	closing a file whose name matches the pattern SPOIL_FILE fails
 *	sync ERRNO	fsync(2) of a file fails whose name matches the pattern SPOIL_FILE
 *
 * A write is pwrite(2), aio_write(3) or a request submitted to io_uring. A write that fails writes
 * nothing, a short one no more than it returns. A write that stalls blocks its thread; in io_uring
 * it blocks nothing, and is not complete.
 *
 * Writes of the main thread, in which perf writes the header, have no faults.
 */
#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <liburing.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_REFUSED	64
#define BLOCK		4096U	/* a short direct write is a multiple of this */

static void wait_for_file(void)
{
	while (access(getenv("SPOIL_UNTIL"), F_OK))
		usleep(10000);
}

/*
 * Return how many bytes of the next write, of @len bytes, to write, or a negative errno. If the
 * write is to stall, set *@stalled, or wait if that is NULL.
 */
static ssize_t spoil(size_t len, bool *stalled)
{
	static __thread unsigned int calls;
	const char *fault = getenv("SPOIL_WRITES");
	unsigned int call, nr;
	char name[16];
	int err = 0;

	if (!fault || gettid() == getpid())
		return len;
	call = ++calls;
	if (sscanf(fault, "%15s %u %d", name, &nr, &err) < 2)
		abort();
	if (!strcmp(name, "stall") && call == nr) {
		if (stalled)
			*stalled = true;
		else
			wait_for_file();
	}
	if ((!strcmp(name, "fail") && call >= nr) || (!strcmp(name, "once") && call == nr))
		return -err;
	if (strcmp(name, "trouble") || call < nr)
		return len;
	switch (call % 4) {
	case 0:
		return -EINTR;
	case 1:
		return -EAGAIN;
	case 2:
		return len / 3 + 1;
	default:
		return len;
	}
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t pos)
{
	ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
	ssize_t part = spoil(len, NULL);

	if (part < 0) {
		errno = -part;
		return -1;
	}
	return real(fd, buf, part, pos);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t pos)
{
	return pwrite64(fd, buf, len, pos);
}

static bool is_file_to_spoil(int fd)
{
	const char *file = getenv("SPOIL_FILE");
	char link[64], name[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, name, sizeof(name) - 1);
	if (!file || len < 0)
		return false;
	name[len] = '\0';
	return !fnmatch(file, name, 0);
}

int fsync(int fd)
{
	int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
	const char *fault = getenv("SPOIL_WRITES");

	if (!fault || strncmp(fault, "sync ", 5) || !is_file_to_spoil(fd))
		return real(fd);
	errno = atoi(fault + 5);
	return -1;
}

int close(int fd)
{
	int (*real)(int) = dlsym(RTLD_NEXT, "close");
	const char *fault = getenv("SPOIL_WRITES");
	bool spoiled = fault && !strncmp(fault, "close ", 6) && is_file_to_spoil(fd);
	int ret = real(fd);

	if (!spoiled)
		return ret;
	errno = atoi(fault + 6);
	return -1;
}

/*
 * aio_write() itself fails with EAGAIN, when its queue is full. aio_error(3) returns other errors.
 */
int aio_write64(struct aiocb64 *cb)
{
	int (*real)(struct aiocb64 *) = dlsym(RTLD_NEXT, "aio_write64");
	ssize_t part = spoil(cb->aio_nbytes, NULL);

	if (part == -EAGAIN) {
		errno = EAGAIN;
		return -1;
	}
	if (part < 0) {
		cb->__error_code = -part;
		cb->__return_value = -1;
		return 0;
	}
	cb->aio_nbytes = part;
	return real(cb);
}

int aio_write(struct aiocb *cb)
{
	return aio_write64((struct aiocb64 *)cb);
}

/*
 * io_uring: submit a no-op instead of a write that is to fail. It is complete when the call
 * returns; replace its result. Instead of a write that is to stall, submit one that waits for a
 * pipe, and then tells to try again.
 */

static __thread struct {
	__u64	user_data;
	int	err;
} refused[MAX_REFUSED];
static __thread unsigned int nr_refused;

static void *write_when_file_exists(void *fd)
{
	wait_for_file();
	if (write(*(int *)fd, "", 1) != 1)
		abort();
	return NULL;
}

static void stall_submission(struct io_uring_sqe *sqe)
{
	static int fds[2];
	__u64 user_data = sqe->user_data;
	pthread_t thread;

	if (pipe(fds) || pthread_create(&thread, NULL, write_when_file_exists, &fds[1]))
		abort();
	pthread_detach(thread);
	io_uring_prep_poll_add(sqe, fds[0], POLLIN);
	sqe->user_data = user_data;
	refused[nr_refused].user_data = user_data;
	refused[nr_refused++].err = -EINTR;
}

static void spoil_submission(struct io_uring_sqe *sqe)
{
	bool stalled = false;
	ssize_t part = spoil(sqe->len, &stalled);

	if (stalled) {
		stall_submission(sqe);
		return;
	}
	if (part >= 0) {
		part = (part + BLOCK - 1) / BLOCK * BLOCK;
		sqe->len = part < sqe->len ? part : sqe->len;
		return;
	}
	refused[nr_refused].user_data = sqe->user_data;
	refused[nr_refused++].err = part;
	sqe->opcode = IORING_OP_NOP;
	sqe->flags = 0;
}

static void spoil_completion(struct io_uring_cqe *cqe)
{
	unsigned int i;

	for (i = 0; i < nr_refused; i++) {
		if (cqe->user_data == refused[i].user_data) {
			cqe->res = refused[i].err;
			refused[i] = refused[--nr_refused];
			break;
		}
	}
}

int io_uring_submit_and_wait_timeout(struct io_uring *ring, struct io_uring_cqe **cqe,
				     unsigned int wait_nr, struct __kernel_timespec *timeout,
				     sigset_t *mask)
{
	int (*real)(struct io_uring *, struct io_uring_cqe **, unsigned int,
		    struct __kernel_timespec *, sigset_t *) =
		dlsym(RTLD_NEXT, "io_uring_submit_and_wait_timeout");
	struct io_uring_sq *sq = &ring->sq;
	struct io_uring_cq *cq = &ring->cq;
	unsigned int i;
	int ret;

	for (i = sq->sqe_head; i != sq->sqe_tail; i++)
		spoil_submission(&sq->sqes[i & sq->ring_mask]);
	ret = real(ring, cqe, wait_nr, timeout, mask);
	for (i = *cq->khead; i != io_uring_smp_load_acquire(cq->ktail); i++)
		spoil_completion(&cq->cqes[i & cq->ring_mask]);
	return ret;
}
