// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the queue: records that several threads append are in the file, whole and in order. After a
 * failed write the file has all records before it, and all others are counted.
 * tags: parallel
 *
 * The test's writer fails at a given byte, and finishes chunks in any order, sometimes several at
 * once. Until it returns a chunk, nobody else may use that. Whatever the threads do, a naive reader
 * must be able to read the file record by record, and several files one after the other.
 *
 * Prints KTAP.
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <linux/kernel.h>
#include <perf/event.h>

#include "recording/write/queue.h"
#include "recording/write/writer.h"
#include "perf/tests/tap.h"
#include "../random.h"

#ifndef NR_RUNS
#define NR_RUNS		20
#endif
#define NR_THREADS	3
#define MAX_DEPTH	8
#define START		4104		/* position where the data begin in the file */
#define FILE_BYTES	(6 << 20)
#define CHUNK_POOL_BYTES	(1 << 20)	/* less than the file: appending threads wait */

static struct write_queue queue;

/*
 * The writer
 */

static struct faulty {
	struct writer	 writer;
	u64		 seed;
	u64		 fail_at;	/* position that cannot be written, 0 for none */
	struct chunk	*chunk[MAX_DEPTH];
	unsigned int	 nr;
	unsigned int	 stall_us;
	unsigned int	 max_chunks;	/* most chunks ever in flight */
	unsigned int	 left;		/* chunks in flight when it was closed */
	unsigned int	 nr_direct;	/* chunks submitted for direct I/O; atomic */
	bool		 stuck;		/* the first direct write is not finished */
	bool		 finish_at_once; /* wait until the pool is empty, then finish all chunks */
	bool		 stolen;	/* a chunk in flight was given to the pool */
	u64		 end;		/* of what was written to @file */
} faulty;

static char file[FILE_BYTES] __attribute__((aligned(8)));

static bool is_one_of(const struct list_head *list, const struct chunk *wanted)
{
	const struct chunk *chunk;

	list_for_each_entry(chunk, list, node) {
		if (chunk == wanted)
			return true;
	}
	return false;
}

/* Chunks that are filled again, or wait to be submitted, are not in the list of submitted ones. */
static void find_stolen(void)
{
	unsigned int i;

	pthread_mutex_lock(&queue.lock);
	for (i = 0; i < faulty.nr; i++)
		faulty.stolen |= !is_one_of(&queue.submitted, faulty.chunk[i]);
	pthread_mutex_unlock(&queue.lock);
}

static unsigned int nr_free_chunks(void)
{
	unsigned int nr;

	pthread_mutex_lock(&queue.lock);
	nr = queue.pool.nr_free;
	pthread_mutex_unlock(&queue.lock);
	return nr;
}

static void faulty__submit(struct writer *writer, struct chunk *chunk)
{
	(void)writer;
	find_stolen();
	faulty.chunk[faulty.nr++] = chunk;
	faulty.max_chunks = max(faulty.max_chunks, faulty.nr);
	__atomic_fetch_add(&faulty.nr_direct, !chunk->buffered, __ATOMIC_RELAXED);
	while (faulty.finish_at_once) {
		usleep(2 * DIRECT_STALL_MS * 1000);
		if (!nr_free_chunks())
			break;
	}
}

static void faulty__finish(struct chunk *chunk)
{
	u64 fail_at;

	if (chunk->finished)
		return;
	fail_at = __atomic_load_n(&faulty.fail_at, __ATOMIC_RELAXED);
	chunk->done = chunk->len;
	if (fail_at && chunk->pos + chunk->len > fail_at) {
		chunk->err = -ENOSPC;
		chunk->done = chunk->pos < fail_at ? fail_at - chunk->pos : 0;
	}
	memcpy(file + chunk->pos, chunk->data, chunk->done);
	faulty.end = max(faulty.end, chunk->pos + chunk->done);
	chunk->finished = true;
}

static bool is_stuck(const struct chunk *chunk)
{
	return !chunk->buffered && __atomic_load_n(&faulty.stuck, __ATOMIC_RELAXED);
}

/* Return the index of the chunk to finish, or @nr if all are stuck. */
static unsigned int choose_chunk(void)
{
	unsigned int i = faulty.finish_at_once ? 0 : random_below(&faulty.seed, faulty.nr), tries;

	for (tries = 0; tries < faulty.nr && is_stuck(faulty.chunk[i]); tries++)
		i = (i + 1) % faulty.nr;
	return tries < faulty.nr ? i : faulty.nr;
}

