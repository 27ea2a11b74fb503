// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test that perf record leaks no file descriptor, child or memory when one process runs it 1000
 * times. A build with AddressSanitizer checks for leaked blocks; other builds check that the heap
 * does not grow.
 *
 * perf's util code allocates some data once and keeps them (PMUs, kernel symbols, event names), so
 * the comparison begins after some warm-up cycles.
 */
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <sys/wait.h>
#include "builtin.h"
#include "util/debug.h"
#include "tests.h"

#define WARM_UP		150	/* a multiple of the number of modes */
#define CYCLES		1000

/* In the runtime of AddressSanitizer; absent from other builds. Returns 1 if something leaked. */
int __lsan_do_recoverable_leak_check(void) __weak;

static int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	if (!dir)
		return -1;
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static bool has_child(void)
{
	return waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD;
}

/* Run in turn; a recording that keeps or measures streams has threads and memory of its own. */
static const char *const modes[] = { "--no-bpf-event", "--keep=1s,32M", "--advise=1s" };

/* Build the arguments again in each cycle, because cmd_record() may reorder them. */
static int cycle(const char *path, int nr)
{
	const char *argv[] = {
		"record", "-q", "-B", "-o", path, "-e", "task-clock/overwrite/u",
		"-e", "task-clock:u", "--no-bpf-event", modes[nr % ARRAY_SIZE(modes)], "--",
		"true", NULL
	};

	return cmd_record(ARRAY_SIZE(argv) - 1, argv);
}

static int test__record_cycles(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	char path[] = "/tmp/perf-record-cycles-XXXXXX", old[sizeof(path) + 4];
	size_t heap = 0, now, grown;
	int i, fd, fds = 0, err = 0;

	fd = mkstemp(path);
	TEST_ASSERT_VAL("temporary file", fd >= 0);
	close(fd);
	snprintf(old, sizeof(old), "%s.old", path);

	for (i = 0; i < WARM_UP + CYCLES && !err; i++) {
		if (i == WARM_UP) {
			fds = open_fds();
			heap = mallinfo2().uordblks;
		}
		err = cycle(path, i);
	}
	unlink(path);
	unlink(old);

	TEST_ASSERT_EQUAL("perf record", err, 0);
	TEST_ASSERT_EQUAL("descriptors", open_fds(), fds);
	TEST_ASSERT_VAL("children", !has_child());
	if (__lsan_do_recoverable_leak_check) {
		TEST_ASSERT_VAL("leaked memory", !__lsan_do_recoverable_leak_check());
		return TEST_OK;
	}
	now = mallinfo2().uordblks;
	grown = now > heap ? now - heap : 0;
	pr_debug("heap: %zu bytes after %d cycles, %zu more after another %d\n", heap, WARM_UP,
		 grown, CYCLES);
	/*
	 * malloc()'s smallest block has 24 bytes: leaking one in each cycle of a mode exceeds this.
	 */
	TEST_ASSERT_VAL("heap grows", grown < 24 * (CYCLES / ARRAY_SIZE(modes)));
	return TEST_OK;
}

DEFINE_SUITE("perf record: 1000 runs in one process leak nothing", record_cycles);
