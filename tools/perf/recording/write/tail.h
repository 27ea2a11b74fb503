/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reserve places at the end of the file: without a lock where a chunk has space, otherwise with
 * one.
 *
 *	open	Any thread reserves by tail__reserve(), which takes no lock.
 *	closed	Only the thread that holds the queue's lock @append reserves, by tail__advance().
 *
 * A lock for each reservation would become a convoy: when its owner or a waiter has lost the CPU,
 * every other thread waits, too. The lock then passes to a thread that is asleep, so that the next
 * thread finds the lock taken again.
 *
 * One word holds all that decides: position, generation, and whether the tail is open. A
 * reservation succeeds only if the word is the one that was read before @chunk and @limit. Each
 * opening has another generation: the same position can come again in the next file.
 */
#ifndef PERF_RECORDING_TAIL_H
#define PERF_RECORDING_TAIL_H

#include <stdbool.h>
#include <linux/types.h>
#include "chunk_pool.h"

#define TAIL_POS_BITS	48			/* file systems have smaller files */
#define TAIL_POS	((1ULL << TAIL_POS_BITS) - 1)
#define TAIL_OPEN	(1ULL << TAIL_POS_BITS)
#define TAIL_GENERATION	(1ULL << (TAIL_POS_BITS + 1))	/* the first bit of 15 */

/**
 * struct tail
 * @word:	position of the next byte in the file, TAIL_OPEN, and the generation
 * @chunk:	if open: what the next byte belongs to
 * @limit:	if open: position where the memory of @chunk ends
 */
struct tail {
	u64		 word;
	struct chunk	*chunk;
	u64		 limit;
};

/**
 * struct piece - a part of a chunk that is reserved for the thread that copies to it
 *
 * @chunk stays what it is until the thread calls chunk__end_copy().
 */
struct piece {
	struct chunk	*chunk;
	void		*dst;
	size_t		 len;
};

/** piece__pos - position of the piece in the file; before chunk__end_copy() */
static inline u64 piece__pos(const struct piece *piece)
{
	return piece->chunk->pos + (piece->dst - piece->chunk->data);
}

/*
 * Atomic also where the caller holds @append: other threads may try to exchange the word, and fail.
 */
static inline u64 tail__word(const struct tail *tail)
{
	return __atomic_load_n(&tail->word, __ATOMIC_RELAXED);
}

/** tail__pos - position of the next byte in the file; in any thread */
static inline u64 tail__pos(const struct tail *tail)
{
	return tail__word(tail) & TAIL_POS;
}

/** tail__reserve - reserve the next @len bytes. Return: false if closed, or if the chunk is full */
static inline bool tail__reserve(struct tail *tail, size_t len, struct piece *piece)
{
	u64 word = __atomic_load_n(&tail->word, __ATOMIC_ACQUIRE), limit;

	do {
		/* Acquire: if these are newer than @word, the exchange fails. */
		piece->chunk = __atomic_load_n(&tail->chunk, __ATOMIC_ACQUIRE);
		limit = __atomic_load_n(&tail->limit, __ATOMIC_ACQUIRE);
		if (!(word & TAIL_OPEN) || (word & TAIL_POS) + len > limit)
			return false;
	} while (!__atomic_compare_exchange_n(&tail->word, &word, word + len, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	piece->dst = piece->chunk->data + ((word & TAIL_POS) - piece->chunk->pos);
	piece->len = len;
	return true;
}

/** tail__close - end tail__reserve(), and set the length of the chunk. Caller holds @append. */
static inline void tail__close(struct tail *tail)
{
	u64 word = __atomic_fetch_and(&tail->word, ~TAIL_OPEN, __ATOMIC_ACQ_REL);

	if (word & TAIL_OPEN)
		tail->chunk->len = (word & TAIL_POS) - tail->chunk->pos;
}

/** tail__open - let tail__reserve() use the rest of @chunk. Caller holds @append. */
static inline void tail__open(struct tail *tail, struct chunk *chunk)
{
	__atomic_store_n(&tail->chunk, chunk, __ATOMIC_RELEASE);
	__atomic_store_n(&tail->limit, chunk->pos + chunk->len + chunk__space(chunk),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&tail->word, (tail__word(tail) + TAIL_GENERATION) | TAIL_OPEN,
			 __ATOMIC_RELEASE);
}

/** tail__advance - reserve the next @len bytes of @chunk. Caller holds @append; closed. */
static inline struct piece tail__advance(struct tail *tail, struct chunk *chunk, size_t len)
{
	struct piece piece = { .chunk = chunk, .dst = chunk->data + chunk->len, .len = len };

	chunk->len += len;
	__atomic_store_n(&tail->word, tail__word(tail) + len, __ATOMIC_RELAXED);
	return piece;
}

/** tail__set - continue at @pos. Closed; no thread appends, or the caller holds @append. */
static inline void tail__set(struct tail *tail, u64 pos)
{
	__atomic_store_n(&tail->word, (tail__word(tail) & ~TAIL_POS) | pos, __ATOMIC_RELAXED);
}

#endif
