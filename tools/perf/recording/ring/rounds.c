// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <linux/zalloc.h>
#include "util/time-utils.h"
#include "rounds.h"
#include "recording/lib/thread.h"

int rounds__init(struct rounds *rounds, unsigned int nr_visitors, int (*mark)(void *arg), void *arg)
{
	*rounds = (struct rounds){
		.nr	  = 1,
		.begin_ns = rdclock(),
		.late_ns  = ROUND_LATE_NS,
		.mark	  = mark,
		.arg	  = arg,
	};
	thread__init_lock(&rounds->lock);
	if (!nr_visitors)
		return 0;
	rounds->visited = calloc(nr_visitors, sizeof(*rounds->visited));
	if (!rounds->visited)
		return -ENOMEM;
	rounds->nr_visitors = nr_visitors;
	return 0;
}

void rounds__exit(struct rounds *rounds)
{
	zfree(&rounds->visited);
	rounds->nr_visitors = 0;
}

static u64 age(const struct rounds *rounds)
{
	return rdclock() - __atomic_load_n(&rounds->begin_ns, __ATOMIC_RELAXED);
}

/* Pairs with the release in next_round(): heads read after this were not read before that mark. */
u64 rounds__begin(const struct rounds *rounds)
{
	u64 nr = __atomic_load_n(&rounds->nr, __ATOMIC_ACQUIRE);

	return age(rounds) < rounds->late_ns ? 0 : nr;
}

/* A round in which nothing was written needs no mark. */
static int next_round(struct rounds *rounds)
{
	int err = 0;

	if (__atomic_load_n(&rounds->bytes, __ATOMIC_RELAXED))
		err = rounds->mark(rounds->arg);
	rounds->nr_visited = 0;
	__atomic_store_n(&rounds->bytes, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&rounds->begin_ns, rdclock(), __ATOMIC_RELAXED);
	__atomic_store_n(&rounds->nr, rounds->nr + 1, __ATOMIC_RELEASE);
	return err;
}

int rounds__end(struct rounds *rounds, unsigned int visitor, u64 round, size_t bytes, bool whole)
{
	int err = 0;

	if (!rounds->nr_visitors)
		return 0;
	if (bytes)
		__atomic_fetch_add(&rounds->bytes, bytes, __ATOMIC_RELAXED);
	/* Most visits end here: only the visitor itself changes what it is compared with. */
	if (!whole || !round || rounds->visited[visitor] == round)
		return 0;

	/* The round still lasts: without this visitor it was not finished. */
	pthread_mutex_lock(&rounds->lock);
	__atomic_store_n(&rounds->visited[visitor], round, __ATOMIC_RELAXED);
	if (++rounds->nr_visited == rounds->nr_visitors)
		err = next_round(rounds);
	pthread_mutex_unlock(&rounds->lock);
	return err;
}

/*
 * @asked is the number of a round, and no flag that next_round() clears: a flag that a late visitor
 * of the old round sets after that would stop all questions in the new one.
 */
bool rounds__due(struct rounds *rounds)
{
	u64 asked = __atomic_load_n(&rounds->asked, __ATOMIC_RELAXED);
	u64 nr = __atomic_load_n(&rounds->nr, __ATOMIC_ACQUIRE);
	u64 bytes = __atomic_load_n(&rounds->bytes, __ATOMIC_RELAXED);

	if (!bytes || asked == nr ||
	    age(rounds) < (bytes < ROUND_BYTES ? ROUND_NS : rounds->late_ns))
		return false;
	return __atomic_compare_exchange_n(&rounds->asked, &asked, nr, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

bool rounds__asked(const struct rounds *rounds)
{
	return __atomic_load_n(&rounds->asked, __ATOMIC_RELAXED) ==
	       __atomic_load_n(&rounds->nr, __ATOMIC_RELAXED);
}

bool rounds__missing(const struct rounds *rounds, unsigned int visitor)
{
	return __atomic_load_n(&rounds->visited[visitor], __ATOMIC_RELAXED) !=
	       __atomic_load_n(&rounds->nr, __ATOMIC_RELAXED);
}
