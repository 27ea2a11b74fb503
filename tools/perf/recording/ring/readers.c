// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/zalloc.h>
#include "util/debug.h"
#include "channel.h"
#include "reader_sched.h"
#include "readers.h"
#include "recording/lib/thread.h"

/*
 * Distribution of rings
 */

/*
 * Without threads one reader, which has no place of its own, gets all rings. Rings of threads,
 * whose records come from any CPU, are distributed among the places.
 */
static int place_of(const struct readers *readers, const struct channel *channel,
		    const struct ring *ring)
{
	int none = readers->spec.nr, place;

	if (readers->no_threads || !readers->spec.nr)
		return none;
	if (ring->map.cpu.cpu < 0)
		return (ring - channel->rings) % readers->spec.nr;
	place = reader_spec__find(&readers->spec, ring->map.cpu);
	return place < 0 ? none : place;
}

static int reader__init(struct reader *reader, struct readers *readers, int place, int nr_rings)
{
	int err;

	reader->readers = readers;
	reader->nr = reader - readers->readers;
	reader->place = place < readers->spec.nr ? &readers->spec.places[place] : NULL;
	reader->home = -1;
	err = pollset__init(&reader->pollset);
	if (err)
		return err;
	reader->rings = calloc(nr_rings, sizeof(*reader->rings));
	return reader->rings ? 0 : -ENOMEM;
}

/* @nr_rings: number of rings of each place; replaced by the index of the place's reader. */
static int create_readers(struct readers *readers, int *nr_rings)
{
	int place, nr = 0, err;

	for (place = 0; place <= readers->spec.nr; place++)
		nr += nr_rings[place] > 0;
	readers->readers = calloc(nr, sizeof(*readers->readers));
	if (!readers->readers)
		return -ENOMEM;
	for (place = 0; place <= readers->spec.nr; place++) {
		if (!nr_rings[place])
			continue;
		err = reader__init(&readers->readers[readers->nr++], readers, place,
				   nr_rings[place]);
		if (err)
			return err;
		nr_rings[place] = readers->nr - 1;
	}
	return 0;
}

/* @nr_rings: number of rings of each place */
static void count_rings(const struct readers *readers, const struct channel *channel, int *nr_rings)
{
	const struct ring *ring;

	channel__for_each_ring(channel, ring)
		nr_rings[place_of(readers, channel, ring)]++;
}

/* @index: of the reader of each place */
static void assign_rings(struct readers *readers, struct channel *channel, const int *index)
{
	struct ring *ring;

	channel__for_each_ring(channel, ring) {
		struct reader *reader = &readers->readers[index[place_of(readers, channel, ring)]];

		reader->rings[reader->nr_rings++] = ring;
		ring->pollset = readers->no_threads ? readers->recorder : &reader->pollset;
	}
}

static int distribute_rings(struct readers *readers, struct channel *const *channels, int nr)
{
	int *places = calloc(readers->spec.nr + 1, sizeof(*places)), i, err;

	if (!places)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		count_rings(readers, channels[i], places);
	err = create_readers(readers, places);
	for (i = 0; i < nr && !err; i++)
		assign_rings(readers, channels[i], places);
	free(places);
	return err;
}

int readers__init(struct readers *readers, struct channel *const *channels, int nr,
		  struct pollset *recorder)
{
	int i, nr_rings = 0, err = 0;

	thread__init_lock(&readers->lock);
	pthread_cond_init(&readers->changed, NULL);
	readers->recorder = recorder;
	for (i = 0; i < nr; i++)
		nr_rings += channels[i]->nr_mapped;
	if (nr_rings)
		err = distribute_rings(readers, channels, nr);
	if (err)
		pr_err("Cannot prepare the threads that drain the rings: %s\n", strerror(-err));
	return err;
}

unsigned int readers__recorder(const struct readers *readers)
{
	return readers->no_threads ? 0 : readers->nr;
}

void readers__exit(struct readers *readers)
{
	struct reader *reader;

	for (reader = readers->readers; reader < readers->readers + readers->nr; reader++) {
		pollset__exit(&reader->pollset);
		zfree(&reader->rings);
	}
	zfree(&readers->readers);
	readers->nr = 0;
}

/*
 * Visits
 */

static void follow(struct reader *reader, const struct ring *ring)
{
	const struct reader_spec *homes = &reader->readers->homes;
	int home = reader_spec__find(homes, ring->map.cpu), err;

	if (home < 0 || home == reader->home)
		return;
	reader->home = home;
	err = reader_sched__set_cpus(pthread_self(), homes->places[home].affinity);
	if (err)
		pr_debug("Cannot move to CPU %d: %s\n", ring->map.cpu.cpu, strerror(-err));
}

static void heed(struct readers *readers, int answer)
{
	if (answer == SINK_STOP_READING)
		__atomic_store_n(&readers->stop_reading, true, __ATOMIC_RELAXED);
	if (answer)
		readers__wake_recorder(readers);
}

