// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure the cost of writing a record: upstream's ring_buffer.c and ours, in alternating rounds.
 *
 * A record is a header and up to seven u64 written one by one; the bytes beyond 64 are one block.
 * In sized mode it also has a trailer of 8 bytes, and is compared with upstream's write_backward.
 * "memcpy" copies as many bytes in one piece to an area of the same size, as a lower bound. All
 * three use the kernel's memcpy(), not libc's. A second table compares our ring with and without
 * trailers.
 *
 * Prints median and quartiles of all rounds, and lines RESULT <name> <value> <unit>.
 */
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "bench_impl.h"

#define ROUNDS		201
#define RING_SIZE	(BENCH_RING_PAGES * 4096UL)
#define ROUND_BYTES	RING_SIZE		/* fill the ring once */
#define ROUND_RECORDS	4096			/* but no more records than this */

enum { UPSTREAM, OURS, MEMCPY, NR_COLUMNS };

static const char *const mode_names[] = { "forward", "backward", "sized" };
static const char *const column_names[] = { "upstream", "ours", "memcpy" };

static FILE *results;		/* RESULT lines, printed after the tables */

/* Both rings call this instead of memcpy(). */
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

static double measure(int column, enum bench_mode mode, unsigned int bytes, unsigned int nr)
{
	/* Upstream's only overwrite mode that can be read is write_backward. */
	enum bench_mode upstream_mode = mode == BENCH_SIZED ? BENCH_BACKWARD : mode;
	double start = now_ns();

	if (column == UPSTREAM)
		bench_upstream.write(upstream_mode, bytes, nr);
	else if (column == OURS)
		bench_ours.write(mode, bytes, nr);
	else
		copy(bytes, nr);
	return (now_ns() - start) / nr;
}

static void check_written(bool written, const char *mode, unsigned int bytes)
{
	if (written)
		return;
	fprintf(stderr, "bench_ring: records are missing: %s, %u bytes\n", mode, bytes);
	exit(1);
}

static unsigned int records_a_round(unsigned int bytes)
{
	return ROUND_BYTES / bytes < ROUND_RECORDS ? ROUND_BYTES / bytes : ROUND_RECORDS;
}

static void bench(enum bench_mode mode, unsigned int bytes)
{
	static double times[NR_COLUMNS][ROUNDS], ratios[ROUNDS];
	enum bench_mode upstream_mode = mode == BENCH_SIZED ? BENCH_BACKWARD : mode;
	unsigned int nr = records_a_round(bytes);
	unsigned long long written = (unsigned long long)nr * (ROUNDS + 1);
	const char *name = mode_names[mode];
	struct spread time, ratio;

	bench_upstream.open(upstream_mode, BENCH_RING_PAGES);
	bench_ours.open(mode, BENCH_RING_PAGES);
	for (int column = 0; column < NR_COLUMNS; column++)
		measure(column, mode, bytes, nr);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < NR_COLUMNS; i++) {
			int column = (i + round) % NR_COLUMNS;

			times[column][round] = measure(column, mode, bytes, nr);
		}
		ratios[round] = times[UPSTREAM][round] / times[OURS][round];
	}
	check_written(bench_upstream.written(upstream_mode, bytes, written), name, bytes);
	check_written(bench_ours.written(mode, bytes, written), name, bytes);
	bench_upstream.close(upstream_mode);
	bench_ours.close(mode);

	printf("%-9s %5u ", name, bytes);
	for (int column = 0; column < NR_COLUMNS; column++) {
		time = spread_of(times[column], ROUNDS);
		printf(" %7.1f (%6.1f-%6.1f)", time.median, time.low, time.high);
		fprintf(results, "RESULT ring-ns-%s-%s-%u %.1f ns\n", column_names[column], name,
			bytes, time.median);
	}
	ratio = spread_of(ratios, ROUNDS);
	printf("  %5.2f (%5.2f-%5.2f)\n", ratio.median, ratio.low, ratio.high);
	fprintf(results, "RESULT ring-ratio-%s-%u %.2f x\n", name, bytes, ratio.median);
}

/* Measure the cost of the trailer in time and bytes. */
static void bench_trailer(unsigned int bytes)
{
	static const enum bench_mode modes[] = { BENCH_PLAIN, BENCH_SIZED };
	static double times[2][ROUNDS], differences[ROUNDS];
	unsigned int nr = records_a_round(bytes);
	struct spread plain, sized, difference;

	for (int i = 0; i < 2; i++) {
		bench_ours.open(modes[i], BENCH_RING_PAGES);
		measure(OURS, modes[i], bytes, nr);
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 2; i++) {
			int which = (i + round) % 2;

			times[which][round] = measure(OURS, modes[which], bytes, nr);
		}
		differences[round] = times[1][round] - times[0][round];
	}
	for (int i = 0; i < 2; i++)
		bench_ours.close(modes[i]);

	plain = spread_of(times[0], ROUNDS);
	sized = spread_of(times[1], ROUNDS);
	difference = spread_of(differences, ROUNDS);
	printf("%9u  %7.1f (%6.1f-%6.1f)  %7.1f (%6.1f-%6.1f)  %5.1f (%5.1f-%5.1f)  %5.1f %%\n",
	       bytes, plain.median, plain.low, plain.high, sized.median, sized.low, sized.high,
	       difference.median, difference.low, difference.high, 800.0 / bytes);
	fprintf(results, "RESULT ring-trailer-ns-%u %.1f ns\n", bytes, difference.median);
	fprintf(results, "RESULT ring-trailer-bytes-%u %.1f %%\n", bytes, 800.0 / bytes);
}

int main(void)
{
	static const unsigned int sizes[] = { 16, 64, 256, 1024, 8192 };
	const unsigned int nr_sizes = sizeof(sizes) / sizeof(*sizes);
	size_t results_size;
	char *results_text;

	results = open_memstream(&results_text, &results_size);
	pin_to_current_cpu();

	printf("# ns/record, median and quartiles of %d rounds; ratio: upstream / ours\n", ROUNDS);
	printf("# %-7s %5s  %-24s %-24s %-24s  %s\n", "mode", "bytes", column_names[UPSTREAM],
	       column_names[OURS], column_names[MEMCPY], "ratio");
	for (enum bench_mode mode = 0; mode <= BENCH_SIZED; mode++)
		for (unsigned int i = 0; i < nr_sizes; i++)
			bench(mode, sizes[i]);

	printf("# ours, without and with trailer: ns/record, difference in ns, added bytes\n");
	printf("# %7s  %-24s %-24s %-20s %s\n", "bytes", "without", "with", "difference", "bytes");
	for (unsigned int i = 0; i < nr_sizes; i++)
		bench_trailer(sizes[i]);
	fclose(results);
	fputs(results_text, stdout);
	return 0;
}
