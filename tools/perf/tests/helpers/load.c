// SPDX-License-Identifier: GPL-2.0-only
/*
 * Do a fixed amount of work and print how long it took, to measure the overhead of a recorder.
 *
 * usage: load calls|compute THREADS AMOUNT
 *        load mixed THREADS AMOUNT MULTIPLY
 *
 * Each of THREADS threads, including the main one, makes AMOUNT system calls or multiplies two
 * small matrices AMOUNT times; "mixed" multiplies MULTIPLY times before each call. The work is done
 * at the end of a chain of calls whose frames are larger than the stack dump of a sample. It begins
 * when a byte or EOF arrives on standard input; all threads exist by then.
 *
 * Print the seconds from the beginning until the last thread is done.
 */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEPTH	64		/* nested calls */
#define FRAME	256		/* minimum size of their frames [bytes] */
#define ORDER	16		/* rows and columns of the matrices */

static pthread_barrier_t begin;
static unsigned long amount, per_call;
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
	/* Keep the compiler from dropping or hoisting the product. */
	asm volatile("" : : "r"(product) : "memory");
}

static void multiply_and_call(void)
{
	unsigned long i;

	for (i = 0; i < per_call; i++)
		multiply();
	call();
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
	/* Use the frame after the call: this must not be a tail call. */
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
	else if (argc == 5 && !strcmp(argv[1], "mixed"))
		step = multiply_and_call;
	else
		errx(2,
		     "usage: load calls|compute THREADS AMOUNT, or load mixed THREADS AMOUNT MULTIPLY");
	threads = number(argv[2]);
	amount = number(argv[3]);
	if (step == multiply_and_call)
		per_call = number(argv[4]);
	ids = calloc(threads, sizeof(*ids));
	if (!ids)
		err(1, "calloc");

	pthread_barrier_init(&begin, NULL, threads);
	for (i = 1; i < threads; i++) {
		if (pthread_create(&ids[i], NULL, run, NULL))
			errx(1, "Cannot start thread %lu", i);
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
