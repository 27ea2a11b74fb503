/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The threads that drain the stream rings.
 *
 *	ring of CPU 0  ->  reader 0 --+
 *	ring of CPU 1  ->  reader 1 --+-->  output		all into one file
 *	...                           |
 *	tracking rings ->  recorder --+
 *
 * A reader sleeps until the kernel wakes it up because some of its rings have reached their watermark. It
 * visits those once, and sleeps again; not until they are empty, for its own writing may be what comes.
 * It visits all its rings when it is ordered to, or when a round waits for it. The watermark is the kernel's
 * default, half of a ring: with a quarter there are more wake-ups, with three quarters a ring that
 * is filled from another CPU overflows (Documentation/perf-record-streaming.rst has the figures).
 *
 * Which rings are whose, and where a reader runs, is said by struct reader_spec: by default each CPU has one,
 * which runs there. The rings of threads are shared out among these; those of CPUs that --threads does
 * not name have a reader together, which runs anywhere. Without threads the recorder's
 * thread does the same for all rings, when it says so: readers__visit().
 *
 * Orders are given by the recorder's thread, one at a time, and numbered:
 *
 *	RUN	visit all once more, then when woken up
 *	HOLD	visit all once more, then wait for the next order
 *	END	visit all once more, then end
 *
 * Invariants:
 *  1. A reader answers an order after a visit that began when it had seen that order. So when all have
 *     answered, all that was published before the order was given has been written; and if that was HOLD
 *     or END, until the next order nothing else is, nor are the rings' accounts touched.
 *  2. A reader that fails visits no more, but answers orders; and tells the recorder, who then ends all.
 *     When the sink wants no more records, readers drain only for orders.
 *  3. A reader counts as one visitor of the rounds (rounds.h), the recorder's thread as the last one.
 *
 * The recorder relies on 1 when it switches files, see recorder.c.
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
 * struct reader - one that drains rings
 * @readers:	all of them
 * @nr:		which of them it is; as a visitor, too
 * @rings:	@nr_rings that are its own
 * @place:	where it runs; NULL: anywhere
 * @home:	of the ring that it visited last, in readers->homes; -1: none
 * @pollset:	what it waits for
 * @answered:	number of the order that it answered last
 * @wakeups:	visits that found something
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
 * @spec:	who drains what, see reader_spec.h
 * @no_threads:	the recorder's thread does it all
 * @priority:	-r: of SCHED_FIFO, 0 for the normal class; negative: threads get the default if they may
 * @homes:	--affinity: a reader moves to the place of each ring's CPU before it visits the ring; none: it
 *		stays where @spec says
 * @min_bytes:	a ring that holds less is left for later, unless a round or an order waits [bytes]
 * @sink:	gets the records, in several threads
 * @rounds:	that they are visitors of
 * @readers:	@nr of them; without threads one that has none
 * @recorder:	what the recorder's thread waits for
 * @woken:	that has been woken up, and has not looked yet
 * @err:	the first error of a reader, negative errno
 * @stop_reading: @sink wants no more records: drain only for orders
 * @lock:	of @order and @answers; and of @nr_orders for writing
 * @changed:	broadcast when an order is given, or answered
 * @order:	the present order
 * @nr_orders:	its number
 * @answers:	how many have answered it
 */
struct readers {
	struct reader_spec	 spec;
	bool			 no_threads;
	int			 priority;
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
 * readers__init - share out the rings, whose @pollset is set
 * @readers:	choices, @sink and @rounds set
 * @stream:	the rings, mapped
 * @recorder:	what the recorder's thread waits for; without threads it gets the rings
 *
 * Return: 0, or a negative errno after an error message.
 */
int readers__init(struct readers *readers, struct channel *stream, struct pollset *recorder);

/** readers__recorder - the recorder's thread as a visitor: the last one */
unsigned int readers__recorder(const struct readers *readers);

/**
 * readers__start - let them begin; the rounds are initialised
 *
 * Return: 0, or a negative errno after an error message.
 */
int readers__start(struct readers *readers);

/**
 * readers__raise - have a thread that the rings wait for scheduled as the readers are (reader_sched.h)
 * @drains:	it drains rings itself
 *
 * Return: 0, or a negative errno after an error message.
 */
int readers__raise(const struct readers *readers, pthread_t thread, bool drains);

/**
 * readers__visit - without threads: visit all rings. With threads there is nothing to do.
 * @whole:	receives whether nothing was left for later
 *
 * Return: how much it was [bytes], or a negative errno.
 */
ssize_t readers__visit(struct readers *readers, bool *whole);

/** readers__ask - have those visit that the round waits for; in any thread */
void readers__ask(struct readers *readers);

/**
 * readers__looked - the recorder's thread was woken up, and looks at what there is to be seen
 *
 * Return: 0, or the negative errno of a reader.
 */
int readers__looked(struct readers *readers);

/** readers__wake_recorder - have it look; in any thread */
void readers__wake_recorder(struct readers *readers);

/**
 * readers__sync - what was published before is written when it returns
 *
 * Without threads, or when they do not run, it visits the rings itself.
 *
 * Return: 0, or a negative errno.
 */
int readers__sync(struct readers *readers);

/**
 * readers__hold - what was published is written, and nothing more until readers__release()
 *
 * Without threads, or when they do not run, it visits the rings itself.
 *
 * Return: 0, or a negative errno.
 */
int readers__hold(struct readers *readers);

void readers__release(struct readers *readers);

/**
 * readers__stop - as readers__hold(), for ever: the threads end
 *
 * Return: 0, or a negative errno.
 */
int readers__stop(struct readers *readers);

/** readers__wakeups - how many visits found something; they are held, or stopped */
u64 readers__wakeups(const struct readers *readers);

/** readers__exit - free all; they are stopped, or never ran */
void readers__exit(struct readers *readers);

#endif
