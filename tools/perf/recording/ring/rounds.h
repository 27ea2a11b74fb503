/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When several threads may tell the reader of the file that a round is finished.
 *
 * A PERF_RECORD_FINISHED_ROUND promises: nothing that comes after it in the file is older than
 * anything that came before the mark before it. So the reader of the file puts in order, and forgets,
 * what it has got up to that one, and never holds more than two rounds in memory.
 *
 * Each thread that drains rings is a visitor, and one visit is: look at the head of each of its rings
 * and write what is below. What is in a ring after that was published after the visit began. One that looks at
 * some of its rings, because they have something, does not count.
 *
 *	file	... mark n-1   visits of round n, each after mark n-1 was written   mark n ...
 *
 * A record is published somewhat later than its time says: an interrupt may come in between, or another
 * guest. Only a reader that shares the ring's CPU cannot look then. So a visit counts when the round was
 * @late_ns old before its first look.
 *
 * Invariants:
 *  1. A visit belongs to the round whose number it read before its first look (rounds__begin()).
 *  2. It counts (rounds__end()) when all that it saw has its place in the file; for that round, and once
 *     in it. One that is under way when a round ends is of a visitor which that had counted before.
 *  3. The mark is written when each visitor has a visit that counts; by the visitor that was missing, under
 *     the lock. The number goes up after that.
 *
 * By 1 and 3 a visit of round n that counts begins @late_ns after mark n-1 has its place; by 2 all its
 * records lie before mark n. So what is written after mark n was published later than that, and is not
 * older than mark n-1; and what lies before mark n-1 had been published by then: the promise.
 *
 * A ring in which little happens wakes nobody. Hence a round that has become large or old is due: the
 * visitor that notices asks those that are missing (rounds__due(), rounds__missing()).
 */
#ifndef PERF_RECORDING_ROUNDS_H
#define PERF_RECORDING_ROUNDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* Small enough for a reader to hold twice, and large against what waking each thread costs. */
#define ROUND_BYTES	(16UL << 20)
/* Who reads a pipe sees nothing of a round before its end. */
#define ROUND_NS	250000000ULL

/* From the time of a record to its publication it takes microseconds, if nothing comes in between. */
#define ROUND_LATE_NS	50000000ULL

/**
 * struct rounds
 * @lock:	of @nr_visited, and held while a mark is written
 * @nr:		number of the round that lasts, from 1
 * @bytes:	what was written in it so far [bytes]
 * @begin_ns:	when it began [ns of CLOCK_MONOTONIC]
 * @late_ns:	ROUND_LATE_NS
 * @asked:	those that are missing have been asked
 * @visited:	for each visitor the round in which it was counted last
 * @nr_visitors: number of @visited; 0: no marks are written here
 * @nr_visited:	how many were counted in this round
 * @mark:	writes the mark; returns 0 or a negative errno
 * @arg:	its argument
 */
struct rounds {
	pthread_mutex_t	 lock;
	u64		 nr;
	u64		 bytes;
	u64		 begin_ns;
	u64		 late_ns;
	bool		 asked;
	u64		*visited;
	unsigned int	 nr_visitors;
	unsigned int	 nr_visited;
	int		(*mark)(void *arg);
	void		*arg;
};

/** rounds__init - Return: 0, or -ENOMEM */
int rounds__init(struct rounds *rounds, unsigned int nr_visitors, int (*mark)(void *arg), void *arg);

/** rounds__exit - harmless if it is zeroed */
void rounds__exit(struct rounds *rounds);

/** rounds__begin - a visit begins. Return: the round that it belongs to; 0 if that is too young */
u64 rounds__begin(const struct rounds *rounds);

/**
 * rounds__end - a visit has ended
 * @visitor:	whose it was, from 0; each is one thread
 * @round:	from rounds__begin()
 * @bytes:	what it wrote
 * @whole:	it has seen, and written, all of its rings: only then it counts
 *
 * Return: 0, or the error of the mark.
 */
int rounds__end(struct rounds *rounds, unsigned int visitor, u64 round, size_t bytes, bool whole);

/** rounds__due - is it time to ask those that are missing? True once a round. */
bool rounds__due(struct rounds *rounds);

/** rounds__asked - does the round wait for visits? They have to be whole. */
bool rounds__asked(const struct rounds *rounds);

/** rounds__missing - was @visitor not counted in this round yet? */
bool rounds__missing(const struct rounds *rounds, unsigned int visitor);

#endif
