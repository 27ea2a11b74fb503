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
	state.log.max_unpacked = LOG_MAX_UNPACKED;
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

/* A shell starts a program, which is mapped at random addresses. */
static void start_program(u32 pid)
{
	static u64 random;
	u64 base = 0x7f0000000000 + random_below(&random, 1 << 28) * 0x1000;

	now += SB_RECORD_DELAY_NS / 1000 + random_below(&random, 1000000);
	emit_fork(pid, pid, 10, 10);
	emit_comm(pid, pid, "true", PERF_RECORD_MISC_COMM_EXEC);
	emit_mmap(pid, 0x550000000000 + random_below(&random, 1 << 28) * 0x1000, 0x3000, 0x2000,
		  "/usr/bin/true");
	emit_mmap(pid, base, 0x25000, 0x1000, "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
	emit_mmap(pid, 0x7ffc00000000 + random_below(&random, 1 << 20) * 0x1000, 0x2000, 0,
		  "[vdso]");
	emit_mmap(pid, base - 0x200000, 0x156000, 0x26000, "/usr/lib/x86_64-linux-gnu/libc.so.6");
}

/* Run programs, @alive at a time. Return: the memory that the state takes then [bytes] */
static size_t run_programs(u32 first, u32 nr, u32 alive)
{
	u32 pid;

	for (pid = first; pid < first + nr; pid++) {
		start_program(pid);
		if (pid >= 1000 + alive)
			emit_exit(pid - alive, pid - alive);
		if (pid % 10 == 0)
			state__end_round(&state);
	}
	return state__bytes(&state);
}

/* Bytes of a short-lived program for which nothing was collected. */
#define MAX_PROGRAM_BYTES	300

static void test_programs(void)
{
	const u32 nr = 20000;
	size_t before, bytes;

	begin();
	state.log.max_unpacked = LOG_MAX_UNPACKED;
	before = run_programs(1000, nr, 1);
	bytes = (run_programs(1000 + nr, nr, 1) - before) / nr;
	printf("# %zu bytes for a program, %zu of them for its records\n", bytes,
	       state.log.block_bytes / (state.log.nr_packed / 6));
	check(bytes < MAX_PROGRAM_BYTES, "records of short-lived programs are packed");
	end();

	begin();
	state.log.max_unpacked = LOG_MAX_UNPACKED;
	before = run_programs(1000, nr, 1000);
	state__collect(&state, NULL);
	before = state__bytes(&state);
	run_programs(1000 + nr, nr, 1000);
	state__collect(&state, NULL);
	bytes = (state__bytes(&state) - before) / nr;
	printf("# %zu bytes for one that lives longer\n", bytes);
	check(bytes < MAX_PROGRAM_BYTES, "those of other programs are packed later");
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

/* Files are the same to the byte, whether records of the log are packed or not. */
static void test_packing(void)
{
	static struct history packed, unpacked;
	u64 seed, nr_equal = 0;

	for (seed = 1; seed <= 50; seed++) {
		history__run_packing(&packed, seed, 2000, HISTORY_MAX_UNPACKED, NULL);
		history__run_packing(&unpacked, seed, 2000, SIZE_MAX / 2, NULL);
		nr_equal += packed.written == unpacked.written;
	}
	check(nr_equal == 50, "files do not depend on which records are packed");
}

int main(void)
{
	test_histories();
	test_packing();
	test_programs();
	test_memory();
	free(file.record);
	return tap_end();
}
