// SPDX-License-Identifier: GPL-2.0-only
/*
 * The live state in random histories and over a long time: samples resolve, memory stays bounded.
 * tags: parallel
 *
 * Histories are random with a fixed seed (history.h). STATE_TEST_SEED=n starts with another one,
 * STATE_TEST_HISTORIES=n runs another number of them.
 *
 * Prints KTAP.
 */
#include "state_fixture.h"
#include "perf/tests/tap.h"

#define NR_PROCESSES	1000000

static struct history_reader naive_reader = {
	.begin = reader__begin, .event = reader__event, .resolve = reader__resolve,
	.reader = &the_reader,
};

size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated(void)
{
	return __sanitizer_get_current_allocated_bytes ?
	       __sanitizer_get_current_allocated_bytes() : 0;
}

/* A shell starts a process each millisecond. At a collection the ring refers to the newest one. */
static void test_memory(void)
{
	size_t first_most = 0, most = 0, i;
	u32 pid, collections = 0;

	begin();
	emit_comm(10, 10, "shell", 0);
	emit_mmap(10, 0x1000, 0x1000, 0, "/sh");
	for (i = 0; i < NR_PROCESSES; i++) {
		pid = 1000 + i % 30000;
		emit_fork(pid, pid, 10, 10);
		emit_comm(pid, pid, "cmd", PERF_RECORD_MISC_COMM_EXEC);
		emit_mmap(pid, 0x1000, 0x1000, 0, "/cmd");
		emit_mmap(pid, 0x3000, 0x1000, 0, "/libc");
		emit_exit(pid, pid);
		now += SB_RECORD_DELAY_NS / 1000;
		if (i % 10 == 0)
			state__end_round(&state);
		if (state__must_collect(&state)) {
			collect(pid, pid, now);
			collections++;
		}
		most = max(most, allocated());
		if (i == NR_PROCESSES / 5)
			first_most = most;
	}
	printf("# %u collections, at most %zu bytes, %zu in the first fifth\n",
	       collections, most, first_most);
	check(collections > 2 && most <= first_most + first_most / 10,
	      "a million processes take no more memory than the first fifth of them");
	make_final();
	collect(0, 0, 0);
	check(state.tasks.nr <= 2, "exited processes are forgotten");
	end();
}

static void test_histories(void)
{
	const char *seed = getenv("STATE_TEST_SEED"), *number = getenv("STATE_TEST_HISTORIES");
	static struct history history;
	u64 first = seed ? strtoull(seed, NULL, 0) : 1, failed = 0, checked = 0, in_maps = 0, i;
	u64 nr = number ? strtoull(number, NULL, 0) : 200;

	for (i = first; i < first + nr; i++) {
		if (history__run(&history, i, 2000, &naive_reader))
			printf("# seed %llu\n", (unsigned long long)i);
		failed += history.failed;
		checked += history.checked;
		in_maps += history.in_maps;
	}
	printf("# %llu samples, %llu of them in maps, %llu wrong\n", (unsigned long long)checked,
	       (unsigned long long)in_maps, (unsigned long long)failed);
	check(!failed && in_maps, "samples of random histories resolve to the true names and maps");
}

int main(void)
{
	test_histories();
	test_memory();
	free(file.record);
	return tap_end();
}
