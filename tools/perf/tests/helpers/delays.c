// SPDX-License-Identifier: GPL-2.0-only
/*
 * Make delays of known length, and tell them by a clock of its own: the truth for tests of
 * --switch-output-when.
 *
 * usage: delays KIND MS...
 *
 * KIND is syscall, off-cpu, on-cpu, sched-delay, recursive, request, or one of these:
 *
 *	moving			as syscall, while another thread changes the CPU
 *	moved			as sched-delay, but the wait ends because the thread is moved to CPU
 *				1
 *	killed			a child sleeps, and is killed; it remains a zombie for as long
 *	zombie			a child exits, and remains a zombie for so long: its call is short
 *	thread-exec KIND	a thread executes this program again, with KIND
 *	call-32			as syscall, by a call as 32-bit programs make it; x86 only
 *	stepped			as syscall, while another thread sets the time of day forth and back
 *
 * or one of these, which print nothing:
 *
 *	calls N [RATE]		make N calls of getppid(), RATE in a second
 *	yields N [RATE]		let another thread run N times
 *	ends N			call getpgid(), which begins a duration, N times, while two threads
 *				call getsid() with the same argument all the time
 *	packets N [RATE]	send N packets to itself, each of which takes a softirq
 *	forks N			create N children
 *
 * One delay of each length is made, in this order. For each, a line is printed:
 *
 *	TID LOWER UPPER BEGIN END	[ns of CLOCK_MONOTONIC]
 *
 * The delay of thread TID is between LOWER and UPPER long, and lies between BEGIN and END. The
 * thread that has the delays of sched-delay is called as the program, with a "w" at the end, and so
 * is the one of calls, yields, ends and packets while it makes them. All run with a real-time
 * priority, if permitted, but those of calls, yields and packets: so the load of the machine makes
 * no delays of its own.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sdt.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
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
	printf("%ld %llu %llu %llu %llu\n", tid, (unsigned long long)lower,
	       (unsigned long long)upper, (unsigned long long)begin, (unsigned long long)end);
}

/* A system call, in which the thread is off the CPU. It is as long as asked for, or longer. */
static void make_sleep(unsigned long ms)
{
	uint64_t begin = now(), end;

	sleep_ms(ms);
	end = now();
	print(gettid(), ms * NS_PER_MS, end - begin, begin, end);
}

/* nanosleep() as a 32-bit program calls it: number 162, with a structure below 4 GB */
static void make_call_32(unsigned long ms)
{
#ifdef __x86_64__
	static int32_t *time;
	uint64_t begin, end;
	long ret = 162;

	if (!time)
		time = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	time[0] = ms / 1000;
	time[1] = ms % 1000 * NS_PER_MS;
	begin = now();
	asm volatile("int $0x80" : "+a"(ret) : "b"(time), "c"(0)
		     : "memory", "r8", "r9", "r10", "r11");
	end = now();
	if (ret)
		exit(3);
	print(gettid(), ms * NS_PER_MS, end - begin, begin, end);
#else
	exit(3);
#endif
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
 * Both sleeps before and after are switches: the thread runs at least from one to the other, unless
 * a task of higher priority takes its CPU.
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

static int wake_fd, done_fd, next_cpu = -1;
static volatile uint64_t ran;
static volatile long waiter;

/* Fails if there is no such CPU. */
static int move(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(tid, sizeof(set), &set);
}

static void pin(void)
{
	move(0, 0);
}

/* Name this thread as the program, or with a "w" at the end. */
static void set_name(const char *name, const char *suffix)
{
	char comm[16];

	snprintf(comm, sizeof(comm), "%.14s%s", name, suffix);
	pthread_setname_np(pthread_self(), comm);
}

static void *wait_for_cpu(void *arg)
{
	uint64_t value;

	set_name(arg, "w");
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
	if (next_cpu >= 0)
		move(waiter, next_cpu);
	if (read(done_fd, &value, sizeof(value)) < 0)
		return;
	print(waiter, end - woken, ran - begin, begin, now());
	if (next_cpu >= 0)
		move(waiter, 0);
}

static void make_delays(const char *name, char **lengths)
{
	uint64_t value = 1000;
	pthread_t thread;

	wake_fd = eventfd(0, 0);
	done_fd = eventfd(0, 0);
	pin();
	set_priority(3);
	if (pthread_create(&thread, NULL, wait_for_cpu, (void *)name))
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
 * A request from one static probe (USDT) to another one. The thread changes the CPU meanwhile, if
 * there are two.
 */
static void __attribute__((noinline)) make_request(unsigned long ms)
{
	uint64_t begin, end;

	move(0, 0);
	begin = now();
	DTRACE_PROBE(delays, begin);
	move(0, 1);
	sleep_ms(ms);
	DTRACE_PROBE(delays, end);
	end = now();
	print(gettid(), ms * NS_PER_MS, end - begin, begin, end);
}

/*
 * Another thread changes the CPU of this one, some 1,000 times a second.
 */
static void *keep_moving(void *tid)
{
	int cpu = 0;

	for (;;) {
		move(*(pid_t *)tid, cpu);
		cpu = !cpu;
		sleep_ms(1);
	}
	return NULL;
}

static void begin_thread(void *(*function)(void *arg), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, arg))
		exit(2);
}

/*
 * Children that die in a call
 */

/* Has the child begun to sleep? */
static int sleeps(pid_t pid)
{
	char path[32], state = 'R';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return 1;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 'R';
	fclose(file);
	return state == 'S';
}

