// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test perf_snapshot__take() of several rings: grace periods, pauses, and concurrent readers
 * tags: fast parallel
 *
 * The test replaces the grace period and the ioctl that pauses a ring, to write records at exactly
 * that time.
 *
 * Prints KTAP.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <linux/perf_event_trailer.h>
#include <sys/ioctl.h>
#include <internal/grace.h>
#include <internal/overwrite.h>

#include "ring_writer.h"
#include "tap.h"

#define NR_RINGS	3
#define SIZE		8192
#define RECORD		64
#define FD		1000	/* file descriptor of the first ring */
#define WAIT_NS		1000000	/* shortest duration of a grace period */

static struct {
	struct ring_writer	 writer[NR_RINGS];
	struct perf_overwrite	*ring[NR_RINGS];
	struct perf_snapshot	*snapshot[NR_RINGS];
	struct perf_snapshot_stats stats;
	unsigned int		 waits;
	unsigned int		 in_wait[NR_RINGS];	/* records written in a grace period */
	unsigned int		 before_pause;	/* records written just before a ring is paused */
	bool			 is_paused[NR_RINGS];
	unsigned int		 pauses;
	int			 pause_errno;
} on;

/*
 * Stubs
 */

int perf_overwrite__probe(void)
{
	return PERF_OVERWRITE_SIZED;
}

enum perf_snapshot_grace perf_grace__wait(void)
{
	unsigned int i, n;

	on.waits++;
	nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
	for (i = 0; i < NR_RINGS; i++) {
		for (n = 0; n < on.in_wait[i] && !on.is_paused[i]; n++)
			ring_writer__write(&on.writer[i], RECORD);
		ring_writer__publish(&on.writer[i]);
	}
	return PERF_SNAPSHOT_GRACE_MEMBARRIER;
}

int ioctl(int fd, unsigned long request, ...)
{
	unsigned int n;
	va_list args;
	int pause;

	va_start(args, request);
	pause = va_arg(args, int);
	va_end(args);
	if (request != PERF_EVENT_IOC_PAUSE_OUTPUT || fd < FD || fd >= FD + NR_RINGS)
		abort();
	if (on.pause_errno) {
		errno = on.pause_errno;
		return -1;
	}
	if (pause && on.before_pause) {
		for (n = 0; n < on.before_pause; n++)
			ring_writer__write(&on.writer[fd - FD], RECORD);
		ring_writer__publish(&on.writer[fd - FD]);
	}
	on.pauses += pause;
	on.is_paused[fd - FD] = pause;
	return 0;
}

/*
 * Rings
 */

/* @reserved: pretend that the kernel publishes data_reserved. */
static void begin(enum perf_overwrite_kind kind, bool reserved)
{
	unsigned int i;

	for (i = 0; i < NR_RINGS; i++) {
		ring_writer__init(&on.writer[i], kind, SIZE, 0);
		on.ring[i] = ring_writer__reader(&on.writer[i]);
		on.ring[i]->fd = FD + i;
		on.ring[i]->has_data_reserved = reserved;
		on.snapshot[i] = perf_snapshot__new(on.ring[i]);
		on.in_wait[i] = 0;
		if (!on.snapshot[i])
			abort();
	}
	on.waits = on.pauses = on.pause_errno = on.before_pause = 0;
}

static void end(void)
{
	bool is_paused = false;
	unsigned int i;

	for (i = 0; i < NR_RINGS; i++) {
		is_paused |= on.is_paused[i];
		perf_snapshot__delete(on.snapshot[i]);
		perf_overwrite__delete(on.ring[i]);
		ring_writer__exit(&on.writer[i]);
	}
	check(!is_paused, "no ring is left paused");
}

static void write_records(unsigned int ring, unsigned int nr)
{
	while (nr--)
		ring_writer__write(&on.writer[ring], RECORD);
	ring_writer__publish(&on.writer[ring]);
}

static void take(void)
{
	perf_snapshot__take(on.snapshot, NR_RINGS, &on.stats);
}

static bool reads(unsigned int ring, u64 expected_first, u64 expected_last)
{
	struct perf_snapshot_records records;
	u64 first = 0, last = 0;

	perf_snapshot__records(on.snapshot[ring], &records);
	return records_are_numbered(&records, on.writer[ring].kind, &first, &last) &&
	       !records.malformed && records.nr && first == expected_first && last == expected_last;
}

static void test_reserved(enum perf_overwrite_kind kind)
{
	begin(kind, true);
	write_records(0, 10);
	write_records(1, 200);
	write_records(2, 1);
	ring_writer__write(&on.writer[1], RECORD);	/* not yet published */
	take();
	check(!on.waits && on.stats.grace == PERF_SNAPSHOT_GRACE_NONE && !on.stats.grace_ns,
	      "no grace period with data_reserved");
	check(reads(0, 0, 9) && reads(1, 200 - 127, 199) && reads(2, 0, 0),
	      "all rings are copied");
	check(on.stats.written == 211 * RECORD && on.stats.discarded == RECORD && !on.stats.paused,
	      "written and discarded bytes are counted");
	perf_snapshot__take(on.snapshot, NR_RINGS, NULL);
	check(true, "stats may be NULL");
	end();
}

