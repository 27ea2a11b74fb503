/* SPDX-License-Identifier: GPL-2.0-only */
/* Generate pseudo-random numbers from a seed. */
#ifndef PERF_EVENT_FUZZ_RANDOM_H
#define PERF_EVENT_FUZZ_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

extern uint64_t random_state;

/* Derive the state of a process from the seed of its round and a number that no other has. */
static inline void random_seed(uint64_t seed, uint64_t number)
{
	random_state = (seed + 1) * 0x9e3779b97f4a7c15 ^ (number + 1) * 0xbf58476d1ce4e5b9;
	if (!random_state)
		random_state = 1;
}

static inline uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1d;
}

static inline uint64_t random_below(uint64_t n)
{
	return (random_u64() >> 16) % n;
}

/* Return true once in @n calls on average. */
static inline bool one_in(unsigned int n)
{
	return !random_below(n);
}

/* Return a number of any magnitude: small ones and those near powers of two are likely. */
static inline uint64_t random_number(void)
{
	uint64_t value = random_u64() >> random_below(64);

	return one_in(2) ? value : (1ULL << random_below(64)) + random_below(3) - 1;
}

#define PICK(array)	((array)[random_below(sizeof(array) / sizeof((array)[0]))])

#endif
