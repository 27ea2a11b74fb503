// SPDX-License-Identifier: GPL-2.0-only
/*
 * Make delays of known length, and tell them by a clock of its own: the truth for tests of
 * --switch-output-when.
 *
 * usage: delays KIND MS...
 *
 * KIND is syscall, off-cpu, on-cpu, sched-delay, recursive, request, or calls. The latter makes so many
 * calls of getppid() instead, and prints nothing. One delay of each length is made, in this order. For
 * each, a line is printed:
 *
 *	TID LOWER UPPER BEGIN END	[ns of CLOCK_MONOTONIC]
 *
 * The delay of thread TID is between LOWER and UPPER long, and lies between BEGIN and END. The thread
 * that has the delays of sched-delay is called as the program, with a "w" at the end. All run with a
 * real-time priority, if permitted: so the load of the machine makes no delays of its own.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/sdt.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS	1000000ull

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static void sleep_ms(unsigned long ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * NS_PER_MS };

	nanosleep(&time, NULL);
}

static void spin_ms(unsigned long ms)
{
	uint64_t end = now() + ms * NS_PER_MS;

	while (now() < end)
		;
}

static void print(long tid, uint64_t lower, uint64_t upper, uint64_t begin, uint64_t end)
{
	printf("%ld %llu %llu %llu %llu\n", tid, (unsigned long long)lower, (unsigned long long)upper,
	       (unsigned long long)begin, (unsigned long long)end);
}

/* A system call, in which the thread is off the CPU. It is as long as asked for, or longer. */
static void make_sleep(unsigned long ms)
{
	uint64_t begin = now(), end;

	sleep_ms(ms);
	end = now();
	print(gettid(), ms * NS_PER_MS, end - begin, begin, end);
}

static void set_priority(int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		perror("delays: sched_setscheduler");
}

static long nr_preempted(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nivcsw;
}

/*
 * Both sleeps before and after are switches: the thread runs at least from one to the other, unless a
 * task of higher priority takes its CPU.
 */
static void make_spin(unsigned long ms)
{
	uint64_t before = now(), begin, end;
	long preempted;

	sleep_ms(1);
	begin = now();
	preempted = nr_preempted();
	spin_ms(ms);
	end = now();
	preempted = nr_preempted() - preempted;
	sleep_ms(1);
	print(gettid(), preempted ? 0 : end - begin, now() - before - NS_PER_MS, before, now());
}

/*
 * A thread of higher priority wakes another one on the same CPU, and keeps the CPU.
 */

static int wake_fd, done_fd;
static volatile uint64_t ran;
static volatile long waiter;

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *wait_for_cpu(void *arg)
{
	uint64_t value;
	char name[16];

	snprintf(name, sizeof(name), "%.14sw", (const char *)arg);
	pthread_setname_np(pthread_self(), name);
	pin();
	set_priority(2);
	waiter = gettid();
	while (read(wake_fd, &value, sizeof(value)) == sizeof(value) && value < 1000) {
		ran = now();
		value = 1;
		if (write(done_fd, &value, sizeof(value)) < 0)
			break;
	}
	return NULL;
}

static void make_delay(unsigned long ms)
{
	uint64_t begin, woken, end, value = 1;

	sleep_ms(2);			/* the other thread waits for wake_fd now */
	begin = now();
	if (write(wake_fd, &value, sizeof(value)) < 0)
		return;
	woken = now();
	spin_ms(ms);
	end = now();
	if (read(done_fd, &value, sizeof(value)) < 0)
		return;
	print(waiter, end - woken, ran - begin, begin, now());
}

static void make_delays(char *name, char **lengths)
{
	uint64_t value = 1000;
	pthread_t thread;

	wake_fd = eventfd(0, 0);
	done_fd = eventfd(0, 0);
	pin();
	set_priority(3);
	if (pthread_create(&thread, NULL, wait_for_cpu, name))
		exit(2);
	while (!waiter)
		sleep_ms(1);
	for (; *lengths; lengths++)
		make_delay(strtoul(*lengths, NULL, 10));
	if (write(wake_fd, &value, sizeof(value)) == sizeof(value))
		pthread_join(thread, NULL);
}

/*
 * A function that calls itself: only the outermost call is as long as the delay.
 */

void __attribute__((noinline)) delayed(unsigned long ms, int depth)
{
	if (depth)
		delayed(ms, depth - 1);
	else
		sleep_ms(ms);
	asm volatile("" ::: "memory");		/* no tail call */
}

static void make_call(unsigned long ms)
{
	uint64_t begin = now(), end;

	delayed(ms, 3);
	end = now();
	print(gettid(), ms * NS_PER_MS, end - begin, begin, end);
}

/*
 * A request from one static probe (USDT) to another one. The thread changes the CPU meanwhile, if there
 * are two.
 */
static void use_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);	/* fails if there is no such CPU */
}

static void __attribute__((noinline)) make_request(unsigned long ms)
{
	uint64_t begin, end;

	use_cpu(0);
	begin = now();
	DTRACE_PROBE(delays, begin);
	use_cpu(1);
	sleep_ms(ms);
	DTRACE_PROBE(delays, end);
	end = now();
	print(gettid(), ms * NS_PER_MS, end - begin, begin, end);
}

int main(int argc, char **argv)
{
	void (*make)(unsigned long ms) = NULL;
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2 && !strcmp(argv[1], "sched-delay")) {
		make_delays(basename(argv[0]), argv + 2);
		return 0;
	}
	if (argc > 2 && !strcmp(argv[1], "calls")) {
		for (i = strtol(argv[2], NULL, 10); i; i--)
			syscall(SYS_getppid);
		return 0;
	}
	if (argc > 2 && (!strcmp(argv[1], "syscall") || !strcmp(argv[1], "off-cpu")))
		make = make_sleep;
	else if (argc > 2 && !strcmp(argv[1], "on-cpu"))
		make = make_spin;
	else if (argc > 2 && !strcmp(argv[1], "recursive"))
		make = make_call;
	else if (argc > 2 && !strcmp(argv[1], "request"))
		make = make_request;
	if (!make) {
		fprintf(stderr, "usage: delays syscall|off-cpu|on-cpu|sched-delay|recursive|request|calls MS...\n");
		return 2;
	}
	if (make == make_spin)
		pin();
	set_priority(3);
	for (i = 2; i < argc; i++)
		make(strtoul(argv[i], NULL, 10));
	return 0;
}
