// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readers, holds and rounds, under the thread sanitizer: threads fill simulated rings.
 * timeout: 300
 * tags: parallel
 *
 * Each item that is published has a stamp, as a record has a time. Drained items go to a log, as
 * records go to the file. The log must have the order that rounds.h and readers.h guarantee.
 *
 * Prints KTAP.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/eventfd.h>

#include "recording/ring/channel.h"
#include "recording/ring/reader_sched.h"
#include "recording/ring/readers.h"
#include "recording/ring/rounds.h"
#include "recording/lib/records.h"
#include "perf/tests/tap.h"

/*
 * Places: reader N has the ring of CPU N. No thread is moved to another CPU.
 */

int reader_spec__find(const struct reader_spec *spec, struct perf_cpu cpu)
{
	return cpu.cpu < spec->nr ? cpu.cpu : -1;
}

int reader_sched__set_cpus(pthread_t thread, struct perf_cpu_map *cpus)
{
	(void)thread, (void)cpus;
	return 0;
}

static int max_priority;		/* that this user may set */
static int priority_set;

int reader_sched__set_priority(pthread_t thread, int priority)
{
	(void)thread;
	if (priority > max_priority)
		return -EPERM;
	priority_set = priority;
	return 0;
}

/*
 * Rings. Stamps come from one clock. A stamp is taken and published under the ring's lock, so that
 * the reader does not look in between: as on a CPU that the reader shares with the writers.
 */

#define NR_RINGS	4
#define NR_PLACES	2		/* the other rings share a reader */
#define RING_ITEMS	64
#define ITEM_BYTES	(ROUND_BYTES / 64)

struct fake_ring {
	pthread_mutex_t	 lock;
	u64		 stamps[RING_ITEMS];
	u64		 head, tail;
	u64		 lost;
	int		 fd;		/* wakes the reader up */
};

static struct ring rings[NR_RINGS];
static struct fake_ring fakes[NR_RINGS];
static struct channel stream = { .rings = rings, .nr = NR_RINGS, .nr_mapped = NR_RINGS };
static _Atomic u64 stamp_clock;
static atomic_int fail_ring;		/* draining this ring fails */
static atomic_int sink_answer;		/* result of each drain from now on */

#define MARK	(~0ULL)
#define LOG_MAX	(1 << 20)

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static u64 log_items[LOG_MAX];
static size_t log_len;

static void to_log(u64 item)
{
	pthread_mutex_lock(&log_lock);
	if (log_len < LOG_MAX)
		log_items[log_len++] = item;
	pthread_mutex_unlock(&log_lock);
}

static size_t logged(void)
{
	size_t len;

	pthread_mutex_lock(&log_lock);
	len = log_len;
	pthread_mutex_unlock(&log_lock);
	return len;
}

static int mark(void *arg)
{
	(void)arg;
	to_log(MARK);
	return 0;
}

static void publish(struct fake_ring *ring, bool wake)
{
	const u64 one = 1;

	pthread_mutex_lock(&ring->lock);
	if (ring->head - ring->tail == RING_ITEMS)
		ring->lost++;
	else
		ring->stamps[ring->head++ % RING_ITEMS] = ++stamp_clock;
	pthread_mutex_unlock(&ring->lock);
	if (wake && write(ring->fd, &one, sizeof(one)) < 0)
		abort();
}

/*
 * Stands in for drain.c. Logs items some time after reading them, so that other threads interleave.
 */
int ring__drain(struct ring *ring, size_t min_bytes, struct record_sink *sink, size_t *bytes)
{
	struct fake_ring *fake = &fakes[ring - rings];
	u64 head, pos, times;

	(void)sink;
	if (atomic_load(&fail_ring) == ring - rings)
		return -EIO;
	if (read(fake->fd, &times, sizeof(times)) < 0 && errno != EAGAIN)
		abort();
	pthread_mutex_lock(&fake->lock);
	head = fake->head;
	pthread_mutex_unlock(&fake->lock);
	if ((head - fake->tail) * ITEM_BYTES < min_bytes)
		return 0;
	sched_yield();
	for (pos = fake->tail; pos != head; pos++)
		to_log(fake->stamps[pos % RING_ITEMS]);
	pthread_mutex_lock(&fake->lock);
	pos = fake->tail;
	fake->tail = head;
	pthread_mutex_unlock(&fake->lock);
	*bytes += (head - pos) * ITEM_BYTES;
	return atomic_load(&sink_answer);
}

/*
 * A recording
 */

static struct readers readers;
static struct rounds rounds;
static struct pollset own;
static struct reader_place places[NR_PLACES];
static bool of_threads;			/* the rings belong to threads, not to CPUs */

