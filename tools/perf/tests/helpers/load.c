// SPDX-License-Identifier: GPL-2.0-only
/*
 * load - a fixed amount of work, so that the time it takes tells what a recorder costs it
 *
 * usage: load calls|compute THREADS AMOUNT
 *
 * THREADS threads, the main one among them, each make AMOUNT system calls, or multiply two small
 * matrices AMOUNT times, at the end of a chain of calls whose frames take more than a sample's
 * stack holds. All threads exist before the work begins, which is when something can be read from the
 * standard input, or its end is reached.
 *
 * Prints the seconds from there until the last thread is done.
 */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEPTH	64		/* calls in each other */
#define FRAME	256		/* bytes that each takes at least */
#define ORDER	16		/* of the matrices */

static pthread_barrier_t begin;
static unsigned long amount;
static void (*step)(void);

static void call(void)
{
	syscall(SYS_getppid);
}

static void multiply(void)
{
	static __thread float a[ORDER][ORDER], b[ORDER][ORDER], product[ORDER][ORDER];
	int i, j, k;

	for (i = 0; i < ORDER; i++) {
		for (j = 0; j < ORDER; j++) {
			for (k = 0; k < ORDER; k++)
				product[i][j] += a[i][k] * b[k][j];
		}
	}
	/* The compiler must neither leave it out nor do it once for all. */
	asm volatile("" : : "r"(product) : "memory");
}

static __attribute__((noinline)) void work(int depth)
{
	volatile char frame[FRAME];
	unsigned long i;

	frame[0] = depth;
	if (depth) {
		work(depth - 1);
	} else {
		for (i = 0; i < amount; i++)
			step();
	}
	/* Not a tail call: this frame is still needed. */
	(void)frame[0];
}

static void *run(void *arg)
{
	pthread_barrier_wait(&begin);
	work(DEPTH);
	return arg;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!value || *end)
		errx(2, "%s: not a positive number", text);
	return value;
}

int main(int argc, char **argv)
{
	unsigned long threads, i;
	pthread_t *ids;
	double start;
	char go;

	if (argc == 4 && !strcmp(argv[1], "calls"))
		step = call;
	else if (argc == 4 && !strcmp(argv[1], "compute"))
		step = multiply;
	else
		errx(2, "usage: load calls|compute THREADS AMOUNT");
	threads = number(argv[2]);
	amount = number(argv[3]);
	ids = calloc(threads, sizeof(*ids));
	if (!ids)
		err(1, "calloc");

	pthread_barrier_init(&begin, NULL, threads);
	for (i = 1; i < threads; i++) {
		if (pthread_create(&ids[i], NULL, run, NULL))
			errx(1, "cannot start thread %lu", i);
	}
	if (read(STDIN_FILENO, &go, 1) < 0)
		err(1, "standard input");

	start = seconds();
	run(NULL);
	for (i = 1; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf("%.6f\n", seconds() - start);
	free(ids);
	return 0;
}
