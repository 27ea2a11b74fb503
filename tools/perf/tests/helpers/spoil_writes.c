// SPDX-License-Identifier: GPL-2.0-only
/*
 * spoil_writes - what a program meets whose disk is slow, or broken; for LD_PRELOAD
 * flags: -shared -fPIC
 *
 * SPOIL_WRITES in the environment says what pwrite(2) does, from its call number N on (1 is the first):
 *	stall N			that call takes until there is the file SPOIL_UNTIL, the others do not
 *	fail N ERRNO		that call and all later ones fail
 *	trouble N		they write a part, or fail with EINTR or EAGAIN, and go well the next time
 *
 * Not in the main thread: what util writes to the header is left alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is(const char *what, unsigned int *nr, int *value)
{
	const char *spoil = getenv("SPOIL_WRITES");
	char name[16];

	return spoil && gettid() != getpid() && sscanf(spoil, "%15s %u %d", name, nr, value) >= 2 &&
	       !strcmp(name, what);
}

static ssize_t real(int fd, const void *buf, size_t len, off64_t pos)
{
	ssize_t (*call)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");

	return call(fd, buf, len, pos);
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t pos)
{
	static __thread unsigned int calls;
	unsigned int call = ++calls, nr = 0;
	int value = 0;

	if (is("stall", &nr, &value) && call == nr)
		while (access(getenv("SPOIL_UNTIL"), F_OK))
			usleep(10000);
	if (is("fail", &nr, &value) && call >= nr) {
		errno = value;
		return -1;
	}
	if (!is("trouble", &nr, &value) || call < nr)
		return real(fd, buf, len, pos);
	switch (call % 4) {
	case 0:
		errno = EINTR;
		return -1;
	case 1:
		errno = EAGAIN;
		return -1;
	case 2:
		return real(fd, buf, len / 3 + 1, pos);
	default:
		return real(fd, buf, len, pos);
	}
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t pos)
{
	return pwrite64(fd, buf, len, pos);
}