static void begin(bool no_threads, size_t min_bytes)
{
	int i;

	log_len = 0;
	fail_ring = -1;
	sink_answer = 0;
	readers = (struct readers){
		.spec = { places, NR_PLACES },
		.no_threads = no_threads,
		.priority = -1,
		.min_bytes = min_bytes,
		.rounds = &rounds,
	};
	if (pollset__init(&own))
		abort();
	for (i = 0; i < NR_RINGS; i++) {
		fakes[i].head = fakes[i].tail = fakes[i].lost = 0;
		pthread_mutex_init(&fakes[i].lock, NULL);
		fakes[i].fd = eventfd(0, EFD_NONBLOCK);
		rings[i] = (struct ring){
			.map = { .base = &fakes[i], .cpu = { of_threads ? -1 : i } },
		};
	}
	if (readers__init(&readers, (struct channel *[]){ &stream }, 1, &own) ||
	    rounds__init(&rounds, readers__recorder(&readers) + 1, mark, NULL))
		abort();
	rounds.late_ns = 0;		/* nothing is published late */
	for (i = 0; i < NR_RINGS; i++) {
		if (pollset__add_ring(rings[i].pollset, fakes[i].fd, &rings[i], false))
			abort();
	}
	if (readers__start(&readers))
		abort();
}

static void end(void)
{
	int i;

	readers__exit(&readers);
	rounds__exit(&rounds);
	pollset__exit(&own);
	for (i = 0; i < NR_RINGS; i++)
		close(fakes[i].fd);
}

/* Do what the main thread does when it wakes up. It has the side-band rings, which are empty. */
static int recorder_visits(void)
{
	int err = readers__looked(&readers);
	u64 round = rounds__begin(&rounds);
	bool whole;
	ssize_t bytes = readers__visit(&readers, &whole);

	if (bytes < 0)
		return bytes;
	err = rounds__end(&rounds, readers__recorder(&readers), round, bytes, whole) ?: err;
	if (rounds__due(&rounds))
		readers__ask(&readers);
	return err;
}

/* Return: number of items published in all rings, without lost ones. */
static u64 published(void)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < NR_RINGS; i++) {
		pthread_mutex_lock(&fakes[i].lock);
		sum += fakes[i].head;
		pthread_mutex_unlock(&fakes[i].lock);
	}
	return sum;
}

static u64 items_logged(void)
{
	u64 nr = 0;
	size_t i, len = logged();

	for (i = 0; i < len; i++)
		nr += log_items[i] != MARK;
	return nr;
}

/* Check the guarantee of rounds.h. Return: number of marks, or -1 if the order is wrong. */
static int marks_are_true(void)
{
	u64 before_last = 0;	/* newest stamp before the last mark but one */
	u64 before_this = 0;	/* newest stamp before the last mark */
	u64 newest = 0;
	int marks = 0;
	size_t i;

	for (i = 0; i < log_len; i++) {
		if (log_items[i] == MARK) {
			before_last = before_this;
			before_this = newest;
			marks++;
			continue;
		}
		if (log_items[i] < before_last)
			return -1;
		if (log_items[i] > newest)
			newest = log_items[i];
	}
	return marks;
}

/*
 * Writers
 */

static atomic_bool writers_end;

struct writer_task {
	pthread_t	thread;
	int		ring;
	unsigned int	wake_every;	/* 0: this ring never wakes its reader */
	unsigned int	pace;		/* publish in one of @pace iterations */
};

static void *write_ring(void *arg)
{
	struct writer_task *task = arg;
	unsigned int i;

	for (i = 0; !atomic_load(&writers_end); i++) {
		if (i % task->pace == 0)
			publish(&fakes[task->ring], task->wake_every && i % task->wake_every == 0);
		if (i % 16 == 0)
			usleep(50);
	}
	return NULL;
}

static void start_writers(struct writer_task *tasks, int nr)
{
	int i;

	writers_end = false;
	for (i = 0; i < nr; i++)
		pthread_create(&tasks[i].thread, NULL, write_ring, &tasks[i]);
}

static void end_writers(struct writer_task *tasks, int nr)
{
	int i;

	writers_end = true;
	for (i = 0; i < nr; i++)
		pthread_join(tasks[i].thread, NULL);
}

/* Record until @items are logged and some rounds have ended. Return: did a reader fail? */
static bool record_until(size_t items)
{
	while (logged() < items || (logged() < LOG_MAX && rounds__begin(&rounds) < 5)) {
		pollset__wait(&own, -1);
		if (recorder_visits())
			return true;
	}
	return false;
}