static void test_grace(void)
{
	begin(PERF_OVERWRITE_BACKWARD, false);
	write_records(0, 10);
	write_records(1, 128);
	on.in_wait[1] = 5;
	take();
	check(on.waits == 1 && on.stats.grace == PERF_SNAPSHOT_GRACE_MEMBARRIER,
	      "one grace period for all rings without data_reserved");
	check(reads(0, 0, 9) && reads(1, 5, 127),
	      "records overwritten during the grace period are dropped");
	check(on.stats.written == 138 * RECORD && on.stats.discarded == 5 * RECORD,
	      "discarded bytes are counted exactly");
	check(on.stats.copy_ns && on.stats.grace_ns >= WAIT_NS && !on.stats.paused_ns,
	      "the copy and the grace period are timed");
	end();

	begin(PERF_OVERWRITE_BACKWARD, false);
	on.ring[0]->has_data_reserved = on.ring[1]->has_data_reserved = true;
	write_records(0, 128);
	write_records(2, 128);
	on.in_wait[0] = on.in_wait[2] = 5;
	take();
	check(on.waits == 1, "one ring without data_reserved requires a grace period");
	check(reads(0, 0, 127) && reads(2, 5, 127) && on.stats.discarded == 5 * RECORD,
	      "with data_reserved, a copy loses no record during the grace period");
	end();
}

static void test_overrun(void)
{
	begin(PERF_OVERWRITE_BACKWARD, false);
	write_records(0, 128);
	write_records(1, 128);
	on.in_wait[0] = 70;
	on.in_wait[1] = 60;
	take();
	check(on.stats.paused == 1 && on.pauses == 1 && on.waits == 2,
	      "a ring is paused if more than half of the copy is overtaken");
	check(reads(0, 70, 197), "the paused ring is copied completely");
	check(reads(1, 60, 127), "the other ring is not copied again");
	check(on.stats.discarded == 60 * RECORD && on.stats.written == (198 + 128) * RECORD,
	      "written and discarded bytes of both rings are counted");
	check(on.stats.paused_ns >= WAIT_NS, "the pause is timed");
	end();

	begin(PERF_OVERWRITE_BACKWARD, false);
	write_records(0, 128);
	on.in_wait[0] = 70;
	on.before_pause = 20;
	take();
	check(on.stats.paused == 1 && reads(0, 90, 217) && !on.stats.discarded,
	      "records written before the pause are copied as well");
	end();
}

static void test_overrun_reserved(enum perf_overwrite_kind kind)
{
	unsigned int i;

	begin(kind, true);
	write_records(2, 128);
	for (i = 0; i < 70; i++)
		ring_writer__write(&on.writer[2], RECORD);	/* not yet published */
	take();
	check(on.stats.paused == 1 && on.pauses == 1 && !on.waits,
	      "no grace period for a paused ring with data_reserved");
	check(reads(2, 70, 127), "records overwritten by active writers are dropped");
	end();

	begin(kind, true);
	write_records(2, 128);
	for (i = 0; i < 70; i++)
		ring_writer__write(&on.writer[2], RECORD);
	on.before_pause = 20;
	take();
	check(on.stats.paused == 1 && reads(2, 90, 217) && !on.stats.discarded,
	      "records published before the pause are copied as well");
	end();
}

static void test_no_pause(int fd, int pause_errno, const char *what)
{
	begin(PERF_OVERWRITE_BACKWARD, false);
	on.ring[0]->fd = fd;
	on.pause_errno = pause_errno;
	write_records(0, 128);
	on.in_wait[0] = 100;
	take();
	check(!on.stats.paused && on.waits == 1 && reads(0, 100, 127), what);
	end();
}

/* A 32-bit kernel counts modulo 2^32. */
static void test_32_bit(u64 position)
{
	struct perf_snapshot_records records;
	unsigned int i, nr = 50;
	bool ok = true;

	begin(PERF_OVERWRITE_BACKWARD, false);
	on.writer[0].is_32_bit = true;
	on.writer[0].reserved = on.ring[0]->taken = position;
	perf_snapshot__delete(on.snapshot[0]);
	on.snapshot[0] = perf_snapshot__new(on.ring[0]);
	for (i = 0; i < 4; i++) {
		write_records(0, nr);
		take();
		ok &= on.stats.written == nr * RECORD && reads(0, i * nr, i * nr + nr - 1);
		perf_snapshot__records(on.snapshot[0], &records);
		ok &= !records.overwritten;
	}
	check(ok, "heads of a 32-bit kernel are followed");
	printf("# from position %llu\n", (unsigned long long)position);
	end();
}

/*
 * Threads: one writes as the kernel does, one takes into one of two snapshots, and one reads the
 * other snapshot
 */

#define THREADS_SIZE	65536

