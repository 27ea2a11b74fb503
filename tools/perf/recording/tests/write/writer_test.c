// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test each back end of the writer: all bytes are in the file; short writes, EINTR and EAGAIN are
 * resumed; below a limit of the file's size all bytes are there, and the chunk has the error.
 * tags: parallel
 *
 * The limit is RLIMIT_FSIZE: the kernel then writes exactly the bytes below it. spoil_writes.c
 * causes short writes and errors. Prints KTAP.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "recording/write/writer.h"
#include "recording/write/writer_aio.h"
#include "recording/write/writer_kind.h"
#include "recording/write/writer_uring.h"
#include "perf/tests/tap.h"
#include "../random.h"

#define NR_CHUNKS	12
#define FILE_BYTES	(NR_CHUNKS * CHUNK_SIZE_MIN)

/*
 * A file of chunks
 */

static char expected[FILE_BYTES], found[FILE_BYTES];

struct job {
	struct chunk_pool	 pool;
	struct writer	*writer;
	int		 fd;
	u64		 seed;
	u64		 start;
	u64		 end;
	u64		 failed; /* position of the first byte that could not be written, or -1 */
	int		 err;
};

static void begin(struct job *job, const struct writer_choice *choice, u64 start, unsigned int seed)
{
	*job = (struct job){ .seed = seed, .start = start, .end = start, .failed = -1 };
	if (chunk_pool__init(&job->pool, NR_CHUNKS * CHUNK_SIZE_MIN))
		errx(1, "no memory");
	job->writer = writer__new(choice, &job->pool);
	job->fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (!job->writer || job->fd < 0)
		err(1, "cannot begin");
	writer__open(job->writer, job->fd, true);
}

static void collect(struct job *job)
{
	struct chunk *chunk = writer__complete(job->writer, 0);

	if (chunk->err && chunk->pos + chunk->done < job->failed) {
		job->failed = chunk->pos + chunk->done;
		job->err = chunk->err;
	}
	chunk_pool__put(&job->pool, chunk);
}

/* Submit chunks of which most are full, as under load, and some were flushed. */
static void *submit_all(void *arg)
{
	struct job *job = arg;
	unsigned int i, nr_in_flight = 0;

	for (i = 0; i < NR_CHUNKS; i++) {
		struct chunk *chunk = chunk_pool__get(&job->pool, job->end);

		chunk->len = chunk__space(chunk);
		if (!random_below(&job->seed, 3))
			chunk->len = 8 * (1 + random_below(&job->seed, chunk->len / 8));
		memcpy(chunk->data, expected + job->end, chunk->len);
		job->end += chunk->len;
		if (nr_in_flight == job->writer->depth) {
			collect(job);
			nr_in_flight--;
		}
		writer__submit(job->writer, chunk);
		nr_in_flight++;
	}
	while (nr_in_flight--)
		collect(job);
	return NULL;
}

/*
 * Write all chunks in a thread, whose writes are counted from 1.
 * @spoil: SPOIL_WRITES, see spoil_writes.c, or NULL
 */
static void write_all(struct job *job, const char *spoil)
{
	pthread_t thread;

	if (spoil)
		setenv("SPOIL_WRITES", spoil, 1);
	pthread_create(&thread, NULL, submit_all, job);
	pthread_join(thread, NULL);
	unsetenv("SPOIL_WRITES");
}

static u64 end(struct job *job)
{
	u64 size = min(job->end, job->failed);
	struct stat stat;
	bool same = false;

	if (size > job->start && pread(job->fd, found, size, 0) == (ssize_t)size)
		same = !memcmp(found + job->start, expected + job->start, size - job->start);
	writer__close(job->writer);
	same &= !fstat(job->fd, &stat) && (u64)stat.st_size <= job->end;
	close(job->fd);
	unlink("data");
	writer__delete(job->writer);
	chunk_pool__exit(&job->pool);
	return same || size == job->start ? size : 0;
}

static void limit_file(u64 bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes ?: limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
}

/*
 * Tests
 */

static void test_writes(const struct writer_choice *choice, const char *spoil,
			const char *what)
{
	unsigned int seed, good = 0;
	struct job job;

	for (seed = 0; seed < 10; seed++) {
		begin(&job, choice, seed * 1000, seed);
		write_all(&job, spoil);
		good += end(&job) == job.end && !job.err;
	}
	check(good == 10, what);
}

static void test_limit(const struct writer_choice *choice)
{
	static const int near[] = { -4097, -513, -8, 0, 1, 100, 512, 4095 };
	unsigned int seed, good = 0;
	struct job job;
	u64 limit;

	for (seed = 0; seed < 16; seed++) {
		limit = (1 + seed % 3) * CHUNK_SIZE_MIN + near[seed % ARRAY_SIZE(near)];
		begin(&job, choice, 328, seed + 100);
		limit_file(limit);
		write_all(&job, NULL);
		limit_file(0);
		good += end(&job) == limit && job.failed == limit && job.err == -EFBIG;
	}
	check(good == 16, "all bytes below a limit of the file's size are written");
}

static void test_error(const struct writer_choice *choice, const char *spoil,
		       int error, const char *what)
{
	unsigned int seed, good = 0;
	struct job job;

	for (seed = 0; seed < 10; seed++) {
		begin(&job, choice, 328, seed);
		write_all(&job, spoil);
		good += end(&job) == job.failed && job.failed > job.start && job.err == -error;
	}
	check(good == 10, what);
}

static void test_kind(const struct writer_choice *choice, const char *kind)
{
	tap.context = kind;
	test_writes(choice, NULL, "all bytes are written");
	test_writes(choice, "trouble 1", "short writes, EINTR and EAGAIN are resumed");
	test_limit(choice);
	test_error(choice, "once 7 5", EIO, "EIO is returned with the number of bytes written");
	test_error(choice, "fail 7 28", ENOSPC,
		   "ENOSPC is returned with the number of bytes written");
	tap.context = NULL;
}

int main(void)
{
	struct writer_choice choice = { .kind = WRITER_SYNC };
	struct chunk_pool pool;
	struct writer *uring;
	unsigned int i;

	signal(SIGXFSZ, SIG_IGN);
	for (i = 0; i < sizeof(expected); i++)
		expected[i] = i * 2654435761u >> 24;

	test_kind(&choice, "sync");

	choice.kind = WRITER_AIO;
	for (choice.nr_aio = 1; choice.nr_aio <= WRITER_AIO_MAX; choice.nr_aio += 3)
		test_kind(&choice, choice.nr_aio == 1 ? "aio" : "aio=4");

	chunk_pool__init(&pool, CHUNK_SIZE_MIN);
	uring = writer_uring__new(&pool);
	if (uring) {
		choice.kind = WRITER_URING;
		test_kind(&choice, "uring");
	} else {
		skip("uring", strerror(errno));
	}
	writer__delete(uring);
	chunk_pool__exit(&pool);
	return tap_end();
}