static int drain_ring(const struct readers *readers, struct ring *ring, size_t min_bytes,
		      size_t *bytes)
{
	if (ring->drainer)
		return ring->drainer->drain(ring->drainer, bytes);
	return ring__drain(ring, min_bytes, readers->sink, bytes);
}

static ssize_t drain_rings(struct reader *reader, struct ring **rings, int nr, size_t min_bytes)
{
	struct readers *readers = reader->readers;
	size_t bytes = 0;
	int i, ret;

	for (i = 0; i < nr; i++) {
		if (readers->homes.nr)
			follow(reader, rings[i]);
		ret = drain_ring(readers, rings[i], min_bytes, &bytes);
		if (ret < 0)
			return ret;
		heed(readers, ret);
	}
	reader->wakeups += bytes > 0;
	return bytes;
}

static ssize_t drain_all(struct reader *reader, size_t min_bytes)
{
	return drain_rings(reader, reader->rings, reader->nr_rings, min_bytes);
}

static ssize_t drain_ready(struct reader *reader)
{
	struct pollset *pollset = &reader->pollset;

	return drain_rings(reader, pollset->ready, pollset->nr_ready, reader->readers->min_bytes);
}

static int visit(struct reader *reader, bool ordered)
{
	struct readers *readers = reader->readers;
	struct rounds *rounds = readers->rounds;
	u64 round = rounds__begin(rounds);
	bool all = ordered || rounds__asked(rounds);
	ssize_t bytes = all ? drain_all(reader, 0) : drain_ready(reader);
	int err;

	if (bytes < 0)
		return bytes;
	err = rounds__end(rounds, reader->nr, round, bytes, all);
	if (!err && rounds__due(rounds))
		readers__ask(readers);
	return err;
}

ssize_t readers__visit(struct readers *readers, bool *whole)
{
	*whole = true;
	if (!readers->no_threads || !readers->nr)
		return 0;
	*whole = readers->min_bytes <= 1 || rounds__asked(readers->rounds);
	return drain_all(readers->readers, *whole ? 0 : readers->min_bytes);
}

/*
 * Waking the main thread up
 */

void readers__wake_recorder(struct readers *readers)
{
	if (!__atomic_exchange_n(&readers->woken, true, __ATOMIC_ACQ_REL))
		pollset__wake(readers->recorder);
}

int readers__looked(struct readers *readers)
{
	(void)__atomic_exchange_n(&readers->woken, false, __ATOMIC_ACQ_REL);
	return __atomic_load_n(&readers->err, __ATOMIC_ACQUIRE);
}

void readers__resume(struct readers *readers)
{
	struct reader *reader;

	if (!__atomic_exchange_n(&readers->stop_reading, false, __ATOMIC_RELAXED))
		return;
	for (reader = readers->readers; reader < readers->readers + readers->nr; reader++) {
		if (reader->running)
			pollset__wake(&reader->pollset);
	}
}

void readers__ask(struct readers *readers)
{
	struct reader *reader;

	for (reader = readers->readers; reader < readers->readers + readers->nr; reader++) {
		if (reader->running && rounds__missing(readers->rounds, reader->nr))
			pollset__wake(&reader->pollset);
	}
	if (rounds__missing(readers->rounds, readers__recorder(readers)))
		readers__wake_recorder(readers);
}

/*
 * Threads
 */

