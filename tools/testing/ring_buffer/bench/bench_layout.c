// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the cost of a record in layouts of the data area: upstream's ring, upstream's with fields
 * stored inline, ours, and the ring in the directory OTHER_EVENTS, if make has this variable.
 *
 * All pages lie in memory that is mapped by huge pages, as in the kernel's direct mapping. Mappings
 * made by vmap() consist of small pages, as in the kernel. The first argument "scattered" takes the
 * pages of a ring from all over 256 MB; without it, they are adjacent where possible.
 *
 * warm		records written in a loop: ns per record
 * cold		a record written after the TLB was filled with other pages: ns
 * insns	instructions per record, counted with the trap flag: mean over 8 KB of records
 *
 * Prints means of the middle half of all rounds with quartiles, and upstream's mean divided by
 * each.
 */
#include "bench.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <x86intrin.h>
#include "bench_impl.h"
#include "shim/shim.h"

#define WARM_ROUNDS	101
#define COLD_ROUNDS	201
#define WARM_RECORDS	2048		/* a round, but no more than fill the ring */
#define TLB_PAGES	8192		/* more than any TLB has entries */

static const struct {
	const char		*name;
	const struct bench_impl	*impl;
	enum bench_mode		overwrite_mode;
} variants[] = {
	{ "upstream", &bench_upstream, BENCH_BACKWARD },
	{ "inlined", &bench_inlined, BENCH_BACKWARD },
	{ "ours", &bench_ours, BENCH_SIZED },
#ifdef OTHER_EVENTS
	{ "other", &bench_other, BENCH_SIZED },
#endif
};

#define NR_VARIANTS	(sizeof(variants) / sizeof(*variants))

/* Both rings call this instead of memcpy(): the kernel's, for processors with FSRM. */
void *__memcpy(void *dst, const void *src, size_t len);

void *bench_memcpy(void *dst, const void *src, size_t len)
{
	return __memcpy(dst, src, len);
}

static double ns_per_tick;

static uint64_t ticks(void)
{
	unsigned int cpu;
	uint64_t now;

	_mm_lfence();
	now = __rdtscp(&cpu);
	_mm_lfence();
	return now;
}

static void calibrate(void)
{
	double ns = now_ns();
	uint64_t start = ticks();

	while (now_ns() - ns < 5e7)
		;
	ns = now_ns() - ns;
	ns_per_tick = ns / (ticks() - start);
}

/* All pages are the zero page: the data caches keep their content. */
static void fill_tlb(void)
{
	static volatile unsigned char *pages;
	size_t size = TLB_PAGES * 4096ul;

	if (!pages) {
		pages = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		madvise((void *)pages, size, MADV_NOHUGEPAGE);
	}
	for (size_t i = 0; i < size; i += 4096)
		(void)pages[i];
}

static volatile unsigned long steps;

/* A repeated string instruction traps after each iteration. */
static void count_step(int sig, siginfo_t *info, void *context)
{
	static greg_t last;
	greg_t rip = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	steps += rip != last;
	last = rip;
}

#define trap_each_instruction(on)						\
	asm volatile("pushf; andl $~0x100, (%%rsp); orl %0, (%%rsp); popf"	\
		     : : "i" ((on) ? 0x100 : 0) : "memory", "cc")

static double count_instructions(const struct bench_impl *impl, enum bench_mode mode,
				 unsigned int bytes)
{
	unsigned int nr = 8192 / bytes;
	unsigned long none;

	steps = 0;
	trap_each_instruction(true);
	trap_each_instruction(false);
	none = steps;
	steps = 0;
	trap_each_instruction(true);
	impl->write(mode, bytes, nr);
	trap_each_instruction(false);
	return (double)(steps - none) / nr;
}

static double time_warm(const struct bench_impl *impl, enum bench_mode mode, unsigned int bytes,
			unsigned int nr)
{
	uint64_t start = ticks();

	impl->write(mode, bytes, nr);
	return (ticks() - start) * ns_per_tick / nr;
}

