// SPDX-License-Identifier: GPL-2.0-only
/*
 * Start many short-lived processes as fast as possible, with names that show whether a recorder
 * knew them.
 * flags: -static
 *
 * usage: storm DIRECTORY COUNT
 *
 * Process N is, in turn,
 *	exN: created by vfork(), executes this program again
 *	fkN: created by fork()
 *	pvN: created by fork(), maps DIRECTORY/code.K and runs code in it, where K is N modulo 8
 *	exN: as above, and starts a thread, thN
 * Each takes page faults in memory that it touches for the first time.
 *
 * Print the number of processes started.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define CODE_FILES	8
#define CODE_SIZE	4096
#define AT_ONCE		16		/* processes running at the same time, at most */
#define TOUCHED		(16 * 4096)

static char touched[TOUCHED];

static void touch(void)
{
	size_t i;

	for (i = 0; i < TOUCHED; i += 4096)
		((volatile char *)touched)[i] = 1;
}

static void name_self(const char *kind, unsigned long n)
{
	char name[24];		/* prctl() takes the first 15 bytes */

	snprintf(name, sizeof(name), "%s%lu", kind, n);
	prctl(PR_SET_NAME, name);
}

/* Copied to the files: must be position-independent, without references. */
static __attribute__((noinline, aligned(64))) int code(int i)
{
	return i + 1;
}

static void code_path(char *path, size_t size, const char *directory, unsigned long n)
{
	snprintf(path, size, "%s/code.%lu", directory, n % CODE_FILES);
}

static void make_code_files(const char *directory)
{
	char path[4096], page[CODE_SIZE] = { 0 };
	unsigned long i;
	int fd;

	memcpy(page, (const void *)code, 64);
	for (i = 0; i < CODE_FILES; i++) {
		code_path(path, sizeof(path), directory, i);
		fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0755);
		if (fd < 0 || write(fd, page, sizeof(page)) != sizeof(page) || close(fd))
			err(1, "%s", path);
	}
}

static void run_mapped(const char *directory, unsigned long n)
{
	int (*mapped)(int);
	char path[4096];
	int fd;

	code_path(path, sizeof(path), directory, n);
	fd = open(path, O_RDONLY);
	mapped = mmap(NULL, CODE_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (fd < 0 || mapped == MAP_FAILED || mapped(1) != 2)
		_exit(1);
}

static void *thread(void *arg)
{
	name_self("th", (unsigned long)arg);
	touch();
	return NULL;
}

static int executed(const char *kind, unsigned long n)
{
	pthread_t id;

	name_self("ex", n);
	touch();
	if (!strcmp(kind, "th"))
		return pthread_create(&id, NULL, thread, (void *)n) || pthread_join(id, NULL);
	return 0;
}

static pid_t start(const char *self, const char *directory, unsigned long n)
{
	const char *kind = n % 4 == 3 ? "th" : "ex";
	char number[24];
	pid_t pid;

	snprintf(number, sizeof(number), "%lu", n);
	if (n % 4 == 0 || n % 4 == 3) {
		pid = vfork();
		if (!pid) {
			execl(self, self, kind, number, "executed", (char *)NULL);
			_exit(1);
		}
		return pid;
	}
	pid = fork();
	if (pid)
		return pid;
	name_self(n % 4 == 1 ? "fk" : "pv", n);
	touch();
	if (n % 4 == 2)
		run_mapped(directory, n);
	_exit(0);
}

static void reap(void)
{
	int status;

	if (wait(&status) < 0)
		err(1, "wait");
	if (status)
		errx(1, "a process failed: status %#x", status);
}

int main(int argc, char **argv)
{
	unsigned long count, n, running = 0;

	if (argc == 4)
		return executed(argv[1], strtoul(argv[2], NULL, 10));
	if (argc != 3)
		errx(2, "usage: storm DIRECTORY COUNT");
	make_code_files(argv[1]);
	count = strtoul(argv[2], NULL, 10);
	for (n = 0; n < count; n++) {
		if (start(argv[0], argv[1], n) < 0)
			err(1, "process %lu", n);
		if (++running == AT_ONCE) {
			reap();
			running--;
		}
	}
	while (running--)
		reap();
	printf("%lu\n", count);
	return 0;
}
