// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compute a result that does not depend on timing, interrupted by signals, migrations and forks.
 *
 * flags: -pthread
 *
 * In each round several threads compute by recursion and indirect calls, migrate between CPUs,
 * and fork children that compute as well. A timer signal interrupts one of the threads, and each
 * child, every 3 ms. Each round prints the same line, traced or not. The program ends after the
 * round in which its input becomes readable.
 *
 * Exits with 1 if the trap flag is visible: to pushf, in r11 after a syscall, in a signal handler.
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

static void check_trap_flag(unsigned long flags, const char *where)
{
	if (!(flags & TRAP_FLAG))
		return;
	dprintf(2, "stress: the trap flag is in %s\n", where);
	_exit(1);
}

static uint64_t add(uint64_t x)
{
	check_trap_flag(__readeflags(), "the flags");
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
	check_trap_flag(r11, "r11");
	return x + 1;
}

static uint64_t (*const operations[])(uint64_t) = {
	add, multiply, add, multiply, multiply, call, add,
};

static uint64_t compute(uint64_t x, int depth)
{
	x = operations[x % 7](x);
	if (!depth)
		return x;
	return compute(x, depth - 1) ^ compute(x + depth, depth - 1);
}

/* Start the timer after the previous signal was handled: a slow program still makes progress. */
static void start_timer(void)
{
	static const struct itimerval soon = { .it_value.tv_usec = 3000 };

	if (setitimer(ITIMER_REAL, &soon, NULL))
		_exit(1);
}

static sigset_t alarm_only;
static uint64_t handler_result;	/* expected */

static void handle(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;

	(void)info;
	check_trap_flag(interrupted->uc_mcontext.gregs[REG_EFL], "the frame of a signal");
	if (compute(sig, HANDLER_DEPTH) != handler_result) {
		dprintf(2, "stress: a signal handler computed a wrong result\n");
		_exit(1);
	}
	start_timer();
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
		start_timer();
		*shared = compute(x, DEPTH);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		err(1, "fork");
	if (status)
		errx(1, "a child ended with status %#x", status);
	return *shared;
}

/* @arg, in memory shared with the children: the initial value, their results, the final result. */
static void *run_turns(void *arg)
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

static uint64_t run_threads(uint64_t *results)
{
	pthread_t threads[THREADS];
	uint64_t sum = 0;
	int i;

	for (i = 0; i < THREADS; i++) {
		results[i] = i;
		if (pthread_create(&threads[i], NULL, run_turns, &results[i]))
			errx(1, "pthread_create");
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum = compute(sum ^ results[i], 1);
	}
	return sum;
}

/* The end of the input counts as input. */
static bool input_is_ready(void)
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
	/* Blocked here, or the kernel would always choose the main thread to interrupt. */
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
	handler_result = compute(SIGALRM, HANDLER_DEPTH);
	sigaction(SIGALRM, &action, NULL);
	start_timer();
	do {
		printf("%016lx\n", run_threads(results));
		fflush(stdout);
	} while (!input_is_ready());
	return 0;
}
