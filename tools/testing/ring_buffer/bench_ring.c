// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a record costs: upstream's ring_buffer.c and ours in one process, in alternating rounds.
 *
 * A record is a header and up to seven u64, put one by one; what is beyond 64 bytes is one block.
 * In sized mode it has a trailer of 8 bytes more, and is compared with upstream's write_backward.
 * "memcpy" copies the same bytes to the same place in a row: nothing is cheaper. All three use the
 * kernel's memcpy(), not libc's.
 *
 * Prints the median of all rounds and the quartiles, and lines RESULT <name> <value> <unit>.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "bench_side.h"

#define ROUNDS		201
#define RING_SIZE	(BENCH_RING_PAGES * 4096UL)
#define ROUND_BYTES	RING_SIZE		/* once around the ring */
#define ROUND_RECORDS	4096			/* or so many */

enum { UPSTREAM, OURS, MEMCPY, NR_WHO };

static const char *const mode_names[] = { "forward", "backward", "sized" };
static const char *const who_names[] = { "upstream", "ours", "memcpy" };

static FILE *results;		/* to come after the table */

struct spread {
	double	low, median, high;
};

/* What both rings are linked with in place of memcpy(). */
void *bench_memcpy(void *dst, const void *src, size_t len);

#ifdef __x86_64__
#include <cpuid.h>

#define FSRM	(1u << 4)		/* in edx of leaf 7: fast short rep movsb */

void *__memcpy(void *dst, const void *src, size_t len);
void *memcpy_orig(void *dst, const void *src, size_t len);

static __typeof__(bench_memcpy) *choose_memcpy(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && d & FSRM ? __memcpy : memcpy_orig;
}

void *bench_memcpy(void *dst, const void *src, size_t len) __attribute__((ifunc("choose_memcpy")));
#else
void *bench_memcpy(void *dst, const void *src, size_t len)
{
	return memcpy(dst, src, len);
}
#endif

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct spread spread_of(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	return (struct spread){ values[ROUNDS / 4], values[ROUNDS / 2], values[ROUNDS * 3 / 4] };
}

static void copy(unsigned int bytes, unsigned int nr)
{
	static unsigned char *area, from[8192];
	static size_t position;

	if (!area) {
		area = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		madvise(area, RING_SIZE, MADV_NOHUGEPAGE);
	}
	while (nr--) {
		bench_memcpy(area + position, from, bytes);
		asm volatile("" : : "r" (area) : "memory");
		position = (position + bytes) & (RING_SIZE - 1);
	}
}

static double measure(int who, unsigned int bytes, unsigned int nr)
{
	double start = now();

	if (who == UPSTREAM)
		bench_upstream.write(bytes, nr);
	else if (who == OURS)
		bench_ours.write(bytes, nr);
	else
		copy(bytes, nr);
	return (now() - start) / nr;
}

static void bench(enum bench_mode mode, unsigned int bytes)
{
	static double times[NR_WHO][ROUNDS], ratios[ROUNDS];
	unsigned int nr = ROUND_BYTES / bytes < ROUND_RECORDS ? ROUND_BYTES / bytes : ROUND_RECORDS;
	unsigned long long written = (unsigned long long)nr * (ROUNDS + 1);
	const char *name = mode_names[mode];
	struct spread time, ratio;

	bench_upstream.open(mode == BENCH_SIZED ? BENCH_BACKWARD : mode);
	bench_ours.open(mode);
	for (int who = 0; who < NR_WHO; who++)
		measure(who, bytes, nr);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < NR_WHO; i++) {
			int who = (i + round) % NR_WHO;

			times[who][round] = measure(who, bytes, nr);
		}
		ratios[round] = times[UPSTREAM][round] / times[OURS][round];
	}
	if (!bench_upstream.written(bytes, written) || !bench_ours.written(bytes, written)) {
		fprintf(stderr, "bench_ring: the records have not arrived: %s, %u bytes\n", name,
			bytes);
		exit(1);
	}
	bench_upstream.close();
	bench_ours.close();

	printf("%-9s %5u ", name, bytes);
	for (int who = 0; who < NR_WHO; who++) {
		time = spread_of(times[who]);
		printf(" %7.1f (%6.1f-%6.1f)", time.median, time.low, time.high);
		times[who][0] = time.median;
	}
	ratio = spread_of(ratios);
	printf("  %5.2f (%5.2f-%5.2f)\n", ratio.median, ratio.low, ratio.high);
	for (int who = 0; who < NR_WHO; who++)
		fprintf(results, "RESULT ring-ns-%s-%s-%u %.1f ns\n", who_names[who], name, bytes,
			times[who][0]);
	fprintf(results, "RESULT ring-ratio-%s-%u %.2f x\n", name, bytes, ratio.median);
}

int main(void)
{
	static const unsigned int sizes[] = { 16, 64, 256, 1024, 8192 };
	size_t results_size;
	char *results_text;
	cpu_set_t cpu;

	results = open_memstream(&results_text, &results_size);
	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);

	printf("# ns a record, median and quartiles of %d rounds; ratio: upstream / ours\n", ROUNDS);
	printf("# %-7s %5s  %-24s %-24s %-24s  %s\n", "mode", "bytes", who_names[UPSTREAM],
	       who_names[OURS], who_names[MEMCPY], "ratio");
	for (enum bench_mode mode = 0; mode < BENCH_NR_MODES; mode++)
		for (unsigned int i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			bench(mode, sizes[i]);
	fclose(results);
	fputs(results_text, stdout);
	return 0;
}