/*
 * Rounds alone
 */

static void test_rounds(void)
{
	u64 early;

	log_len = 0;
	rounds__init(&rounds, 2, mark, NULL);
	rounds.late_ns = UINT64_MAX;		/* however slow this machine is */
	check(!rounds__begin(&rounds), "a new round is too young to count visits");
	rounds__end(&rounds, 0, 0, ROUND_BYTES, true);
	check(rounds__missing(&rounds, 0) && !rounds__due(&rounds),
	      "no visit counts while the round is too young");
	rounds.late_ns = 0;
	check(rounds__begin(&rounds) == 1, "visits count when the round is old enough");
	rounds__exit(&rounds);

	rounds__init(&rounds, 2, mark, NULL);
	rounds.late_ns = 0;
	rounds__end(&rounds, 0, rounds__begin(&rounds), 100, true);
	rounds__end(&rounds, 0, rounds__begin(&rounds), 100, true);
	check(!logged(), "one reader alone does not end a round");
	early = rounds__begin(&rounds);
	rounds__end(&rounds, 1, rounds__begin(&rounds), 0, false);
	check(!logged(), "a visit that leaves data in a ring does not end a round");
	rounds__end(&rounds, 1, rounds__begin(&rounds), 0, true);
	check(logged() == 1, "complete visits of all readers end a round");

	rounds__end(&rounds, 0, rounds__begin(&rounds), 100, true);
	rounds__end(&rounds, 1, early, 100, true);
	check(logged() == 1, "a visit that began before the last mark does not count");
	rounds__end(&rounds, 1, rounds__begin(&rounds), 0, true);
	check(logged() == 2, "a visit that began after the last mark counts");

	rounds__end(&rounds, 0, rounds__begin(&rounds), 0, true);
	rounds__end(&rounds, 1, rounds__begin(&rounds), 0, true);
	check(logged() == 2, "a round without data has no mark");

	check(!rounds__due(&rounds), "an empty round is not due");
	rounds__end(&rounds, 0, rounds__begin(&rounds), ROUND_BYTES, true);
	check(rounds__due(&rounds) && !rounds__due(&rounds), "a large round is due once");
	check(!rounds__missing(&rounds, 0) && rounds__missing(&rounds, 1),
	      "the readers that are missing in a round are known");
	rounds__exit(&rounds);
}

/*
 * Priorities
 */

/* Return: the priority that a thread gets where priorities up to @permitted may be set. */
static int raise_to(int permitted, int wanted, bool drains, int *err)
{
	readers = (struct readers){ .priority = wanted };
	max_priority = permitted;
	priority_set = 0;
	*err = readers__raise(&readers, pthread_self(), drains);
	max_priority = 0;
	return priority_set;
}

static void test_priorities(void)
{
	int err;

	check(raise_to(99, -1, true, &err) == 2 && !err &&
	      raise_to(99, -1, false, &err) == 1 && !err,
	      "threads that drain get priority 2 by default, others 1");
	check(raise_to(1, -1, true, &err) == 1 && !err && !readers.normal_class,
	      "threads that drain get priority 1 where no more is permitted");
	check(!raise_to(0, -1, true, &err) && !err && readers.normal_class,
	      "the default falls back to the normal class, and tells");
	check(!raise_to(1, 2, true, &err) && err == -EPERM,
	      "a priority that was asked for is met or refused");
}

/*
 * Threads
 */

static void test_promise(size_t min_bytes, const char *what)
{
	/*
	 * Rings that wake their reader often, seldom, and two that share a reader, one of which
	 * never does.
	 */
	struct writer_task tasks[] = {
		{ .ring = 0, .wake_every = 4, .pace = 1 },
		{ .ring = 1, .wake_every = 97, .pace = 3 },
		{ .ring = 2, .wake_every = 50, .pace = 2 },
		{ .ring = 3, .wake_every = 0, .pace = 41 },
	};
	int marks;

	begin(false, min_bytes);
	start_writers(tasks, 4);
	record_until(20011);
	end_writers(tasks, 4);
	check(!readers__stop(&readers), what);
	check(published() == items_logged(), "all items are in the log");
	marks = marks_are_true();
	check(marks > 0, "items after a mark are newer than those before the previous mark");
	printf("# %zu in the log, %d marks\n", log_len, marks);
	end();
}

