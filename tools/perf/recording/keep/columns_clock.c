// SPDX-License-Identifier: GPL-2.0-only
/* Find the tick of the clock that samples have their time from. */
#include <stdbool.h>
#include <string.h>
#include <linux/perf_event.h>
#include "columns_clock.h"

/* Another block is looked at after so many: a guess from few samples may be wrong. */
#define BLOCKS		256

/* Differences that are looked at, and how long they may be [ns]. */
#define MAX_SAMPLES	1024
#define MIN_SAMPLES	256
#define MAX_NS		4096

/* So many that are short find the tick, all refine it. */
#define SHORT_SAMPLES	128
#define SHORT_NS	1024

/* Ticks that are tried [ns]. A shorter one would save no more than its errors take. */
#define SHORTEST	5.0
#define LONGEST		((double)(TICK_MAX / TICK_NS) - 1)

/* Ticks a nanosecond, from one that is tried to the next: at SHORT_NS a quarter of a tick. */
#define STEP		(0.25 / SHORT_NS)

static unsigned int find_differences(unsigned int time_word, const void *records, size_t len,
				     u16 *differences)
{
	u64 time, last = 0;
	unsigned int nr = 0;
	size_t pos, size;

	for (pos = 0; pos + sizeof(struct perf_event_header) <= len && nr < MAX_SAMPLES;
	     pos += size) {
		const struct perf_event_header *header = records + pos;

		size = header->size;
		if (size < sizeof(*header) || size > len - pos)
			break;
		if (header->type != PERF_RECORD_SAMPLE || size < (time_word + 2) * sizeof(u32))
			continue;
		memcpy(&time, (const u32 *)header + time_word, sizeof(time));
		if (time - last - 1 < MAX_NS)
			differences[nr++] = time - last;
		last = time;
	}
	return nr;
}

/*
 * Return: 1 if all differences are multiples of a tick; 0 on average if they have nothing to do
 * with it.
 */
static double fit(const u16 *differences, unsigned int nr, double ticks_per_ns)
{
	double sum = 0, off;
	unsigned int i;

	/* A parabola with the mean and the largest values of the cosine is as good */
	for (i = 0; i < nr; i++) {
		off = differences[i] * ticks_per_ns;
		off -= (int)(off + 0.5);
		sum += off * off;
	}
	return 1 - 12 * sum / nr;
}

static double find_best(const u16 *differences, unsigned int nr)
{
	double best = 0, best_fit = 0, ticks_per_ns, value;

	for (ticks_per_ns = 1 / LONGEST; ticks_per_ns < 1 / SHORTEST; ticks_per_ns += STEP) {
		value = fit(differences, nr, ticks_per_ns);
		if (value > best_fit) {
			best_fit = value;
			best = ticks_per_ns;
		}
	}
	return best_fit > 0.5 ? 1 / best : 1;
}

/* Return: the length of a tick with which differences below @max_ns are closest to multiples. */
static double refine(const u16 *differences, unsigned int nr, double tick, unsigned int max_ns)
{
	double ticks, products = 0, squares = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (differences[i] >= max_ns)
			continue;
		ticks = (int)(differences[i] / tick + 0.5);
		products += ticks * differences[i];
		squares += ticks * ticks;
	}
	return squares ? products / squares : tick;
}

/* Return: are nearly all differences what the clock expects? */
static bool is_tick(const u16 *differences, unsigned int nr, u64 tick)
{
	struct columns_clock clock;
	unsigned int i, wrong = 0;
	u64 time = 0, number;

	columns_clock__begin(&clock, tick);
	for (i = 0; i < nr; i++) {
		time += differences[i];
		number = time;
		wrong += columns_clock__encode(&clock, &number) == TIME_LONG;
	}
	return wrong < nr / 32;
}

static u64 find_tick(const u16 *differences, unsigned int nr)
{
	u16 some[SHORT_SAMPLES];
	unsigned int nr_some = 0, max_ns, i;
	double tick;
	u64 fixed;

	for (i = 0; i < nr && nr_some < SHORT_SAMPLES; i++) {
		if (differences[i] < SHORT_NS)
			some[nr_some++] = differences[i];
	}
	if (nr_some < SHORT_SAMPLES)
		return TICK_NS;
	tick = find_best(some, nr_some);

	for (max_ns = SHORT_NS / 8; max_ns <= MAX_NS; max_ns *= 2)
		tick = refine(differences, nr, tick, max_ns);
	if (tick < SHORTEST - 1 || tick > LONGEST)
		return TICK_NS;
	fixed = tick * TICK_NS;
	return is_tick(differences, nr, fixed) ? fixed : TICK_NS;
}

void columns_tick__learn(struct columns_tick *tick, unsigned int time_word, const void *records,
			 size_t len)
{
	u16 differences[MAX_SAMPLES];
	unsigned int nr;

	if (!tick->tick)
		tick->tick = TICK_NS;
	if (!time_word || tick->blocks++ % BLOCKS)
		return;
	nr = find_differences(time_word, records, len, differences);
	if (nr >= MIN_SAMPLES)
		tick->tick = find_tick(differences, nr);
	else
		tick->blocks = 0;
}
