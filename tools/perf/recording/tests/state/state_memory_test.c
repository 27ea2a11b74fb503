// SPDX-License-Identifier: GPL-2.0-only
/*
 * The live state without memory: something is missing, and counted, and nothing else happens.
 * tags: fast
 *
 * Random histories (history.h) in which each allocation that the state makes fails with some
 * chance. What samples resolve to is not looked at; the sanitizers are the judges.
 *
 * Prints KTAP.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include "recording/state/task_refs.h"
#include "recording/state/state.h"

static bool in_state;
static u64 random_word = 88172645463325252ULL, chance, nr_refused;

void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__real_realloc(void *old, size_t size);

static bool refused(void)
{
	random_word = random_word * 6364136223846793005ULL + 1442695040888963407ULL;
	if (!in_state || (random_word >> 33) % 1000 >= chance)
		return false;
	nr_refused++;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return refused() ? NULL : __real_calloc(nr, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return refused() ? NULL : __real_realloc(old, size);
}

/* The state's own allocations fail, not those of the history around it. */
#define within(call)	do { in_state = true; (call); in_state = false; } while (0)
#define state__add(state, span)		within((state__add)(state, span))
#define state__end_round(state)		within((state__end_round)(state))
#define state__collect(state, refs)	within((state__collect)(state, refs))
#define state__forget(state, time)	within((state__forget)(state, time))
#define task_refs__add(refs, pid, tid, time)	within((task_refs__add)(refs, pid, tid, time))
#define state__exit(state)		(note_loss(state), (state__exit)(state))

static u64 nr_lost;

static void note_loss(const struct state *state)
{
	nr_lost += state__loss(state).no_memory;
}

#include "history.h"
#include "perf/tests/tap.h"

int main(void)
{
	static const u64 chances[] = { 1, 10, 100, 500, 1000 };
	static struct history history;
	unsigned int i;
	char what[64];
	u64 seed;

	for (i = 0; i < ARRAY_SIZE(chances); i++) {
		chance = chances[i];
		nr_refused = nr_lost = 0;
		for (seed = 1; seed <= 20; seed++)
			history__run(&history, seed, 20000, NULL);
		printf("# %llu allocations refused, %llu things missing\n",
		       (unsigned long long)nr_refused, (unsigned long long)nr_lost);
		snprintf(what, sizeof(what), "%llu of 1000 allocations fail",
			 (unsigned long long)chance);
		check(nr_refused && nr_lost, what);
	}
	return tap_end();
}
