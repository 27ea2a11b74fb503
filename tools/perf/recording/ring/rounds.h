/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write PERF_RECORD_FINISHED_ROUND marks where several threads drain rings.
 *
 * A mark promises to the reader of the file: no record after it is older than any record before the
 * previous mark. So the reader may sort and release the records up to that mark, and never holds
 * more than two rounds in memory.
 *
 * Each thread that drains rings is a visitor. A visit reads the head of each of its rings and
 * writes what is below. A record that is left in a ring was published after the visit began. A
 * visit of only those rings that have records does not count.
 *
 *	file	... mark n-1   visits of round n, each begun after mark n-1 was written   mark n ...
 *
 * A record is published somewhat later than its time says: an interrupt may come in between, or the
 * hypervisor may run another guest. (A reader on the ring's own CPU cannot look in between.) So a
 * visit counts only if the round was @late_ns old when the visit began.
 *
 * Invariants:
 *  1. A visit belongs to the round whose number it read before its first look (rounds__begin()).
 *  2. A visit counts (rounds__end()) when all its records have their place in the file; for that
 *     round only, and once. If it is still under way when its round ends, its visitor had been
 *     counted before.
 *  3. The mark is written when every visitor has a visit that counts, by the visitor that was
 *     missing, with the lock held. The number increases after that.
 *
 * By 1 and 3, a visit of round n that counts begins @late_ns after mark n-1 has its place; by 2,
 * all its records lie before mark n. So records after mark n were published later than that, and
 * are not older than mark n-1; and records before mark n-1 had been published by then. That is the
 * promise.
 *
 * A ring with few events wakes nobody up. Hence a round that has become large or old is due: the
 * visitor that notices asks the missing ones (rounds__due(), rounds__missing()).
 */
#ifndef PERF_RECORDING_ROUNDS_H
#define PERF_RECORDING_ROUNDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/*
 * Small enough that a reader can hold two rounds; large compared to the cost of waking each thread
 * up.
 */
#define ROUND_BYTES	(16UL << 20)
/* The reader of a pipe sees nothing of a round before its mark. */
#define ROUND_NS	250000000ULL

/* Publishing a record takes microseconds after its time, if nothing comes in between. */
#define ROUND_LATE_NS	50000000ULL

/**
 * struct rounds
 * @lock:	protects @nr_visited; held while a mark is written
 * @nr:		number of the present round, from 1
 * @bytes:	written in the round so far [bytes]
 * @begin_ns:	when the round began [ns of CLOCK_MONOTONIC]
 * @late_ns:	ROUND_LATE_NS
 * @asked:	number of the last round whose missing visitors have been asked
 * @visited:	for each visitor the number of the round in which it was counted last
 * @nr_visitors: number of @visited; 0: no marks are written here
 * @nr_visited:	visitors counted in this round
 * @mark:	writes the mark; returns 0 or a negative errno
 * @arg:	its argument
 */
struct rounds {
	pthread_mutex_t	 lock;
	u64		 nr;
	u64		 bytes;
	u64		 begin_ns;
	u64		 late_ns;
	u64		 asked;
	u64		*visited;
	unsigned int	 nr_visitors;
	unsigned int	 nr_visited;
	int		(*mark)(void *arg);
	void		*arg;
};

/** rounds__init - Return: 0, or -ENOMEM */
int rounds__init(struct rounds *rounds, unsigned int nr_visitors, int (*mark)(void *arg),
		 void *arg);

/** rounds__exit - harmless if it is zeroed */
void rounds__exit(struct rounds *rounds);

/**
 * rounds__begin - begin a visit. Return: number of the round that it belongs to; 0 if that is too
 * young
 */
u64 rounds__begin(const struct rounds *rounds);

/**
 * rounds__end - end a visit
 * @visitor:	its number, from 0; each is one thread
 * @round:	from rounds__begin()
 * @bytes:	written by the visit
 * @whole:	the visit has read and written all rings of the visitor: only then it counts
 *
 * Return: 0, or the error of the mark.
 */
int rounds__end(struct rounds *rounds, unsigned int visitor, u64 round, size_t bytes, bool whole);

/** rounds__due - is it time to ask the missing visitors? True once per round. */
bool rounds__due(struct rounds *rounds);

/** rounds__asked - does the round wait for visits? They must be whole. */
bool rounds__asked(const struct rounds *rounds);

/** rounds__missing - is @visitor not yet counted in this round? */
bool rounds__missing(const struct rounds *rounds, unsigned int visitor);

#endif