static struct chunk *faulty__complete(struct writer *writer, u64 timeout_ns)
{
	unsigned int i = choose_chunk(), all;
	struct chunk *chunk;

	(void)writer;
	find_stolen();
	if (i == faulty.nr) {
		usleep(timeout_ns / 1000);
		return NULL;
	}
	chunk = faulty.chunk[i];
	if (faulty.stall_us)
		usleep(faulty.stall_us);
	faulty__finish(chunk);
	if (faulty.finish_at_once || (!__atomic_load_n(&faulty.stuck, __ATOMIC_RELAXED) &&
				      !random_below(&faulty.seed, 4))) {
		for (all = 0; all < faulty.nr; all++)
			faulty__finish(faulty.chunk[all]);
		faulty.finish_at_once = false;
	}
	faulty.chunk[i] = faulty.chunk[--faulty.nr];
	return chunk;
}

static void faulty__close(struct writer *writer)
{
	(void)writer;
	faulty.left = faulty.nr;
}

static const struct writer_ops faulty_ops = {
	.name	  = "faulty",
	.submit	  = faulty__submit,
	.complete = faulty__complete,
	.close	  = faulty__close,
};

static struct {
	int	err;
	u64	end;
	int	calls;
} reported;

static void failed(void *arg, int err, u64 end)
{
	(void)arg;
	reported.err = err;
	reported.end = end;
	reported.calls++;
}

/* Start the queue; its writer has room for @depth chunks. Set other faults before open_file(). */
static void start_queue(unsigned int depth, u64 fail_at, unsigned int seed)
{
	memset(&reported, 0, sizeof(reported));
	memset(file, 0, sizeof(file));
	faulty = (struct faulty){
		.writer = { .ops = &faulty_ops, .depth = depth, .fd = -1 },
		.fail_at = fail_at,
		.seed = seed,
	};
	if (write_queue__init(&queue, CHUNK_POOL_BYTES, failed, NULL))
		errx(1, "cannot create the queue");
}

static void open_file(void)
{
	write_queue__open(&queue, &faulty.writer, 0, START, true);
}

static int end_queue(void)
{
	int err = write_queue__close(&queue);

	write_queue__exit(&queue);
	return err;
}

/*
 * Appending threads
 */

struct sample {
	struct perf_event_header header;
	u32	thread;
	u32	nr;
};

struct appender {
	pthread_t	 pthread;
	unsigned int	 thread;
	u64		 seed;
	size_t		 bytes;		/* stop after appending so many */
	u64		 records;	/* appended, or failed to append */
	u64		 samples;
	u64		 units;
	int		 err;
	bool		 stopped;
};

static void fill_record(struct appender *app, void *at, size_t size, u32 type)
{
	struct sample *sample = at;

	memset(at, 0x55, size);
	sample->header = (struct perf_event_header){ .type = type, .size = size };
	sample->thread = app->thread;
	sample->nr = app->records++;
	app->samples += type == PERF_RECORD_SAMPLE;
}

/* Append some records as from a ring: in two parts, cut anywhere. */
static size_t append_records(struct appender *app, char *buffer, size_t max)
{
	unsigned int nr = 1 + random_below(&app->seed, 40);
	size_t len = 0, cut;
	struct records run;

	while (nr--) {
		bool large = !random_below(&app->seed, 20);
		size_t size = 16 + 8 * random_below(&app->seed, large ? 8000 : 20);

		if (len + size > max)
			break;
		fill_record(app, buffer + len, size,
			    nr & 1 ? PERF_RECORD_SAMPLE : PERF_RECORD_MMAP2);
		len += size;
	}
	cut = random_below(&app->seed, len + 1);
	run = (struct records){ .part = { { buffer, cut }, { buffer + cut, len - cut } } };
	app->err = write_queue__append(&queue, &run);
	return len;
}