static void fail(struct reader *reader, int err)
{
	struct readers *readers = reader->readers;
	int none = 0;

	reader->stopped = true;
	__atomic_compare_exchange_n(&readers->err, &none, err, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
	readers__wake_recorder(readers);
}

static void visit_unless_stopped(struct reader *reader, bool ordered)
{
	int err;

	if (reader->stopped ||
	    (!ordered && __atomic_load_n(&reader->readers->stop_reading, __ATOMIC_RELAXED)))
		return;
	err = visit(reader, ordered);
	if (err)
		fail(reader, err);
}

/*
 * Return: the order that ended a HOLD, or this one; READER_RUN if a newer one must be answered
 * first.
 */
static enum reader_order answer(struct reader *reader, u64 nr)
{
	struct readers *readers = reader->readers;
	enum reader_order order = READER_RUN;

	pthread_mutex_lock(&readers->lock);
	if (nr == readers->nr_orders) {
		reader->answered = nr;
		readers->answers++;
		pthread_cond_broadcast(&readers->changed);
		while (readers->order == READER_HOLD && nr == readers->nr_orders)
			pthread_cond_wait(&readers->changed, &readers->lock);
	}
	if (nr == readers->nr_orders)
		order = readers->order;
	pthread_mutex_unlock(&readers->lock);
	return order;
}

static void wait_for_work(struct reader *reader)
{
	if (reader->stopped || __atomic_load_n(&reader->readers->stop_reading, __ATOMIC_RELAXED))
		pollset__sleep(&reader->pollset);
	else
		pollset__wait(&reader->pollset, -1);
}

static void *run(void *arg)
{
	struct reader *reader = arg;
	enum reader_order order = READER_RUN;

	while (order != READER_END) {
		u64 nr = __atomic_load_n(&reader->readers->nr_orders, __ATOMIC_ACQUIRE);
		bool ordered = nr != reader->answered;

		visit_unless_stopped(reader, ordered);
		if (ordered)
			order = answer(reader, nr);
		else
			wait_for_work(reader);
	}
	return NULL;
}

/*
 * A thread that drains no rings itself gets one priority less; the lowest of SCHED_FIFO is 1, and
 * some users may set no other ('ulimit -r').
 */
int readers__raise(struct readers *readers, pthread_t thread, bool drains)
{
	int priority = readers->priority < 0 ? READER_PRIORITY_DEFAULT : readers->priority, err;

	if (readers->no_threads && readers->priority <= 0)
		return 0;
	err = reader_sched__set_priority(thread, drains || priority <= 1 ? priority : priority - 1);
	if (err && readers->priority < 0)
		err = reader_sched__set_priority(thread, 1);
	if (!err)
		return 0;
	if (readers->priority >= 0) {
		pr_err("Cannot set real-time priority %d (-r): %s. Run as root, or raise 'ulimit -r'.\n",
		       priority, strerror(-err));
		return err;
	}
	pr_debug("Readers run in the normal class: %s\n", strerror(-err));
	readers->normal_class = true;
	return 0;
}

static int reader__start(struct reader *reader)
{
	int err = thread__create(&reader->thread, run, reader);

	if (err) {
		pr_err("Cannot create a thread for the rings: %s. Use --threads=package for fewer threads, "
		       "--no-threads for none.\n", strerror(-err));
		return err;
	}
	reader->running = true;
	if (reader->place)
		err = reader_sched__set_cpus(reader->thread, reader->place->affinity);
	if (err)		/* the CPU may not be in the recorder's cpuset */
		pr_debug("Cannot set the affinity of a reader: %s\n", strerror(-err));
	return readers__raise(reader->readers, reader->thread, true);
}

int readers__start(struct readers *readers)
{
	struct reader *reader;
	int err = 0;

	if (readers->no_threads)
		return readers__raise(readers, pthread_self(), true);
	for (reader = readers->readers; reader < readers->readers + readers->nr && !err; reader++)
		err = reader__start(reader);
	return err;
}

/*
 * Orders
 */

static int nr_running(const struct readers *readers)
{
	int i, nr = 0;

	for (i = 0; i < readers->nr; i++)
		nr += readers->readers[i].running;
	return nr;
}

static void give_order(struct readers *readers, enum reader_order order, bool wait)
{
	int i, nr = wait ? nr_running(readers) : 0;

	pthread_mutex_lock(&readers->lock);
	readers->order = order;
	readers->answers = 0;
	__atomic_store_n(&readers->nr_orders, readers->nr_orders + 1, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&readers->changed);
	for (i = 0; i < readers->nr && nr; i++)
		pollset__wake(&readers->readers[i].pollset);
	while (readers->answers < nr)
		pthread_cond_wait(&readers->changed, &readers->lock);
	pthread_mutex_unlock(&readers->lock);
}

/* Drain all rings in this thread. */
static int visit_all(struct readers *readers)
{
	int i;

	for (i = 0; i < readers->nr; i++) {
		ssize_t bytes = drain_all(&readers->readers[i], 0);

		if (bytes < 0)
			return bytes;
	}
	return 0;
}

int readers__sync(struct readers *readers)
{
	if (!nr_running(readers))
		return visit_all(readers);
	give_order(readers, READER_RUN, true);
	return __atomic_load_n(&readers->err, __ATOMIC_ACQUIRE);
}

int readers__hold(struct readers *readers)
{
	if (!nr_running(readers))
		return visit_all(readers);
	give_order(readers, READER_HOLD, true);
	return __atomic_load_n(&readers->err, __ATOMIC_ACQUIRE);
}

void readers__release(struct readers *readers)
{
	if (nr_running(readers))
		give_order(readers, READER_RUN, false);
}

int readers__stop(struct readers *readers)
{
	struct reader *reader;

	if (!nr_running(readers))
		return visit_all(readers);
	give_order(readers, READER_END, true);
	for (reader = readers->readers; reader < readers->readers + readers->nr; reader++) {
		if (reader->running)
			pthread_join(reader->thread, NULL);
		reader->running = false;
	}
	return __atomic_load_n(&readers->err, __ATOMIC_ACQUIRE);
}

u64 readers__wakeups(const struct readers *readers)
{
	u64 wakeups = 0;
	int i;

	for (i = 0; i < readers->nr; i++)
		wakeups += readers->readers[i].wakeups;
	return wakeups;
}
