// SPDX-License-Identifier: GPL-2.0-only
/*
 * Computes what does not depend on who looks on, in all the ways in which a task can get lost.
 *
 * flags: -pthread
 *
 * Round by round, until there is something to read, a few threads compute by recursion and indirect
 * calls, move from CPU to CPU, and fork children that compute, too. Every 3 ms a signal interrupts one
 * of the threads, and each child. Each round prints the same line, traced or not.
 *
 * Exits with 1 if the trap flag can be seen: by pushf, in r11 behind a syscall, by a signal handler.
 */
#include <err.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

#define THREADS		4
#define TURNS		6
#define DEPTH		7
#define HANDLER_DEPTH	1
#define TRAP_FLAG	0x100

static void must_be_hidden(unsigned long flags, const char *where)
{
	if (!(flags & TRAP_FLAG))
		return;
	dprintf(2, "stress: the trap flag is in %s\n", where);
	_exit(1);
}

static uint64_t add(uint64_t x)
{
	must_be_hidden(__readeflags(), "the flags");
	return x + 0x9e3779b97f4a7c15;
}

static uint64_t multiply(uint64_t x)
{
	return (x ^ x >> 31) * 0xbf58476d1ce4e5b9;
}

static uint64_t call(uint64_t x)
{
	register unsigned long r11 asm("r11");
	long result = SYS_getuid;

	asm volatile("syscall" : "+a" (result), "=r" (r11) : : "rcx", "memory");
	must_be_hidden(r11, "r11");
	return x + 1;
}

static uint64_t (*const operations[])(uint64_t) = { add, multiply, add, multiply, multiply, call, add };

static uint64_t compute(uint64_t x, int depth)
{
	x = operations[x % 7](x);
	if (!depth)
		return x;
	return compute(x, depth - 1) ^ compute(x + depth, depth - 1);
}

/* The next one comes 3 ms after the last was done with: however slow this is, it gets on. */
static void arm(void)
{
	static const struct itimerval soon = { .it_value.tv_usec = 3000 };

	if (setitimer(ITIMER_REAL, &soon, NULL))
		_exit(1);
}

static sigset_t alarm_only;
static uint64_t by_handler;	/* what it is to compute */

static void handle(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;

	(void)info;
	must_be_hidden(interrupted->uc_mcontext.gregs[REG_EFL], "the frame of a signal");
	if (compute(sig, HANDLER_DEPTH) != by_handler) {
		dprintf(2, "stress: a signal handler computed something else\n");
		_exit(1);
	}
	arm();
}

static void move_to(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % sysconf(_SC_NPROCESSORS_ONLN), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "sched_setaffinity");
}

static uint64_t compute_in_child(uint64_t x, volatile uint64_t *shared)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		arm();
		*shared = compute(x, DEPTH);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		err(1, "fork");
	if (status)
		errx(1, "a child ended with status %#x", status);
	return *shared;
}

/* @arg is shared with its children: what to begin with, what they computed, and what came of it. */
static void *turns(void *arg)
{
	volatile uint64_t *shared = arg;
	uint64_t x = *shared;
	int i;

	pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
	for (i = 0; i < TURNS; i++) {
		move_to(x + i);
		x = i % 3 == 1 ? compute_in_child(x, shared) : compute(x, DEPTH);
	}
	*shared = x;
	return NULL;
}

static uint64_t computed_by_threads(uint64_t *results)
{
	pthread_t threads[THREADS];
	uint64_t sum = 0;
	int i;

	for (i = 0; i < THREADS; i++) {
		results[i] = i;
		if (pthread_create(&threads[i], NULL, turns, &results[i]))
			errx(1, "pthread_create");
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum = compute(sum ^ results[i], 1);
	}
	return sum;
}

/* The end of the input counts. */
static bool told_to_end(void)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };

	return poll(&input, 1, 0) != 0;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART };
	uint64_t *results;

	results = mmap(NULL, THREADS * sizeof(*results), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (results == MAP_FAILED)
		err(1, "mmap");
	/* The threads are to be interrupted, in turn: the main thread would always be preferred. */
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
	by_handler = compute(SIGALRM, HANDLER_DEPTH);
	sigaction(SIGALRM, &action, NULL);
	arm();
	do {
		printf("%016lx\n", computed_by_threads(results));
		fflush(stdout);
	} while (!told_to_end());
	return 0;
}
