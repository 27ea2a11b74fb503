// SPDX-License-Identifier: GPL-2.0-only
/*
 * The live state when allocations fail: what is missing is counted, and nothing else happens.
 * tags: fast parallel
 *
 * Runs random histories (history.h) in which each allocation of the state fails with some
 * probability. What samples resolve to is not checked. The sanitizers find errors.
 *
 * Prints KTAP.
 */
#include <stdbool.h>
#include <stdlib.h>
#include "recording/state/task_refs.h"
#include "recording/state/state.h"
#include "../random.h"

static bool in_state;
static u64 random_state, chance, nr_failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__real_realloc(void *old, size_t size);

static bool fails(void)
{
	if (!in_state || random_below(&random_state, 1000) >= chance)
		return false;
	nr_failed++;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return fails() ? NULL : __real_calloc(nr, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

/* Allocations of the state fail, those of the history do not. */
#define within(call)	do { in_state = true; (call); in_state = false; } while (0)
#define state__add(state, span)		within((state__add)(state, span))
#define state__end_round(state)		within((state__end_round)(state))
#define state__collect(state, refs)	within((state__collect)(state, refs))
#define state__forget(state, time)	within((state__forget)(state, time))
#define task_refs__add(refs, pid, tid, time)	within((task_refs__add)(refs, pid, tid, time))
#define state__exit(state)		(add_loss(state), (state__exit)(state))

static u64 nr_missing;

static void add_loss(const struct state *state)
{
	nr_missing += state__loss(state).no_memory;
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
		nr_failed = nr_missing = 0;
		for (seed = 1; seed <= 20; seed++)
			history__run(&history, seed, 20000, NULL);
		printf("# %llu allocations failed, %llu records and maps missing\n",
		       (unsigned long long)nr_failed, (unsigned long long)nr_missing);
		snprintf(what, sizeof(what), "%llu of 1000 allocations fail",
			 (unsigned long long)chance);
		check(nr_failed && nr_missing, what);
	}
	return tap_end();
}
