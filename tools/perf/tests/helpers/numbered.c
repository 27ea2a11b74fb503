// SPDX-License-Identifier: GPL-2.0-only
/*
 * Issue system calls that carry a number, so that each missing or repeated record can be found.
 *
 * Each thread calls getppid(2) with six arguments, which the kernel ignores but
 * raw_syscalls:sys_enter records: the number of the call (1, 2, 3 ...), the tag of the thread, and
 * a magic number. A reader of the trace (numbered_check) finds every missing and every repeated
 * event without trusting any count of the recorder.
 *
 * The threads take the time from clock_gettime() in the vdso and never sleep. The numbered calls
 * are their only system calls, and the CPUs stay busy, which is the harder case for a recorder.
 * With --idle they sleep between bursts, for tests of which the load is no part.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "numbered.h"

#define NSEC_PER_SEC	1000000000ull
/*
 * A thread that is later than this was preempted: shift its schedule, do not catch up with a burst.
 */
#define MAX_BEHIND_NS	(10 * 1000 * 1000ull)

struct worker {
	pthread_t	thread;
	unsigned long	tag;
	int		cpu;		/* -1: anywhere */
	pid_t		tid;
	unsigned long	last;		/* last number issued */
};

static struct {
	unsigned long	threads;
	unsigned long	rate;		/* calls a second, all threads together; 0: unpaced */
	unsigned long	count;		/* calls by each thread; 0: no limit */
	double		seconds;	/* 0: no limit */
	unsigned long	burst;
	unsigned long	tag;		/* of the first thread */
	int		unpinned;
	int		noise;
	int		idle;
} opt = {
	.rate	 = 100000,
	.burst	 = 8,
	.tag	 = 1,
};

static pthread_barrier_t start_line;
static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* Fill 4 kB of stack with data that hardly compresses. */
static void make_noise(volatile uint64_t noise[512], unsigned long seed)
{
	static __thread uint64_t x;

	x = x ?: 88172645463325252ull + seed;
	for (int i = 0; i < 512; i++) {		/* xorshift64 (Marsaglia) */
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		noise[i] = x;
	}
}

/* Wait until @due; return the time. */
static uint64_t wait_until(uint64_t due, uint64_t end)
{
	uint64_t now = now_ns();

	if (opt.idle && now < due) {
		struct timespec ts = { due / NSEC_PER_SEC, due % NSEC_PER_SEC };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		return now_ns();
	}
	while (now < due && now < end && !stop)
		now = now_ns();
	return now;
}

static void *work(void *arg)
{
	volatile uint64_t noise[512];
	struct worker *w = arg;
	uint64_t interval = 0, start, now, due, end;
	unsigned long n = 0;

	w->tid = syscall(SYS_gettid);
	if (opt.rate)
		interval = NSEC_PER_SEC * opt.burst * opt.threads / opt.rate;

	pthread_barrier_wait(&start_line);

	start = now_ns();
	now = start;
	due = start;
	end = opt.seconds ? start + (uint64_t)(opt.seconds * NSEC_PER_SEC) : UINT64_MAX;

	while (!stop && now < end && (!opt.count || n < opt.count)) {
		for (unsigned long i = 0; i < opt.burst && (!opt.count || n < opt.count); i++) {
			if (opt.noise)
				make_noise(noise, w->tag);
			syscall(SYS_getppid, ++n, w->tag, NUMBERED_MAGIC, 0, 0, 0);
		}

		due += interval;
		now = now_ns();
		if (now > due + MAX_BEHIND_NS)
			due = now;
		now = wait_until(due, end);
	}
	w->last = n;
	return NULL;
}

static void usage(FILE *out)
{
	fprintf(out,
		"usage: numbered [options]\n"
		"Issue numbered system calls, which numbered_check finds in a recording.\n\n"
		"  -t, --threads N    number of threads (default: one for each CPU in the affinity mask)\n"
		"  -r, --rate N       calls per second of all threads together (default 100000; 0: no limit)\n"
		"  -c, --count N      stop after N calls of each thread\n"
		"  -d, --duration S   stop after S seconds (default 1; with --count no limit)\n"
		"  -b, --burst N      calls between two readings of the clock (default 8)\n"
		"  -T, --tag N        tag of the first thread; the next have N + 1 ... (default 1)\n"
		"  -u, --unpinned     do not pin threads to CPUs\n"
		"  -i, --idle         sleep between bursts instead of reading the clock\n"
		"  -N, --noise        put 4 kB of random data on the stack at each call\n"
		"  -n, --print-nr     print the number of the system call, for a filter, and exit\n"
		"  -h, --help         print this text and exit\n\n"
		"At the end, or on SIGTERM or SIGINT, print for each thread:\n"
		"  thread TAG tid TID cpu CPU last NUMBER\n");
}

