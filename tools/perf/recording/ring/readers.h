/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drain the stream rings, and AUX areas that are streamed, in threads.
 *
 *	ring of CPU 0  ->  reader 0 --+
 *	ring of CPU 1  ->  reader 1 --+-->  sink (the output)	all into one file
 *	...                           |
 *	AUX ring and area of a CPU: the same reader, by ring->drainer
 *	tracking rings ->  recorder --+
 *
 * A reader sleeps until the kernel wakes it up because some of its rings have reached their
 * watermark. It visits those rings once and sleeps again. It does not wait until they are empty:
 * its own writing may be what fills them. It visits all its rings when it gets an order, or when a
 * round waits for it. The watermark is the kernel's default, half of a ring: a quarter causes more
 * wake-ups, and with three quarters a ring that is filled from another CPU overflows
 * (Documentation/perf-record-streaming.rst has the figures).
 *
 * struct reader_spec says which rings a reader drains and where it runs. By default each CPU has a
 * reader that runs there. Rings of threads are distributed among the readers; rings of CPUs that
 * --threads does not name share one reader, which runs anywhere. Without threads the main thread
 * drains all rings in readers__visit().
 *
 * The main thread gives numbered orders, one at a time:
 *
 *	RUN	visit all rings once more, then whenever woken up
 *	HOLD	visit all rings once more, then wait for the next order
 *	END	visit all rings once more, then end
 *
 * Invariants:
 *  1. A reader answers an order after a visit that began when it had seen the order. So when all
 *     readers have answered, everything that was published before the order has been written. After
 *     HOLD or END, readers write nothing until the next order, and do not touch the statistics of
 *     the rings.
 *  2. A reader that fails drains no more, but answers orders, and reports the error to the main
 *     thread, which ends the recording. When the sink wants no more records, readers drain only for
 *     orders.
 *  3. Each reader counts as one visitor of the rounds (rounds.h), the main thread as the last
 *     visitor.
 *
 * Switching files relies on invariant 1, see files.c.
 */
#ifndef PERF_RECORDING_READERS_H
#define PERF_RECORDING_READERS_H

#include <pthread.h>
#include <stdbool.h>
#include <linux/types.h>
#include "recording/lib/pollset.h"
#include "reader_spec.h"
#include "rounds.h"
#include "drain.h"

struct channel;
struct readers;
struct ring;

enum reader_order {
	READER_RUN,
	READER_HOLD,
	READER_END,
};

/**
 * struct reader - one thread that drains rings
 * @readers:	all readers
 * @nr:		index in @readers, and number as a visitor of rounds
 * @rings:	its own @nr_rings rings
 * @place:	where it runs; NULL: anywhere
 * @home:	place of the ring that it visited last, index in readers->homes; -1: none
 * @pollset:	what it waits for
 * @answered:	number of the order that it answered last
 * @wakeups:	visits that found records
 * @stopped:	it failed, and drains no more
 * @thread:	valid if @running
 */
struct reader {
	struct readers			*readers;
	unsigned int			 nr;
	struct ring			**rings;
	int				 nr_rings;
	const struct reader_place	*place;
	int				 home;
	struct pollset			 pollset;
	u64				 answered;
	u64				 wakeups;
	bool				 stopped;
	pthread_t			 thread;
	bool				 running;
};

/**
 * struct readers
 * @spec:	which thread drains which rings, see reader_spec.h
 * @no_threads:	the main thread drains all rings
 * @priority:	-r: of SCHED_FIFO, 0 for the normal class; negative: the default, if permitted
 * @normal_class: no real-time priority was permitted for the default @priority
 * @homes:	--affinity: a reader moves to the place of each ring's CPU before it visits the
 *		ring; empty: it stays where @spec says
 * @min_bytes:	a ring that holds less is left for later, unless a round or an order waits [bytes]
 * @sink:	gets the records, in several threads
 * @rounds:	the readers are visitors of these rounds
 * @readers:	@nr readers; without threads one, which has no thread
 * @recorder:	what the main thread waits for
 * @woken:	the main thread was woken up and has not looked yet
 * @err:	the first error of a reader, negative errno
 * @stop_reading: @sink wants no more records: drain only for orders, until readers__resume()
 * @lock:	protects @order and @answers; held to write @nr_orders
 * @changed:	broadcast when an order is given or answered
 * @order:	the present order
 * @nr_orders:	its number
 * @answers:	number of readers that have answered it
 */
struct readers {
	struct reader_spec	 spec;
	bool			 no_threads;
	int			 priority;
	bool			 normal_class;
	struct reader_spec	 homes;
	size_t			 min_bytes;
	struct record_sink	*sink;
	struct rounds		*rounds;
	struct reader		*readers;
	int			 nr;
	struct pollset		*recorder;
	bool			 woken;
	int			 err;
	bool			 stop_reading;
	pthread_mutex_t		 lock;
	pthread_cond_t		 changed;
	enum reader_order	 order;
	u64			 nr_orders;
	int			 answers;
};

/**
 * readers__init - distribute the rings among readers, and set the rings' @pollset
 * @readers:	choices, @sink and @rounds set
 * @channels:	@nr channels of mapped rings that are to be drained
 * @recorder:	what the main thread waits for; without threads it gets the rings
 *
 * Return: 0, or a negative errno after an error message.
 */
int readers__init(struct readers *readers, struct channel *const *channels, int nr,
		  struct pollset *recorder);

/** readers__recorder - number of the main thread as a visitor: the last one */
unsigned int readers__recorder(const struct readers *readers);

/**
 * readers__start - start the threads; the rounds are initialised
 *
 * Return: 0, or a negative errno after an error message.
 */
int readers__start(struct readers *readers);

/**
 * readers__raise - schedule a thread that readers depend on as the readers are (reader_sched.h)
 * @drains:	the thread drains rings itself
 *
 * Return: 0, or a negative errno after an error message.
 */
int readers__raise(struct readers *readers, pthread_t thread, bool drains);

/**
 * readers__visit - without threads: visit all rings; with threads: do nothing
 * @whole:	receives false if records were left for later
 *
 * Return: length of the records [bytes], or a negative errno.
 */
ssize_t readers__visit(struct readers *readers, bool *whole);

/** readers__ask - wake up the visitors that the round waits for; in any thread */
void readers__ask(struct readers *readers);

/**
 * readers__looked - the main thread is awake: wake it again for what happens from now on
 *
 * Return: 0, or the negative errno of a reader.
 */
int readers__looked(struct readers *readers);

/**
 * readers__resume - @sink wants records again, if it has answered SINK_STOP_READING
 *
 * For the main thread. A reader whose sink still wants none stops at the next record.
 */
void readers__resume(struct readers *readers);

/** readers__wake_recorder - wake the main thread up; in any thread */
void readers__wake_recorder(struct readers *readers);

/**
 * readers__sync - write everything that was published before the call
 *
 * Visits the rings itself where no threads run.
 *
 * Return: 0, or a negative errno.
 */
int readers__sync(struct readers *readers);

/**
 * readers__hold - as readers__sync(), then write nothing until readers__release()
 *
 * Visits the rings itself where no threads run.
 *
 * Return: 0, or a negative errno.
 */
int readers__hold(struct readers *readers);

void readers__release(struct readers *readers);

/**
 * readers__stop - as readers__sync(), then end the threads
 *
 * Return: 0, or a negative errno.
 */
int readers__stop(struct readers *readers);

/** readers__wakeups - number of visits that found records; the readers are held or stopped */
u64 readers__wakeups(const struct readers *readers);

/** readers__exit - free everything; the readers are stopped, or never ran */
void readers__exit(struct readers *readers);

#endif
