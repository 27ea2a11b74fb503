// SPDX-License-Identifier: GPL-2.0-only
/*
 * Take known branches, for tests of branch traces.
 *
 * usage: branches [THREADS]
 *
 * Each line of the input is a number of requests to serve, or "broken", a request that cannot be
 * served. A line of output acknowledges each when it is done. Nothing is executed in user space
 * between two lines: everything traced before belongs before checkpoint(), and is the same for the
 * same input.
 *
 * With THREADS, each of so many threads serves all of the requests.
 *
 * Linked statically: the dynamic linker would execute most of the instructions, each of which the
 * guest emulates and traces step by step.
 * flags: -static
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS	16

#define noinline	__attribute__((noinline, noclone))

struct work {
	unsigned long	requests;
	unsigned int	sum;
};

static noinline unsigned int walk(unsigned int node)
{
	if (node < 2)
		return node + 1;
	return walk(node / 2) + (node & 1);
}

static noinline unsigned int add(unsigned int a, unsigned int b)
{
	return a + b;
}

static noinline unsigned int mix(unsigned int a, unsigned int b)
{
	return a ^ (b << 7) ^ (b >> 3);
}

static noinline unsigned int parse(unsigned int request)
{
	unsigned int digits = 0;

	do {
		digits++;
		request /= 10;
	} while (request);
	return digits;
}

static noinline unsigned int serve(unsigned int request)
{
	static unsigned int (*volatile const how[])(unsigned int, unsigned int) = { add, mix, add };
	unsigned int kind = parse(request) + walk(request);

	return how[request % 3](kind, request);
}

/* Volatile: the compiler must not drop the calls of checkpoint(). */
static volatile unsigned int checkpoints;

static noinline void checkpoint(void)
{
	checkpoints++;
}

static noinline void complain(const char *line)
{
	printf("cannot serve: %s", line);
	fflush(stdout);
}

static void *serve_all(void *arg)
{
	struct work *work = arg;
	unsigned long i;

	for (i = 0; i < work->requests; i++)
		work->sum = work->sum * 31 + serve(i);
	return NULL;
}

static void serve_in_threads(struct work *work, int nr)
{
	pthread_t threads[MAX_THREADS];
	int i;

	for (i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, serve_all, &work[i]))
			exit(1);
	for (i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 0, i;
	struct work work[MAX_THREADS] = { { 0 } };
	char line[80];

	if (nr < 0 || nr > MAX_THREADS)
		return 2;
	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, "broken", 6)) {
			complain(line);
			continue;
		}
		for (i = 0; i < MAX_THREADS; i++)
			work[i].requests = strtoul(line, NULL, 10);
		if (nr)
			serve_in_threads(work, nr);
		else
			serve_all(work);
		checkpoint();
		printf("served %lu, sum %u\n", work->requests, work->sum);
		fflush(stdout);
	}
	return 0;
}