static struct {
	struct ring_writer	 writer;
	struct perf_overwrite	*ring;
	struct perf_snapshot	*filling, *reading;
	bool			 filled;	/* @filling was taken into after the last swap */
	pthread_mutex_t		 lock;		/* protects the fields above; held during a take */
	bool			 stop_writer, stop_taker;
	unsigned long		 takes;
} threads = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *write_always(void *unused)
{
	struct ring_writer *writer = &threads.writer;
	unsigned int seed = 1;

	while (!__atomic_load_n(&threads.stop_writer, __ATOMIC_RELAXED)) {
		size_t size = RECORD_MIN + 8 * (rand_r(&seed) % 32);
		u64 position = ring_writer__reserve(writer, size);

		__atomic_thread_fence(__ATOMIC_RELEASE);	/* (E) */
		ring_writer__fill(writer, position, size, writer->next++);
		__atomic_thread_fence(__ATOMIC_RELEASE);	/* (B) */
		ring_writer__publish(writer);
	}
	return unused;
}

static void *take_always(void *unused)
{
	while (!__atomic_load_n(&threads.stop_taker, __ATOMIC_RELAXED)) {
		pthread_mutex_lock(&threads.lock);
		perf_snapshot__take(&threads.filling, 1, NULL);
		threads.filled = true;
		threads.takes++;
		pthread_mutex_unlock(&threads.lock);
		usleep(100);
	}
	return unused;
}

/* Swap the snapshots. Return the one to read, or NULL if nothing was taken since the last swap. */
static struct perf_snapshot *swap_snapshots(void)
{
	struct perf_snapshot *filled = NULL;

	pthread_mutex_lock(&threads.lock);
	if (threads.filled) {
		filled = threads.filling;
		threads.filling = threads.reading;
		threads.reading = filled;
		threads.filled = false;
	}
	pthread_mutex_unlock(&threads.lock);
	return filled;
}

/* Return whether each record occurs once, in order, and missing ones are counted. */
static bool read_filled(struct perf_snapshot *filled, u64 *next, u64 *kept, u64 *accounted)
{
	struct perf_snapshot_records records;
	u64 first = *next, last = *next - 1;

	if (!filled)
		return true;
	perf_snapshot__records(filled, &records);
	if (records.malformed ||
	    !records_are_numbered(&records, threads.writer.kind, &first, &last))
		return false;
	*accounted += records.overwritten + records.bytes;
	if (threads.writer.kind == PERF_OVERWRITE_SIZED)
		*accounted += records.nr * sizeof(struct perf_event_trailer);
	if (first < *next || (!records.overwritten && first != *next))
		return false;
	if (records.nr)
		*next = last + 1;
	*kept += records.nr;
	return true;
}

static void test_threads(enum perf_overwrite_kind kind, const char *what)
{
	struct perf_snapshot *one, *other;
	pthread_t writing, taking;
	u64 next = 0, kept = 0, accounted = 0;
	bool ok = true;
	int rounds;

	ring_writer__init(&threads.writer, kind, THREADS_SIZE, 0);
	threads.ring = ring_writer__reader(&threads.writer);
	threads.filling = one = perf_snapshot__new(threads.ring);
	threads.reading = other = perf_snapshot__new(threads.ring);
	threads.stop_writer = threads.stop_taker = false;
	threads.takes = 0;
	if (!one || !other || pthread_create(&writing, NULL, write_always, NULL) ||
	    pthread_create(&taking, NULL, take_always, NULL))
		abort();

	for (rounds = 0; rounds < 200 && ok; rounds++) {
		usleep(1000);
		ok = read_filled(swap_snapshots(), &next, &kept, &accounted);
	}
	__atomic_store_n(&threads.stop_writer, true, __ATOMIC_RELAXED);
	pthread_join(writing, NULL);
	__atomic_store_n(&threads.stop_taker, true, __ATOMIC_RELAXED);
	pthread_join(taking, NULL);

	perf_snapshot__take(&threads.filling, 1, NULL);
	threads.filled = true;
	ok = ok && read_filled(swap_snapshots(), &next, &kept, &accounted);
	check(ok && next == threads.writer.next && accounted == threads.writer.reserved, what);
	printf("# %lu copies, %llu of %llu records kept\n", threads.takes,
	       (unsigned long long)kept, (unsigned long long)next);
	perf_snapshot__delete(one);
	perf_snapshot__delete(other);
	perf_overwrite__delete(threads.ring);
	ring_writer__exit(&threads.writer);
}

int main(void)
{
	test_reserved(PERF_OVERWRITE_SIZED);
	test_reserved(PERF_OVERWRITE_BACKWARD);
	test_grace();
	test_overrun();
	test_overrun_reserved(PERF_OVERWRITE_SIZED);
	test_overrun_reserved(PERF_OVERWRITE_BACKWARD);
	test_no_pause(-1, 0, "without a file descriptor, the intact records are kept");
	test_no_pause(FD, EACCES, "if the kernel refuses to pause, the intact records are kept");
	test_32_bit(0);
	test_32_bit((1ULL << 32) - 100 * RECORD);
	test_32_bit((3ULL << 32) - 7 * RECORD);
	test_threads(PERF_OVERWRITE_SIZED, "sized: one thread takes while another reads");
	test_threads(PERF_OVERWRITE_BACKWARD, "backward: one thread takes while another reads");
	return tap_end();
}