static double time_cold(const struct bench_impl *impl, enum bench_mode mode, unsigned int bytes)
{
	uint64_t start, empty;

	fill_tlb();
	start = ticks();
	empty = ticks() - start;
	start = ticks();
	impl->write(mode, bytes, 1);
	return (ticks() - start - empty) * ns_per_tick;
}

/* The time stamp counter advances in steps of some ns: a median would be one of them. */
static double mean_of_middle(const double *sorted, unsigned int nr)
{
	double sum = 0;

	for (unsigned int i = nr / 4; i < nr * 3 / 4; i++)
		sum += sorted[i];
	return sum / (nr * 3 / 4 - nr / 4);
}

static void print_times(const char *state, unsigned int pages, unsigned int bytes,
			double (*times)[COLD_ROUNDS], unsigned int rounds)
{
	double means[NR_VARIANTS];

	printf("%-5s %6u %5u ", state, pages * 4, bytes);
	for (unsigned int i = 0; i < NR_VARIANTS; i++) {
		struct spread spread = spread_of(times[i], rounds);

		means[i] = mean_of_middle(times[i], rounds);
		printf(" %7.1f (%6.1f-%6.1f)", means[i], spread.low, spread.high);
	}
	for (unsigned int i = 1; i < NR_VARIANTS; i++)
		printf(" %5.2f", means[0] / means[i]);
	printf("\n");
}

static void bench(unsigned int pages, unsigned int bytes, bool overwrite)
{
	static double times[NR_VARIANTS][COLD_ROUNDS];
	unsigned int nr = pages * 4096 / bytes < WARM_RECORDS ? pages * 4096 / bytes : WARM_RECORDS;
	enum bench_mode modes[NR_VARIANTS];

	for (unsigned int i = 0; i < NR_VARIANTS; i++) {
		modes[i] = overwrite ? variants[i].overwrite_mode : BENCH_FORWARD;
		variants[i].impl->open(modes[i], pages);
		/* Touch all pages of the ring. */
		variants[i].impl->write(modes[i], bytes, pages * 4096 / bytes + 1);
	}
	for (int round = 0; round < WARM_ROUNDS; round++)
		for (unsigned int i = 0; i < NR_VARIANTS; i++) {
			unsigned int v = (i + round) % NR_VARIANTS;

			times[v][round] = time_warm(variants[v].impl, modes[v], bytes, nr);
		}
	print_times("warm", pages, bytes, times, WARM_ROUNDS);
	for (int round = 0; round < COLD_ROUNDS; round++)
		for (unsigned int i = 0; i < NR_VARIANTS; i++) {
			unsigned int v = (i + round) % NR_VARIANTS;

			times[v][round] = time_cold(variants[v].impl, modes[v], bytes);
		}
	print_times("cold", pages, bytes, times, COLD_ROUNDS);

	printf("insns %6u %5u ", pages * 4, bytes);
	for (unsigned int i = 0; i < NR_VARIANTS; i++) {
		printf(" %7.1f                ",
		       count_instructions(variants[i].impl, modes[i], bytes));
		variants[i].impl->close(modes[i]);
	}
	printf("\n");
	fflush(stdout);
	shim_run_work();
}

int main(int argc, char **argv)
{
	static const unsigned int sizes[] = { 16, 40, 72, 136, 264, 1032, 4096 };
	static const unsigned int pages[] = { 16, 4096 };
	struct sigaction action = { .sa_sigaction = count_step, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &action, NULL);
	pin_to_current_cpu();
	calibrate();
	printf("# direct mapping: %u of 256 MB in huge pages\n", shim_use_huge_pages());
	shim.in_order = argc < 2 || strcmp(argv[1], "scattered");
	for (int overwrite = 0; overwrite < 2; overwrite++) {
		printf("# %s\n# state   KB bytes ", overwrite ?
		       "overwrite: upstream's write_backward, ours with trailers" : "forward");
		for (unsigned int i = 0; i < NR_VARIANTS; i++)
			printf(" %-24s", variants[i].name);
		printf(" ratios\n");
		for (size_t p = 0; p < sizeof(pages) / sizeof(*pages); p++)
			for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
				bench(pages[p], sizes[i], overwrite);
	}
	return 0;
}
