// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a record costs: upstream's ring_buffer.c and ours in one process, in alternating rounds.
 *
 * A record is a header and up to seven u64, put one by one; what is beyond 64 bytes is one block.
 * In sized mode it has a trailer of 8 bytes more, and is compared with upstream's write_backward.
 * "memcpy" copies as many bytes in one piece to an area as large: what they cost in any case. All
 * three use the kernel's memcpy(), not libc's. Then what the trailer costs: our ring without and with
 * it.
 *
 * Prints the median of all rounds and the quartiles, and lines RESULT <name> <value> <unit>.
 */
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "bench_impl.h"

#define ROUNDS		201
#define RING_SIZE	(BENCH_RING_PAGES * 4096UL)
#define ROUND_BYTES	RING_SIZE		/* once around the ring */
#define ROUND_RECORDS	4096			/* or so many */

enum { UPSTREAM, OURS, MEMCPY, NR_WHO };

static const char *const mode_names[] = { "forward", "backward", "sized" };
static const char *const who_names[] = { "upstream", "ours", "memcpy" };

static FILE *results;		/* to come after the tables */

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

static double measure(int who, enum bench_mode mode, unsigned int bytes, unsigned int nr)
{
	/* Upstream has one mode that serves the purpose. */
	enum bench_mode theirs = mode == BENCH_SIZED ? BENCH_BACKWARD : mode;
	double start = now_ns();

	if (who == UPSTREAM)
		bench_upstream.write(theirs, bytes, nr);
	else if (who == OURS)
		bench_ours.write(mode, bytes, nr);
	else
		copy(bytes, nr);
	return (now_ns() - start) / nr;
}

static void check_written(bool written, const char *mode, unsigned int bytes)
{
	if (written)
		return;
	fprintf(stderr, "bench_ring: the records have not arrived: %s, %u bytes\n", mode, bytes);
	exit(1);
}

static unsigned int records_a_round(unsigned int bytes)
{
	return ROUND_BYTES / bytes < ROUND_RECORDS ? ROUND_BYTES / bytes : ROUND_RECORDS;
}

static void bench(enum bench_mode mode, unsigned int bytes)
{
	static double times[NR_WHO][ROUNDS], ratios[ROUNDS];
	enum bench_mode theirs = mode == BENCH_SIZED ? BENCH_BACKWARD : mode;
	unsigned int nr = records_a_round(bytes);
	unsigned long long written = (unsigned long long)nr * (ROUNDS + 1);
	const char *name = mode_names[mode];
	struct spread time, ratio;

	bench_upstream.open(theirs);
	bench_ours.open(mode);
	for (int who = 0; who < NR_WHO; who++)
		measure(who, mode, bytes, nr);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < NR_WHO; i++) {
			int who = (i + round) % NR_WHO;

			times[who][round] = measure(who, mode, bytes, nr);
		}
		ratios[round] = times[UPSTREAM][round] / times[OURS][round];
	}
	check_written(bench_upstream.written(theirs, bytes, written), name, bytes);
	check_written(bench_ours.written(mode, bytes, written), name, bytes);
	bench_upstream.close(theirs);
	bench_ours.close(mode);

	printf("%-9s %5u ", name, bytes);
	for (int who = 0; who < NR_WHO; who++) {
		time = spread_of(times[who], ROUNDS);
		printf(" %7.1f (%6.1f-%6.1f)", time.median, time.low, time.high);
		fprintf(results, "RESULT ring-ns-%s-%s-%u %.1f ns\n", who_names[who], name, bytes,
			time.median);
	}
	ratio = spread_of(ratios, ROUNDS);
	printf("  %5.2f (%5.2f-%5.2f)\n", ratio.median, ratio.low, ratio.high);
	fprintf(results, "RESULT ring-ratio-%s-%u %.2f x\n", name, bytes, ratio.median);
}

/* What is more with a trailer: time, and bytes. */
static void bench_trailer(unsigned int bytes)
{
	static const enum bench_mode modes[] = { BENCH_PLAIN, BENCH_SIZED };
	static double times[2][ROUNDS], differences[ROUNDS];
	unsigned int nr = records_a_round(bytes);
	struct spread plain, sized, difference;

	for (int i = 0; i < 2; i++) {
		bench_ours.open(modes[i]);
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
	printf("%9u  %7.1f (%6.1f-%6.1f)  %7.1f (%6.1f-%6.1f)  %5.1f (%5.1f-%5.1f)  %5.1f %%\n", bytes,
	       plain.median, plain.low, plain.high, sized.median, sized.low, sized.high,
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
	stay_on_this_cpu();

	printf("# ns a record, median and quartiles of %d rounds; ratio: upstream / ours\n", ROUNDS);
	printf("# %-7s %5s  %-24s %-24s %-24s  %s\n", "mode", "bytes", who_names[UPSTREAM],
	       who_names[OURS], who_names[MEMCPY], "ratio");
	for (enum bench_mode mode = 0; mode <= BENCH_SIZED; mode++)
		for (unsigned int i = 0; i < nr_sizes; i++)
			bench(mode, sizes[i]);

	printf("# ours, without and with a trailer: ns a record, the difference, and that in bytes\n");
	printf("# %7s  %-24s %-24s %-20s %s\n", "bytes", "without", "with", "difference", "bytes");
	for (unsigned int i = 0; i < nr_sizes; i++)
		bench_trailer(sizes[i]);
	fclose(results);
	fputs(results_text, stdout);
	return 0;
}