static void test_shares(void)
{
	struct writer_task tasks[] = {
		{ .ring = 0, .wake_every = 4, .pace = 1 },
		{ .ring = 1, .wake_every = 4, .pace = 1 },
		{ .ring = 2, .wake_every = 4, .pace = 1 },
		{ .ring = 3, .wake_every = 0, .pace = 41 },
	};

	of_threads = true;
	begin(false, 1);
	check(readers.nr == NR_PLACES && readers.readers[0].nr_rings == NR_RINGS / NR_PLACES &&
	      readers.readers[1].nr_rings == NR_RINGS / NR_PLACES,
	      "rings of threads are distributed evenly");
	start_writers(tasks, 4);
	record_until(5003);
	end_writers(tasks, 4);
	check(!readers__stop(&readers) && published() == items_logged(),
	      "all items are in the log");
	check(marks_are_true() > 0, "items are in the order that marks guarantee");
	end();
	of_threads = false;
}

static void test_no_threads(void)
{
	struct writer_task tasks[] = {
		{ .ring = 0, .wake_every = 4, .pace = 1 },
		{ .ring = 3, .wake_every = 0, .pace = 41 },
	};

	begin(true, 1);
	start_writers(tasks, 2);
	record_until(5003);
	end_writers(tasks, 2);
	check(!readers__stop(&readers) && published() == items_logged(),
	      "without reader threads all items are in the log");
	check(marks_are_true() > 0, "items are in the order that marks guarantee");
	end();
}

static void test_hold(void)
{
	struct writer_task tasks[] = {
		{ .ring = 0, .wake_every = 4, .pace = 1 },
		{ .ring = 1, .wake_every = 0, .pace = 3 },
		{ .ring = 2, .wake_every = 7, .pace = 1 },
	};
	bool complete = true, quiet = true;
	u64 before;
	size_t len;
	int i;

	begin(false, 1);
	start_writers(tasks, 3);
	for (i = 0; i < 300; i++) {
		before = published();
		readers__hold(&readers);
		complete &= items_logged() >= before;
		len = logged();
		if (i % 3 == 0)
			usleep(500);
		quiet &= logged() == len;
		readers__release(&readers);
		if (i % 2)		/* otherwise the next hold follows at once */
			record_until(len + 20);
	}
	end_writers(tasks, 3);
	readers__stop(&readers);
	check(complete, "a hold waits until everything published before it is written");
	check(quiet, "nothing is written until the readers are released");
	check(published() == items_logged(), "all items are in the log after holds");
	check(marks_are_true() >= 0, "items are in the order that marks guarantee");
	end();
}

static void test_failure(void)
{
	struct writer_task tasks[] = {
		{ .ring = 0, .wake_every = 4, .pace = 1 },
		{ .ring = 1, .wake_every = 4, .pace = 1 },
	};
	int i;

	begin(false, 1);
	start_writers(tasks, 2);
	record_until(503);
	atomic_store(&fail_ring, 1);
	check(record_until(LOG_MAX) && readers__looked(&readers) == -EIO,
	      "the main thread gets the error of a reader");
	check(readers__hold(&readers) == -EIO, "readers can be held after an error");
	readers__release(&readers);
	end_writers(tasks, 2);
	check(readers__stop(&readers) == -EIO, "stopping returns the error");
	for (i = 0; i < NR_RINGS; i++)
		check(i == 1 || fakes[i].head == fakes[i].tail,
		      "each other ring is drained after an error");
	end();
}

static void test_stop_reading(void)
{
	struct writer_task tasks[] = {
		{ .ring = 0, .wake_every = 4, .pace = 1 },
		{ .ring = 2, .wake_every = 4, .pace = 1 },
	};
	size_t len;
	int i;

	begin(false, 1);
	start_writers(tasks, 2);
	record_until(503);
	atomic_store(&sink_answer, SINK_STOP_READING);
	do {				/* wait until visits that have begun end */
		len = logged();
		usleep(20000);
	} while (logged() != len && len < LOG_MAX);
	check(len < LOG_MAX, "nothing is read after SINK_STOP_READING");

	atomic_store(&sink_answer, 0);
	readers__resume(&readers);
	for (i = 0; i < 1000 && logged() == len; i++)
		usleep(10000);
	check(logged() != len, "readers__resume() makes them read again");
	end_writers(tasks, 2);
	readers__stop(&readers);
	check(published() == items_logged(), "stopping drains the rings after SINK_STOP_READING");
	end();
}

int main(void)
{
	test_rounds();
	test_priorities();
	test_promise(1, "three readers drain four rings");
	test_promise(ITEM_BYTES * 8,
		     "three readers drain four rings, leaving small amounts for later");
	test_shares();
	test_no_threads();
	test_hold();
	test_failure();
	test_stop_reading();
	return tap_end();
}