/* Append an AUXTRACE record and data that look like records, but are none. */
static size_t append_aux(struct appender *app, char *buffer, size_t max)
{
	struct perf_record_auxtrace aux = {
		.header = { .type = PERF_RECORD_AUXTRACE, .size = sizeof(aux) },
		.size = 8 * random_below(&app->seed, max / 8 - 100),
		.idx = app->thread,
	};
	size_t cut = random_below(&app->seed, aux.size + 1);
	const struct records unit = {
		.part = { { &aux, sizeof(aux) }, { buffer, cut },
			  { buffer + cut, aux.size - cut } },
	};
	u64 pos = 0, i;

	app->records++;
	app->units++;
	for (i = 0; i < aux.size / 8; i++)
		((struct perf_event_header *)buffer)[i] = (struct perf_event_header){
			.type = PERF_RECORD_SAMPLE, .size = 8,
		};
	app->err = write_queue__append_unit(&queue, &unit, &pos);
	if (!app->err && pos < START)
		app->err = -ERANGE;
	return sizeof(aux) + aux.size;
}

static void *append(void *arg)
{
	const size_t max = 1 << 20;
	struct appender *app = arg;
	char *buffer = malloc(max);
	size_t bytes = 0;

	while (bytes < app->bytes && !app->err) {
		if (!random_below(&app->seed, 60))
			bytes += append_aux(app, buffer, max);
		else
			bytes += append_records(app, buffer, 100000);
		if (!random_below(&app->seed, 30))
			write_queue__flush(&queue);
	}
	free(buffer);
	__atomic_store_n(&app->stopped, true, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * Content of the file
 */

struct content {
	u64	end;
	u64	records;
	u64	samples;
	bool	sound;
};

/* @next: for each thread, the number of the record that is expected next */
static struct content read_on(u64 end, u32 *next)
{
	struct content content = { .end = START, .sound = true };

	while (content.end < end) {
		struct sample *sample = (void *)file + content.end;
		struct perf_record_auxtrace *aux = (void *)sample;
		u64 size = sample->header.size, thread = sample->thread;

		if (sample->header.type == PERF_RECORD_AUXTRACE) {
			thread = aux->idx;
			size += aux->size;
		}
		if (size < sizeof(*sample) || thread >= NR_THREADS || content.end + size > end) {
			printf("# not a record at %llu\n", (unsigned long long)content.end);
			content.sound = false;
			break;
		}
		if (sample->header.type != PERF_RECORD_AUXTRACE && sample->nr != next[thread]) {
			printf("# record %u of thread %llu instead of %u\n", sample->nr,
			       (unsigned long long)thread, next[thread]);
			content.sound = false;
			break;
		}
		next[thread]++;
		content.records++;
		content.samples += sample->header.type == PERF_RECORD_SAMPLE;
		content.end += size;
	}
	return content;
}

static struct content read_file(u64 end)
{
	u32 next[NR_THREADS] = { 0 };

	return read_on(end, next);
}

/*
 * Runs
 */

static void start_appenders(struct appender *app, size_t bytes, unsigned int seed)
{
	int i;

	for (i = 0; i < NR_THREADS; i++) {
		app[i] = (struct appender){ .thread = i, .seed = seed * 7919 + i, .bytes = bytes };
		pthread_create(&app[i].pthread, NULL, append, &app[i]);
	}
}

/* Return what the threads have appended, or failed to append. */
static struct content join_appenders(struct appender *app)
{
	struct content sum = { 0 };
	int i;

	for (i = 0; i < NR_THREADS; i++) {
		pthread_join(app[i].pthread, NULL);
		sum.records += app[i].records;
		sum.samples += app[i].samples;
	}
	return sum;
}

/* Are @appended in the file, or counted as not saved? */
static bool all_accounted(struct content content, struct content appended)
{
	return content.sound && content.records + queue.unsaved.records == appended.records &&
	       content.samples + queue.unsaved.samples == appended.samples;
}

static bool run(unsigned int depth, u64 fail_at, size_t bytes, unsigned int seed)
{
	struct appender app[NR_THREADS];
	struct content content, appended;
	bool ok;
	u64 end;
	int err;

	start_queue(depth, fail_at, seed);
	faulty.stall_us = seed % 2 * 200;	/* with several chunks in flight */
	open_file();
	start_appenders(app, bytes, seed);
	appended = join_appenders(app);
	err = write_queue__close(&queue);
	end = write_queue__end(&queue);
	content = read_file(end);
	ok = all_accounted(content, appended);
	if (fail_at && fail_at < START + NR_THREADS * bytes) {
		const struct perf_event_header *next = (void *)file + end;

		ok &= err == -ENOSPC && reported.calls == 1 && reported.err == err &&
		      reported.end == end && end <= fail_at && write_queue__error(&queue) == err;
		/* The next record must not fit, or it would be in the file. */
		ok &= end + next->size > fail_at || next->type == PERF_RECORD_AUXTRACE ||
		      fail_at - end < sizeof(*next);
	} else {
		ok &= !err && !reported.calls && !queue.unsaved.records && faulty.end == end;
	}
	ok &= faulty.max_chunks <= depth && !faulty.nr && !faulty.left && !faulty.stolen;
	if (!ok)
		printf("# depth %u, fail at %" PRIu64 ", seed %u: err %d, end %" PRIu64 " (reported %" PRIu64
		       "), records: %" PRIu64 " in the file, %" PRIu64 " not saved, %" PRIu64 " appended; samples "
		       "%" PRIu64 ", %" PRIu64 ", %" PRIu64 "\n", depth, fail_at, seed, err, end,
		       reported.end, content.records, queue.unsaved.records, appended.records,
		       content.samples, queue.unsaved.samples, appended.samples);
	write_queue__exit(&queue);
	return ok;
}

/* A thread that holds the queue gets an error, and waits until that is reported. */
static void test_failing_while_held(void)
{
	static char buffer[100000];
	struct appender app = { .bytes = FILE_BYTES };

	alarm(60);		/* a deadlock ends the test */
	start_queue(1, START + CHUNK_SIZE_MIN, 1);
	open_file();
	write_queue__hold(&queue);
	while (!app.err)
		append_records(&app, buffer, sizeof(buffer));
	check(write_queue__flush(&queue) == -ENOSPC && reported.calls == 1,
	      "a thread that holds the queue can wait for an error");
	check(write_queue__append(&queue, &(struct records){ 0 }) == 0 && queue.holder,
	      "... and holds the queue afterwards");
	write_queue__release(&queue);
	end_queue();
	alarm(0);
}

static void append_bytes(struct appender *app, size_t bytes)
{
	char buffer[CHUNK_SIZE_MIN];
	size_t pos;
	struct records run;

	for (pos = 0; pos < bytes; pos += 512)
		fill_record(app, buffer + pos, 512, PERF_RECORD_SAMPLE);
	run = records__of(buffer, bytes);
	app->err = write_queue__append(&queue, &run);
}

static void *append_once(void *arg)
{
	append_bytes(arg, 20 << 10);
	return NULL;
}

/* Records that a thread appends while it holds the queue are one piece of the file. */
static void test_holding(void)
{
	struct appender app[2] = { { .thread = 0 }, { .thread = 1 } };
	bool alone;

	start_queue(1, 0, 1);
	open_file();
	write_queue__hold(&queue);
	append_bytes(&app[0], 8192);
	pthread_create(&app[1].pthread, NULL, append_once, &app[1]);
	usleep(20000);
	append_bytes(&app[0], 8192);
	alone = write_queue__end(&queue) == START + 2 * 8192;
	write_queue__release(&queue);
	pthread_join(app[1].pthread, NULL);
	check(!end_queue() && alone && read_file(faulty.end).sound,
	      "other threads wait while one holds the queue");
}

static void test_order(void)
{
	unsigned int seed, good = 0;

	for (seed = 0; seed < NR_RUNS; seed++)
		good += run(1 + seed % MAX_DEPTH, 0, 1 << 20, seed);
	check(good == NR_RUNS, "records of three threads are in the file, whole and in order");
}

/* Fail around each border of chunks and of their alignment, and anywhere. */
static void test_failures(void)
{
	static const int near[] = { -4096, -9, -8, -1, 0, 1, 7, 8, 4096 };
	unsigned int i, seed = 0, good = 0, nr = 0;
	u64 at, anywhere = 1;

	for (at = CHUNK_SIZE_MIN; at < 4 * CHUNK_SIZE_MIN; at += CHUNK_SIZE_MIN) {
		for (i = 0; i < ARRAY_SIZE(near); i++, nr++)
			good += run(1 + nr % MAX_DEPTH, at + near[i], 512 << 10, seed++);
	}
	for (i = 0; i < 2 * NR_RUNS; i++, nr++) {
		at = START + random_below(&anywhere, 1400 << 10);
		good += run(1 + nr % MAX_DEPTH, at, 512 << 10, seed++);
	}
	check(good == nr,
	      "after a failed write, all records before it are in the file, all others are counted");
}

enum { SIZE = 264, NR = 1200, NAME_EACH = 3 };

/* Are all names from record @nr on rescued, whole and in order, and nothing else? */
static bool names_rescued(const struct rescue *rescue, u32 nr)
{
	size_t pos;

	nr = roundup(nr, NAME_EACH);
	for (pos = 0; pos < rescue->len; pos += SIZE, nr += NAME_EACH) {
		const struct sample *sample = rescue->data + pos;

		if (sample->header.type != PERF_RECORD_COMM || sample->header.size != SIZE ||
		    sample->nr != nr)
			return false;
	}
	return nr == NR && rescue->dropped == rescue->len / SIZE;
}

/* Fail at each byte of a few records that lie in two chunks. */
static void test_each_byte(void)
{
	static char records[NR * SIZE];
	const u64 border = CHUNK_SIZE_MIN;
	unsigned int good = 0, rescued = 0, nr = 0, i;
	struct records run;
	u64 at;

	for (i = 0; i < NR; i++)
		*(struct sample *)(records + i * SIZE) = (struct sample){
			.header = { .size = SIZE,
				    .type = i % NAME_EACH ? PERF_RECORD_SAMPLE : PERF_RECORD_COMM },
			.nr = i,
		};
	for (at = border - 2 * SIZE; at < border + 2 * SIZE; at++, nr++) {
		struct rescue rescue = { 0 };

		start_queue(2, at, at);
		queue.rescue = &rescue;
		open_file();
		run = records__of(records, sizeof(records));
		write_queue__append(&queue, &run);
		good += write_queue__close(&queue) == -ENOSPC &&
			reported.end == START + (at - START) / SIZE * SIZE &&
			queue.unsaved.records == NR - (at - START) / SIZE &&
			queue.unsaved.bytes == START + sizeof(records) - reported.end;
		rescued += names_rescued(&rescue, (at - START) / SIZE);
		write_queue__exit(&queue);
		rescue__exit(&rescue);
	}
	check(nr && good == nr, "the file ends with the last whole record, whichever byte fails");
	check(rescued == nr, "... and all names behind it are rescued, whole and in order");
}

static bool wait_for(u64 end)
{
	int ms;

	for (ms = 0; ms < 30000; ms++) {
		bool there;

		pthread_mutex_lock(&queue.lock);
		there = list_empty(&queue.submitted) && list_empty(&queue.full) &&
			faulty.end == end;
		pthread_mutex_unlock(&queue.lock);
		if (there)
			return true;
		usleep(1000);
	}
	return false;
}

static void test_partial_chunk(void)
{
	struct sample sample = { .header = { .type = PERF_RECORD_SAMPLE, .size = sizeof(sample) } };
	struct records run = records__of(&sample, sizeof(sample));
	int i, good = 0;

	for (i = 0; i < 2; i++) {
		start_queue(2, 0, 0);
		write_queue__open(&queue, &faulty.writer, 0, START, !i);
		write_queue__append(&queue, &run);
		good += wait_for(START + sizeof(sample));
		write_queue__append(&queue, &run);
		good += wait_for(START + 2 * sizeof(sample)) && !faulty.nr_direct;
		end_queue();
	}
	check(good == 4, "a partly filled chunk is written after a while, to the page cache");
}

static void test_finished_at_once(void)
{
	static char records[CHUNK_POOL_BYTES + CHUNK_SIZE_MIN] __attribute__((aligned(8)));
	struct records run = records__of(records, sizeof(records));
	size_t pos;

	for (pos = 0; pos < sizeof(records); pos += 256)
		*(struct perf_event_header *)(records + pos) = (struct perf_event_header){
			.type = PERF_RECORD_SAMPLE, .size = 256,
		};
	start_queue(2, 0, 0);
	faulty.finish_at_once = true;
	open_file();
	write_queue__append(&queue, &run);
	end_queue();
	check(faulty.max_chunks == 2 && !faulty.stolen && !faulty.left &&
	      faulty.end == START + sizeof(records),
	      "a finished chunk belongs to the writer until it is returned");
	check(faulty.nr_direct > 0, "chunks are written by direct I/O when the page cache is slow");
}

/*
 * The first chunk is written directly, and stuck. Append more than the pool takes, then let the
 * write end, or fail.
 */
static bool run_stuck(bool fails)
{
	enum { STUCK_BYTES = 4 << 20 };
	struct appender app = { 0 };
	struct rescue rescue = { 0 };
	struct content content;
	u64 released;
	bool ok;

	start_queue(4, 0, 3);
	queue.rescue = &rescue;
	faulty.writer.direct_first = true;
	faulty.stuck = true;
	open_file();
	append_bytes(&app, CHUNK_SIZE_MIN);
	while (!__atomic_load_n(&faulty.nr_direct, __ATOMIC_RELAXED))
		usleep(100);
	while (app.records * 512 < STUCK_BYTES && !app.err)
		append_bytes(&app, 64 << 10);
	ok = !app.err && !write_queue__written(&queue);
	pthread_mutex_lock(&queue.lock);
	released = queue.released.records;
	ok &= released * 512 > STUCK_BYTES - CHUNK_POOL_BYTES - CHUNK_SIZE_MIN;
	pthread_mutex_unlock(&queue.lock);
	if (fails)
		__atomic_store_n(&faulty.fail_at, START + 1000, __ATOMIC_RELAXED);
	__atomic_store_n(&faulty.stuck, false, __ATOMIC_RELAXED);
	ok &= write_queue__close(&queue) == (fails ? -ENOSPC : 0);
	content = read_file(write_queue__end(&queue));
	ok &= all_accounted(content,
			    (struct content){ .records = app.records, .samples = app.samples }) &&
	      content.records == (fails ? 1 : app.records) &&
	      queue.unsaved.bytes == 512 * queue.unsaved.records && faulty.nr_direct > 0 &&
	      !faulty.stolen && reported.calls == fails;
	if (!ok)
		printf("# %" PRIu64 " appended, %" PRIu64 " released, %" PRIu64 " in the file, %" PRIu64
		       " not saved, %" PRIu64 " bytes\n", app.records, released, content.records,
		       queue.unsaved.records, queue.unsaved.bytes);
	write_queue__exit(&queue);
	rescue__exit(&rescue);
	return ok;
}

static void test_stuck(void)
{
	alarm(60);		/* appending would wait for ever */
	check(run_stuck(false),
	      "while a direct write is stuck, the page cache takes more than the pool");
	check(run_stuck(true), "... and all is counted if that write fails");
	alarm(0);
}

/* Whole chunks are written directly, one at a time, and others to the page cache. */
static void test_direct_first(void)
{
	struct appender app = { 0 };
	unsigned int i, tries = 0;
	bool ok, alone;

	do {		/* on a busy machine a write may take too long: try again */
		app = (struct appender){ 0 };
		start_queue(MAX_DEPTH, 0, 1);
		faulty.writer.direct_first = true;
		open_file();
		for (i = 0; i < 4; i++) {
			append_bytes(&app, CHUNK_SIZE_MIN);
			usleep(1000);
		}
		ok = !end_queue() && read_file(faulty.end).records == app.records;
		alone = faulty.nr_direct == 4 && faulty.max_chunks == 1;
	} while (ok && !alone && ++tries < 10);
	check(ok && alone, "whole chunks are written directly, one at a time");
}

static bool run_slow(void)
{
	struct appender app = { .bytes = 3 << 20, .seed = 5 };

	start_queue(2, 0, 1);
	faulty.stall_us = 20000;
	open_file();
	append(&app);
	end_queue();
	return !app.err && read_file(faulty.end).records == app.records;
}

/* On a busy machine a submission may take so long that the page cache seems slow: try again. */
static void test_slow(void)
{
	bool saved = true;
	int tries = 0;

	do {
		saved &= run_slow();
	} while (saved && faulty.nr_direct && ++tries < 10);
	check(saved, "appending threads wait for a slow writer, and nothing is lost");
	check(!faulty.nr_direct, "... and chunks are written to the page cache while that is fast");
}

static void test_append_after_error(void)
{
	struct sample sample = { .header = { .type = PERF_RECORD_SAMPLE, .size = sizeof(sample) } };
	struct records run = records__of(&sample, sizeof(sample));
	bool ok;

	start_queue(1, START, 0);
	open_file();
	ok = !write_queue__append(&queue, &run) && write_queue__flush(&queue) == -ENOSPC;
	ok &= write_queue__append(&queue, &run) == -ENOSPC && write_queue__flush(&queue) == -ENOSPC;
	ok &= queue.unsaved.records == 2 && reported.calls == 1 && reported.end == START;
	end_queue();
	check(ok, "no record is accepted after an error, and those are counted, too");
}

static bool all_stopped(struct appender *app)
{
	int i;

	for (i = 0; i < NR_THREADS; i++) {
		if (!__atomic_load_n(&app[i].stopped, __ATOMIC_ACQUIRE))
			return false;
	}
	return true;
}

static void count_file(struct content *sum, u64 end, u32 *next)
{
	struct content content = read_on(end, next);

	sum->records += content.records;
	sum->samples += content.samples;
	sum->sound &= content.sound;
}

/*
 * End one file and open the next. Between the two no file is open. If @last, do not open another
 * file (@why is -EIO), or let all writes fail (@why is -ENOSPC).
 */
static int next_file(bool last, int why, struct content *sum, u32 *next)
{
	int err;

	write_queue__hold(&queue);
	write_queue__next_file(&queue, START);
	write_queue__release(&queue);
	if (last && why == -ENOSPC)
		__atomic_store_n(&faulty.fail_at, START, __ATOMIC_RELAXED);
	usleep(1000);
	err = write_queue__close(&queue);
	count_file(sum, write_queue__file_end(&queue), next);
	if (last && why == -EIO)
		err = why;
	if (err) {
		write_queue__drop_next(&queue, err);
	} else {
		faulty.end = 0;
		open_file();
	}
	return err;
}

static bool run_files(unsigned int seed, unsigned int last, int why, unsigned int *failed_runs)
{
	struct content sum = { .sound = true }, appended;
	struct appender app[NR_THREADS];
	u32 next[NR_THREADS] = { 0 };
	unsigned int nr = 0;
	int err = 0;
	bool ok;

	start_queue(1 + seed % MAX_DEPTH, 0, seed);
	open_file();
	start_appenders(app, 1 << 20, seed);
	while (!err && !all_stopped(app)) {
		if (write_queue__end(&queue) < START + FILE_BYTES / 50)
			usleep(50);
		else
			err = next_file(nr++ == last, why, &sum, next);
	}
	appended = join_appenders(app);
	if (!err) {
		err = write_queue__close(&queue);
		count_file(&sum, write_queue__end(&queue), next);
	}
	ok = all_accounted(sum, appended) && !queue.in_next_file;
	ok &= err ? err == why : !queue.unsaved.records;
	*failed_runs += err != 0;
	if (!ok)
		printf("# seed %u: %u files, %" PRIu64 " records, %" PRIu64 " not saved, %" PRIu64 " appended; "
		       "err %d\n", seed, nr, sum.records, queue.unsaved.records, appended.records,
		       err);
	write_queue__exit(&queue);
	return ok;
}

static bool run_all_files(int why, unsigned int *failed_runs)
{
	unsigned int seed, good = 0;

	*failed_runs = 0;
	for (seed = 0; seed < NR_RUNS; seed++)
		good += run_files(seed, why ? seed % 4 : -1U, why, failed_runs);
	return good == NR_RUNS;
}

static void test_files(void)
{
	unsigned int nr;

	check(run_all_files(0, &nr) && !nr,
	      "files that follow each other have all records, in order");
	check(run_all_files(-EIO, &nr) && nr,
	      "records for a file that is never opened are counted");
	check(run_all_files(-ENOSPC, &nr) && nr,
	      "records queued behind a failed write are counted");
}

/* While a file is completed, few records come for the next one. */
static void test_slow_completion(void)
{
	struct sample sample = { .header = { .type = PERF_RECORD_SAMPLE, .size = sizeof(sample) } };
	struct records run = records__of(&sample, sizeof(sample));
	unsigned int i;

	start_queue(2, 0, 0);
	open_file();
	write_queue__next_file(&queue, START);
	for (i = 0; i < 3; i++) {
		write_queue__append(&queue, &run);
		usleep(2 * WRITE_QUEUE_FLUSH_MS * 1000);
	}
	check(nr_free_chunks() == queue.pool.nr - 1,
	      "records of the next file share a chunk, however slowly they come");
	write_queue__close(&queue);
	open_file();
	check(wait_for(START + 3 * sizeof(sample)),
	      "... which is written when the next file is open");
	end_queue();
}

/*
 * Threads that stop while they copy
 */

#define STOPPING_BYTES	(40 << 10)

/* Records whose last page cannot be read until @go. */
static struct stopping {
	char	*memory;
	bool	 stopped;
	bool	 go;
} stopping;

/* Runs in the thread that copies, which tries again afterwards. */
static void stop_here(int signal)
{
	(void)signal;
	__atomic_store_n(&stopping.stopped, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&stopping.go, __ATOMIC_ACQUIRE))
		usleep(100);
	mprotect(stopping.memory, STOPPING_BYTES, PROT_READ | PROT_WRITE);
}

static void *append_and_stop(void *arg)
{
	struct appender *app = arg;
	struct records run = records__of(stopping.memory, STOPPING_BYTES);

	app->err = write_queue__append(&queue, &run);
	return NULL;
}

static void *close_queue(void *arg)
{
	write_queue__close(&queue);
	return arg;
}

/*
 * One thread stops while it copies a run that begins behind @before bytes. Return whether another
 * can append meanwhile, and nothing is written or dropped that is not copied. If @fails, all later
 * writes fail, which is to be reported when the thread has copied.
 */
static bool run_stopped(size_t before, bool fails)
{
	struct appender app[2] = { { .thread = 0 }, { .thread = 1 } };
	pthread_t closing;
	struct content content;
	size_t pos;
	bool ok;

	start_queue(2, 0, 1);
	stopping = (struct stopping){
		.memory = mmap(NULL, STOPPING_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	};
	for (pos = 0; pos < STOPPING_BYTES; pos += 512)
		fill_record(&app[1], stopping.memory + pos, 512, PERF_RECORD_SAMPLE);
	mprotect(stopping.memory + STOPPING_BYTES - 4096, 4096, PROT_NONE);

	open_file();
	append_bytes(&app[0], before);
	pthread_create(&app[1].pthread, NULL, append_and_stop, &app[1]);
	while (!__atomic_load_n(&stopping.stopped, __ATOMIC_ACQUIRE))
		usleep(100);
	if (fails) {		/* which may stop others until all is copied */
		__atomic_store_n(&faulty.fail_at, START, __ATOMIC_RELAXED);
	} else {
		append_bytes(&app[0], 20 << 10);
		append_bytes(&app[0], 512);
	}
	ok = !app[0].err;
	pthread_create(&closing, NULL, close_queue, NULL);
	usleep(50000);
	pthread_mutex_lock(&queue.lock);
	ok &= !reported.calls && faulty.end <= START + before + STOPPING_BYTES - 4096;
	pthread_mutex_unlock(&queue.lock);

	__atomic_store_n(&stopping.go, true, __ATOMIC_RELEASE);
	pthread_join(app[1].pthread, NULL);
	pthread_join(closing, NULL);
	content = read_file(write_queue__end(&queue));
	ok &= content.sound && !app[1].err && reported.calls == fails &&
	      (queue.unsaved.records > 0) == fails &&
	      content.records + queue.unsaved.records == app[0].records + app[1].records &&
	      queue.unsaved.bytes == 512 * queue.unsaved.records;
	write_queue__exit(&queue);
	munmap(stopping.memory, STOPPING_BYTES);
	return ok;
}

static void test_stopped_copy(void)
{
	struct sigaction action = { .sa_handler = stop_here }, saved;

	alarm(60);		/* the other thread waits for ever */
	sigaction(SIGSEGV, &action, &saved);
	check(run_stopped(8192, false), "a thread that stops while it copies does not stop others");
	check(run_stopped(CHUNK_SIZE_MIN - 8192, false), "... nor in the next chunk");
	check(run_stopped(8192, true), "after an error, what it copies is waited for, and counted");
	check(run_stopped(CHUNK_SIZE_MIN - 8192, true), "... in the next chunk as well");
	sigaction(SIGSEGV, &saved, NULL);
	alarm(0);
}

int main(void)
{
	test_finished_at_once();
	test_order();
	test_failing_while_held();
	test_holding();
	test_failures();
	test_each_byte();
	test_partial_chunk();
	test_direct_first();
	test_stuck();
	test_slow();
	test_append_after_error();
	test_files();
	test_slow_completion();
	test_stopped_copy();
	return tap_end();
}