static void make_child(unsigned long ms, int is_killed)
{
	static volatile uint64_t *begin;
	uint64_t created = now(), slept, killed, end;
	siginfo_t info;
	pid_t pid;

	if (!begin)
		begin = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (!pid) {
		*begin = now();
		if (is_killed)
			sleep_ms(60000);
		_exit(0);
	}
	while (is_killed && !sleeps(pid))
		;
	slept = now();
	if (is_killed)
		sleep_ms(ms);
	killed = now();
	if (is_killed)
		kill(pid, SIGKILL);
	waitid(P_PID, pid, &info, WEXITED | WNOWAIT);
	end = now();
	sleep_ms(ms);				/* it is a zombie */
	print(pid, is_killed ? killed - slept : 0, end - *begin, created, now());
	waitpid(pid, NULL, 0);
}

static void make_killed(unsigned long ms)
{
	make_child(ms, 1);
}

static void make_zombie(unsigned long ms)
{
	make_child(ms, 0);
}

static void *execute(void *argv)
{
	execv(*(char **)argv, argv);
	return NULL;
}

/* The thread takes over the id of this process. */
static int execute_in_thread(char *name, char **argv)
{
	pthread_t thread;

	argv[0] = name;
	if (!pthread_create(&thread, NULL, execute, argv))
		pthread_join(thread, NULL);
	return 2;
}

/*
 * Another thread sets the time of day, which does not change how long a call takes.
 */

static void step(long seconds)
{
	struct timex timex = { .modes = ADJ_SETOFFSET, .time = { .tv_sec = seconds } };

	if (clock_adjtime(CLOCK_REALTIME, &timex) < 0) {
		perror("delays: clock_adjtime");
		exit(3);
	}
}

static void *keep_stepping(void *arg)
{
	for (;;) {
		step(1);
		step(-1);
		sleep_ms(1);
	}
	return arg;
}

/*
 * Many
 */

void __attribute__((noinline)) get_parent(void)
{
	syscall(SYS_getppid);
}

static void yield_cpu(void)
{
	sched_yield();
}

static void *keep_yielding(void *arg)
{
	pin();
	for (;;)
		yield_cpu();
	return arg;
}

static void begin_one(void)
{
	syscall(SYS_getpgid, 1);
	usleep(20);
}

static void *keep_ending(void *arg)
{
	for (;;)
		syscall(SYS_getsid, 1);
	return arg;
}

static int receiver, sender;

static void connect_to_itself(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);

	receiver = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (receiver < 0 || sender < 0 || bind(receiver, (struct sockaddr *)&address, size) < 0 ||
	    getsockname(receiver, (struct sockaddr *)&address, &size) < 0 ||
	    connect(sender, (struct sockaddr *)&address, size) < 0) {
		perror("delays: a socket of its own");
		exit(3);
	}
}

static void send_packet(void)
{
	char byte = 0;

	if (send(sender, &byte, 1, 0) < 0 || recv(receiver, &byte, 1, 0) < 0) {
		perror("delays: a packet");
		exit(3);
	}
}

/* @rate: in a second; 0: as many as possible */
static void make_many(const char *name, void (*make)(void), long nr, long rate)
{
	uint64_t begin = now();
	long i;

	set_name(name, "w");
	for (i = 0; i < nr; i++) {
		make();
		while (rate && now() - begin < i * 1000000000ull / rate)
			;
	}
	set_name(name, "");
}

static void __attribute__((noinline)) make_fork(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *kind;
		void (*make)(unsigned long ms);
	} kinds[] = {
		{ "syscall",	make_sleep },
		{ "off-cpu",	make_sleep },
		{ "moving",	make_sleep },
		{ "stepped",	make_sleep },
		{ "on-cpu",	make_spin },
		{ "recursive",	make_call },
		{ "request",	make_request },
		{ "killed",	make_killed },
		{ "zombie",	make_zombie },
		{ "call-32",	make_call_32 },
	};
	const char *kind = argc > 2 ? argv[1] : "", *name = basename(argv[0]);
	long nr = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	long rate = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
	void (*make)(unsigned long ms) = NULL;
	pid_t tid = gettid();
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(kind, kinds[i].kind))
			make = kinds[i].make;
	}
	if (!strcmp(kind, "moved"))
		next_cpu = 1;
	if (!strcmp(kind, "sched-delay") || !strcmp(kind, "moved")) {
		make_delays(name, argv + 2);
	} else if (!strcmp(kind, "calls")) {
		make_many(name, get_parent, nr, rate);
	} else if (!strcmp(kind, "yields")) {
		begin_thread(keep_yielding, NULL);
		pin();
		make_many(name, yield_cpu, nr, rate);
	} else if (!strcmp(kind, "ends")) {
		begin_thread(keep_ending, NULL);
		begin_thread(keep_ending, NULL);
		set_priority(3);
		make_many(name, begin_one, nr, 0);
	} else if (!strcmp(kind, "packets")) {
		connect_to_itself();
		make_many(name, send_packet, nr, rate);
	} else if (!strcmp(kind, "forks")) {
		for (; nr; nr--)
			make_fork();
	} else if (!strcmp(kind, "thread-exec")) {
		return execute_in_thread(argv[0], argv + 1);
	} else if (make) {
		if (make == make_spin)
			pin();
		set_priority(3);
		if (!strcmp(kind, "moving"))
			begin_thread(keep_moving, &tid);
		if (!strcmp(kind, "stepped"))
			begin_thread(keep_stepping, NULL);
		for (argv += 2; *argv; argv++)
			make(strtoul(*argv, NULL, 10));
	} else {
		fprintf(stderr, "usage: delays KIND MS...\n");
		return 2;
	}
	return 0;
}