static unsigned long number(const char *what, const char *text, unsigned long min)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value < min) {
		fprintf(stderr, "numbered: --%s must be a number of at least %lu, not '%s'\n",
			what, min, text);
		exit(2);
	}
	return value;
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "threads",	required_argument, NULL, 't' },
		{ "rate",	required_argument, NULL, 'r' },
		{ "count",	required_argument, NULL, 'c' },
		{ "duration",	required_argument, NULL, 'd' },
		{ "burst",	required_argument, NULL, 'b' },
		{ "tag",	required_argument, NULL, 'T' },
		{ "unpinned",	no_argument,	   NULL, 'u' },
		{ "noise",	no_argument,	   NULL, 'N' },
		{ "idle",	no_argument,	   NULL, 'i' },
		{ "print-nr",	no_argument,	   NULL, 'n' },
		{ "help",	no_argument,	   NULL, 'h' },
		{ }
	};
	char *rest;
	int c;

	while ((c = getopt_long(argc, argv, "t:r:c:d:b:T:uNinh", options, NULL)) != -1) {
		switch (c) {
		case 't': opt.threads = number("threads", optarg, 1); break;
		case 'r': opt.rate = number("rate", optarg, 0); break;
		case 'c': opt.count = number("count", optarg, 1); break;
		case 'b': opt.burst = number("burst", optarg, 1); break;
		case 'T': opt.tag = number("tag", optarg, 0); break;
		case 'u': opt.unpinned = 1; break;
		case 'N': opt.noise = 1; break;
		case 'i': opt.idle = 1; break;
		case 'd':
			opt.seconds = strtod(optarg, &rest);
			if (rest == optarg || *rest || !(opt.seconds > 0 && opt.seconds < 1e6)) {
				fprintf(stderr, "numbered: --duration must be seconds, not '%s'\n",
					optarg);
				exit(2);
			}
			break;
		case 'n':
			printf("%ld\n", (long)SYS_getppid);
			exit(0);
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	}
	if (optind < argc) {
		usage(stderr);
		exit(2);
	}
	if (!opt.count && !opt.seconds)
		opt.seconds = 1;
}

static void start_worker(struct worker *w)
{
	pthread_attr_t attr;
	cpu_set_t cpu;
	int err;

	pthread_attr_init(&attr);
	if (w->cpu >= 0) {
		CPU_ZERO(&cpu);
		CPU_SET(w->cpu, &cpu);
		pthread_attr_setaffinity_np(&attr, sizeof(cpu), &cpu);
	}
	err = pthread_create(&w->thread, &attr, work, w);
	if (err) {
		fprintf(stderr, "numbered: Cannot start a thread on CPU %d: %s\n", w->cpu,
			strerror(err));
		exit(1);
	}
	pthread_attr_destroy(&attr);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct worker *workers;
	unsigned long total = 0;
	uint64_t start;
	double seconds;
	cpu_set_t allowed;
	int cpu = -1;

	parse(argc, argv);

	if (sched_getaffinity(0, sizeof(allowed), &allowed)) {
		perror("numbered: sched_getaffinity");
		return 1;
	}
	if (!opt.threads)
		opt.threads = CPU_COUNT(&allowed);

	workers = calloc(opt.threads, sizeof(*workers));
	if (!workers) {
		perror("numbered: calloc");
		return 1;
	}
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);

	pthread_barrier_init(&start_line, NULL, opt.threads + 1);
	for (unsigned long i = 0; i < opt.threads; i++) {
		do {
			cpu = (cpu + 1) % CPU_SETSIZE;
		} while (!CPU_ISSET(cpu, &allowed));
		workers[i].tag = opt.tag + i;
		workers[i].cpu = opt.unpinned ? -1 : cpu;
		start_worker(&workers[i]);
	}

	start = now_ns();
	pthread_barrier_wait(&start_line);
	for (unsigned long i = 0; i < opt.threads; i++)
		pthread_join(workers[i].thread, NULL);
	seconds = (now_ns() - start) / (double)NSEC_PER_SEC;

	for (unsigned long i = 0; i < opt.threads; i++) {
		printf("thread %lu tid %d cpu %d last %lu\n", workers[i].tag, workers[i].tid,
		       workers[i].cpu, workers[i].last);
		total += workers[i].last;
	}
	printf("total %lu in %.3f s: %.0f a second\n", total, seconds, total / seconds);
	free(workers);
	return 0;
}
