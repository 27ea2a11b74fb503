// SPDX-License-Identifier: GPL-2.0-only
/*
 * Change names, maps, threads and children all the time, and log what the trace must contain.
 *
 * flags: -pthread
 *
 * usage: churn DIRECTORY LOG FILE MAPS
 *		read numbers of rounds, one a line; after each print the number of visits so far
 *	  churn -p LOG FROM TO
 *		print what visits FROM to TO (exclusive) called: visit, tid, comm, symbol, file
 *
 * A visit is a call of code that is mapped for it (churn_part.S, built into DIRECTORY). In each
 * round:
 *  - the process changes its name;
 *  - threads and a child with names of their own start and exit. They map one of the files at an
 *    address where another file was mapped before, and unmap it;
 *  - the child executes another program, which is linked at the same address as the others;
 *  - other children are killed while they sleep, so that their trace ends where that of the next
 *    task begins;
 *  - FILE is mapped MAPS times at addresses that were never used, and unmapped;
 *  - every few rounds a library is loaded and unloaded.
 * Between the answer and the next line of input no instruction is executed.
 */
#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PARTS		8
#define THREADS		2
#define VICTIMS		4
#define NAMES		50
#define LOADS		8		/* rounds from one dlopen() to the next */
#define MAX_VISITS	(1UL << 23)

#define PART_SIZE	0x1000
#define TEXT_OFFSET	0x1000		/* file offset of the gate */
#define SLOTS		0x10000000UL	/* reused: one for each thread and the child */
#define FRESH		0x20000000000UL	/* each address is used once */
#define STEP		0x10000UL

struct visit {
	uint32_t tid;
	uint8_t	 part;
	bool	 program;
	char	 comm[16];
};

/* In memory shared with the children. */
static struct log {
	uint64_t     nr;
	struct visit visits[];
} *log_;

static int files[PARTS];
static char programs[PARTS][PATH_MAX], libraries[PARTS][PATH_MAX];
static unsigned int maps;
static int file;
static __thread char comm[16];

static void log_visit(const char *name, unsigned int part, bool program)
{
	uint64_t nr = __atomic_fetch_add(&log_->nr, 1, __ATOMIC_SEQ_CST);
	struct visit *visit = &log_->visits[nr];

	if (nr >= MAX_VISITS)
		_exit(3);
	visit->tid = syscall(SYS_gettid);
	visit->part = part;
	visit->program = program;
	strcpy(visit->comm, name);
}

/* Set the name of the thread. Without printf(), which would be most of the trace. */
static void set_comm(const char *name, unsigned int number)
{
	char *end = stpcpy(comm, name);

	*end++ = '0' + number / 10 % 10;
	*end++ = '0' + number % 10;
	*end = '\0';
	prctl(PR_SET_NAME, comm);
}

static void *map(unsigned long address, int fd)
{
	void *at = mmap((void *)address, PART_SIZE, PROT_READ | PROT_EXEC,
			MAP_PRIVATE | MAP_FIXED, fd, TEXT_OFFSET);

	if (at == MAP_FAILED)
		_exit(4);
	return at;
}

static void visit(unsigned long address, unsigned int part)
{
	void *at = map(address, files[part]);

	log_visit(comm, part, false);
	((void (*)(void))at)();
	munmap(at, PART_SIZE);
}

static void map_fresh(unsigned int round)
{
	static unsigned long address = FRESH;
	unsigned int i;

	for (i = 0; i < maps; i++, address += STEP)
		munmap(map(address, file), PART_SIZE);
	visit(address, (round + 1) % PARTS);
	address += STEP;
}

static void visit_library(unsigned int part)
{
	char gate[] = "?_gate";
	void *library, *at;

	gate[0] = 'a' + part;
	library = dlopen(libraries[part], RTLD_NOW);
	at = library ? dlsym(library, gate) : NULL;
	if (!at)
		errx(1, "%s", dlerror());
	log_visit(comm, part, false);
	((void (*)(void))at)();
	dlclose(library);
}

static pid_t start_child(unsigned int round)
{
	unsigned int part = round * 3 % PARTS;
	char *argv[] = { programs[part], NULL }, again[] = "again_?";
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid)
		return pid;
	visit(SLOTS, (round + 5) % PARTS);
	set_comm("child", round % NAMES);
	visit(SLOTS, (round + 6) % PARTS);
	again[6] = 'a' + part;
	log_visit(strrchr(programs[part], '/') + 1, part, true);
	log_visit(again, part, true);
	execv(argv[0], argv);
	_exit(5);
}

