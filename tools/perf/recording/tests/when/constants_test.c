// SPDX-License-Identifier: GPL-2.0-only
/*
 * --switch-output-when: what the BPF programs may leave out, from the conditions.
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include <string.h>
#include <linux/time64.h>
#include "recording/when/condition.h"
#include "recording/when/constants.h"
#include "recording/when/setup.h"
#include "perf/tests/tap.h"

#define TICK	(4 * NSEC_PER_MSEC)

static struct when_condition conditions[3];
static struct duration_constants constants;

/* Set condition number @i. @call: the only system call that it names, or -1 */
static void set(int i, enum duration_kind kind, u64 threshold_ns, int call)
{
	struct duration_condition *judged = &conditions[i].judged;

	memset(judged, 0, sizeof(*judged));
	judged->kind = kind;
	judged->threshold_ns = threshold_ns;
	judged->nr_syscalls = call >= 0;
	judged->syscalls[0] = call;
}

static void fill(unsigned int nr, u64 tick_ns, bool measures)
{
	const struct when_setup setup = { .own_tgid = 7, .tick_ns = tick_ns, .measures = measures };

	when_constants__fill(&constants, conditions, nr, &setup);
}

static bool wants(unsigned int call)
{
	return constants.calls_wanted[call / 64] >> (call % 64) & 1;
}

static void test_thresholds(void)
{
	set(0, DURATION_SYSCALL, 30, -1);
	set(1, DURATION_SYSCALL, 20, -1);
	set(2, DURATION_IRQ, 10, -1);
	fill(3, TICK, false);
	check(constants.min_ns[DURATION_SYSCALL] == 20 && constants.min_ns[DURATION_IRQ] == 10 &&
	      constants.min_ns[DURATION_ON_CPU] == (__u64)-1 && constants.nr_conditions == 3 &&
	      constants.own_tgid == 7, "the lowest threshold of each kind");
	fill(3, TICK, true);
	check(!constants.min_ns[DURATION_SYSCALL] && constants.min_ns[DURATION_ON_CPU] == (__u64)-1,
	      "--advise looks at all durations of these kinds");
}

static void test_calls(void)
{
	set(0, DURATION_SYSCALL, NSEC_PER_SEC, 74);
	set(1, DURATION_SYSCALL, NSEC_PER_SEC, 257);
	set(2, DURATION_ON_CPU, NSEC_PER_SEC, -1);
	fill(3, TICK, false);
	check(wants(74) && wants(257) && !wants(73) && !wants(0) && !wants(256),
	      "only the system calls that conditions name");
	set(1, DURATION_SYSCALL, NSEC_PER_SEC, -1);
	fill(3, TICK, false);
	check(wants(0) && wants(74) && wants(DURATION_MAX_CALL_NUMBER - 1),
	      "all system calls, if a condition names none");
}

static void test_clock(void)
{
	set(0, DURATION_SYSCALL, 50 * NSEC_PER_MSEC, -1);
	set(1, DURATION_OFF_CPU, NSEC_PER_MSEC, -1);
	fill(2, TICK, false);
	check(constants.short_call_ns == 42 * NSEC_PER_MSEC, "two ticks less than the threshold");
	check(!constants.exact, "the scheduler's clock is good enough for 1 ms");
	fill(2, 0, false);
	check(!constants.short_call_ns, "the clock is read if a CPU may have no ticks");
	fill(2, TICK, true);
	check(!constants.short_call_ns && constants.exact, "the clock is read for --advise");
	set(0, DURATION_SYSCALL, 2 * TICK, -1);
	set(1, DURATION_OFF_CPU, NSEC_PER_MSEC - 1, -1);
	fill(2, TICK, false);
	check(!constants.short_call_ns, "the clock is read for a threshold of two ticks");
	check(constants.exact, "the clock is read for less than 1 ms off the CPU");
	check(when_constants__tick() <= 10 * NSEC_PER_MSEC, "the tick is at most 10 ms");
}

int main(void)
{
	test_thresholds();
	test_calls();
	test_clock();
	return tap_end();
}