static void wait_for_child(pid_t pid, int expected)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status != expected)
		errx(1, "a child ended with status %#x", status);
}

static void kill_child(unsigned int round, unsigned int part)
{
	int ready[2];
	pid_t pid;
	char byte;

	if (pipe(ready))
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		set_comm("victim", round % NAMES);
		visit(SLOTS, part);
		if (write(ready[1], "", 1) != 1)
			_exit(6);
		for (;;)
			pause();
	}
	if (read(ready[0], &byte, 1) != 1)
		err(1, "read");
	kill(pid, SIGKILL);
	wait_for_child(pid, SIGKILL);
	close(ready[0]);
	close(ready[1]);
}

struct thread {
	pthread_t    id;
	unsigned int nr;
	unsigned int round;
};

static void *thread(void *arg)
{
	const struct thread *self = arg;
	unsigned long slot = SLOTS + (1 + self->nr) * STEP;

	set_comm(self->nr ? "worker" : "helper", self->round % NAMES);
	visit(slot, (self->round + self->nr) % PARTS);
	visit(slot, (self->round * 5 + self->nr) % PARTS);
	return NULL;
}

static void do_round(void)
{
	static unsigned int round;
	struct thread threads[THREADS];
	pid_t child;
	int i;

	set_comm("main", round % NAMES);
	for (i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){ .nr = i, .round = round };
		if (pthread_create(&threads[i].id, NULL, thread, &threads[i]))
			errx(1, "pthread_create");
	}
	child = start_child(round);
	visit(SLOTS, round % PARTS);
	map_fresh(round);
	if (round % LOADS == 0)
		visit_library(round / LOADS % PARTS);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i].id, NULL);
	wait_for_child(child, 0);
	for (i = 0; i < VICTIMS; i++)
		kill_child(round, (round + i) % PARTS);
	round++;
}

static int open_file(const char *name)
{
	int fd = open(name, O_RDONLY);

	if (fd < 0)
		err(1, "%s", name);
	return fd;
}

static struct log *map_log(const char *name, bool make)
{
	size_t size = sizeof(struct log) + MAX_VISITS * sizeof(struct visit);
	int fd = open(name, make ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR, 0600);
	struct log *at;

	if (fd < 0 || (make && ftruncate(fd, size)))
		err(1, "%s", name);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		err(1, "%s", name);
	close(fd);
	return at;
}

static void print_call(uint64_t nr, const struct visit *visit, const char *function)
{
	printf("%lu %u %s %c_%s %s_%c%s\n", nr, visit->tid, visit->comm, 'a' + visit->part,
	       function, visit->program ? "prog" : "part", 'a' + visit->part,
	       visit->program ? "" : ".so");
}

static void print_visit(uint64_t nr, const struct visit *visit)
{
	int i, number = 1 + visit->part;

	print_call(nr, visit, "gate");
	print_call(nr, visit, "enter");
	for (i = 0; i < 2 + number; i++)
		print_call(nr, visit, "one");
	for (i = 0; i < 20 - number; i++)
		print_call(nr, visit, "two");
}

static int print_log(uint64_t from, uint64_t to)
{
	for (; from < to && from < log_->nr; from++)
		print_visit(from, &log_->visits[from]);
	return from != to;
}

int main(int argc, char **argv)
{
	unsigned long rounds;
	int i;

	if (argc == 5 && !strcmp(argv[1], "-p")) {
		log_ = map_log(argv[2], false);
		return print_log(strtoul(argv[3], NULL, 0), strtoul(argv[4], NULL, 0));
	}
	if (argc != 5)
		return 2;
	file = open_file(argv[3]);
	maps = atoi(argv[4]);
	log_ = map_log(argv[2], true);
	for (i = 0; i < PARTS; i++) {
		snprintf(libraries[i], PATH_MAX, "%s/part_%c.so", argv[1], 'a' + i);
		snprintf(programs[i], PATH_MAX, "%s/prog_%c", argv[1], 'a' + i);
		files[i] = open_file(libraries[i]);
	}
	while (scanf("%lu", &rounds) == 1) {
		while (rounds--)
			do_round();
		printf("%lu\n", log_->nr);
		fflush(stdout);
	}
	return 0;
}
