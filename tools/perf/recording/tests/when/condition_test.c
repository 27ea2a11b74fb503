// SPDX-License-Identifier: GPL-2.0-only
/*
 * --switch-output-when: conditions are parsed, and an error has its position and what is possible.
 * tags: fast parallel
 *
 * Prints KTAP. With a number as argument, so many random conditions are parsed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "recording/when/condition.h"
#include "perf/tests/tap.h"

/*
 * This machine has two system calls and a cgroup.
 */

static int find_syscall(const char *name)
{
	return !strcmp(name, "fsync") ? 74 : !strcmp(name, "openat") ? 257 : -1;
}

static const char *find_similar(const char *name)
{
	return *name == 'f' ? "fsync" : NULL;
}

static u64 find_cgroup(const char *path)
{
	return !strcmp(path, "/system.slice/a,b.service") ? 4711 : 0;
}

static const struct when_names names = {
	.syscall = find_syscall, .similar_syscall = find_similar, .cgroup = find_cgroup,
};

static struct when_condition condition;
static struct when_error error;

static bool parses(const char *text)
{
	int err;

	when_condition__exit(&condition);
	err = when_condition__parse(&condition, text, &names, &error);
	if (err)
		printf("# %s: at %zu: %s\n", text, error.at, error.text);
	return !err;
}

/* Is @text refused at the position of the first '@' in it, which is left out, for this reason? */
static bool refuses(const char *marked, const char *reason)
{
	char text[512];
	size_t at = strcspn(marked, "@");
	int err;

	snprintf(text, sizeof(text), "%.*s%s", (int)at, marked, marked + at + 1);
	when_condition__exit(&condition);
	err = when_condition__parse(&condition, text, &names, &error);
	if (err == -EINVAL && error.at == at && strstr(error.text, reason))
		return true;
	printf("# %s: %d, at %zu, not %zu: %s\n", text, err, error.at, at, error.text);
	return false;
}

static bool is(enum duration_kind kind, u64 threshold_ns)
{
	return condition.judged.kind == kind && condition.judged.threshold_ns == threshold_ns;
}

static void test_durations(void)
{
	check(parses("sched-delay>10ms") && is(DURATION_SCHED_DELAY, 10 * NSEC_PER_MSEC),
	      "sched-delay");
	check(parses("on-cpu>100ms") && is(DURATION_ON_CPU, 100 * NSEC_PER_MSEC), "on-cpu");
	check(parses("irq>1ms") && is(DURATION_IRQ, NSEC_PER_MSEC), "irq");
	check(parses("softirq>5ms") && is(DURATION_SOFTIRQ, 5 * NSEC_PER_MSEC), "softirq");
	check(parses("off-cpu>1s") && is(DURATION_OFF_CPU, NSEC_PER_SEC) &&
	      condition.judged.states == DURATION_STATES_USUAL, "off-cpu has the usual states");
	check(parses("off-cpu(D)>200ms") && is(DURATION_OFF_CPU, 200 * NSEC_PER_MSEC) &&
	      condition.judged.states == 0x4, "off-cpu(D)");
	check(parses("off-cpu( R tI )>1us") && condition.judged.states == 0x111, "several states");
	check(parses("syscall>100ms") && is(DURATION_SYSCALL, 100 * NSEC_PER_MSEC) &&
	      !condition.judged.nr_syscalls, "syscall");
	check(parses("syscall(fsync,openat)>50ms") && is(DURATION_SYSCALL, 50 * NSEC_PER_MSEC) &&
	      condition.judged.nr_syscalls == 2 && condition.judged.syscalls[0] == 74 &&
	      condition.judged.syscalls[1] == 257, "syscall(NAME,NAME)");
	check(parses("block:block_rq_issue..block:block_rq_complete>50ms by sector") &&
	      is(DURATION_PAIR, 50 * NSEC_PER_MSEC) &&
	      !strcmp(condition.begin, "block:block_rq_issue") &&
	      !strcmp(condition.end, "block:block_rq_complete") &&
	      !strcmp(condition.field, "sector"),
	      "EVENT..EVENT by FIELD");
	check(parses("probe_a:f .. probe_a:f__return > 20ms") && !condition.field &&
	      !strcmp(condition.end, "probe_a:f__return"), "EVENT..EVENT of a thread, with blanks");
}

static void test_times(void)
{
	check(parses("irq>1ns") && is(DURATION_IRQ, 1), "1ns");
	check(parses("irq>250us") && is(DURATION_IRQ, 250 * NSEC_PER_USEC), "250us");
	check(parses("irq>2m") && is(DURATION_IRQ, 120 * NSEC_PER_SEC), "2m");
	check(parses("irq>1.5ms") && is(DURATION_IRQ, 1500 * NSEC_PER_USEC), "1.5ms");
	check(parses("irq>0.000000001s") && is(DURATION_IRQ, 1), "0.000000001s");
	check(parses("irq>86400000s") && is(DURATION_IRQ, 86400000 * NSEC_PER_SEC), "1000 days");
}

static void test_filters(void)
{
	check(parses("irq>1s if comm==my app") && condition.judged.filters == DURATION_IF_COMM &&
	      !strcmp(condition.judged.comm, "my app"), "a name with a blank");
	check(parses("irq>1s if comm == \" a,b \" , pid!=17 ") &&
	      condition.judged.filters == (DURATION_IF_COMM | DURATION_UNLESS_PID) &&
	      !strcmp(condition.judged.comm, " a,b ") && condition.judged.pid == 17,
	      "quotes, and a second filter");
	check(!strcmp(condition.text, "irq>1s if comm == \" a,b \" , pid!=17"),
	      "the text is that of the user, without blanks around it");
	check(parses("irq>1s if cgroup==\"/system.slice/a,b.service\"") &&
	      condition.judged.filters == DURATION_IF_CGROUP &&
	      !strcmp(condition.cgroup, "/system.slice/a,b.service"),
	      "a cgroup");
	check(parses("irq>1s if comm==fifteen_letters"), "the longest name");
	check(parses("a:b..c:d>1s by e if comm!=f") &&
	      condition.judged.filters == DURATION_UNLESS_COMM &&
	      !strcmp(condition.field, "e"), "a field and a filter");
}

static void test_errors(void)
{
	check(refuses("@",
		      "a duration is missing. There are: sched-delay, off-cpu, on-cpu, syscall, "
		      "irq, softirq, and EVENT..EVENT"), "nothing");
	check(refuses(" @sched-dely>1s", "no duration is called 'sched-dely'"),
	      "an unknown duration");
	check(refuses("sched:sched_switch@>1s", "'..' and the event that ends it are missing"),
	      "one event");
	check(refuses("a:b..@>1s", "which event ends"), "no second event");
	check(refuses("@a..b:c>1s", "'a' is no event"), "no event before the dots");
	check(refuses("a:b..@b>1s", "'b' is no event"), "no event after the dots");
	check(refuses("irq@", "'>' and a time are missing"), "no time");
	check(refuses("irq>@=1s", "only '>'"), "another comparison");
	check(refuses("irq@<1s", "only '>'"), "an upper limit");
	check(refuses("irq > @ms", "a time is missing"), "no number");
	check(refuses("irq>10@", "the unit must be ns, us, ms, s, m, h or d"), "no unit");
	check(refuses("irq>10@hours", "the unit must be ns, us, ms, s, m, h or d"),
	      "an unknown unit");
	check(refuses("irq>@0.0ms", "must not be 0"), "no time at all");
	check(refuses("irq>@0.1ns", "must not be 0"), "less than a nanosecond");
	check(refuses("irq>@99999999999999999999s", "longer than"), "more than 64 bits");
	check(refuses("irq>@86400001s", "longer than"), "more than 1000 days");
	check(refuses("irq@(timer)>1s", "has no arguments"),
	      "arguments of a duration that has none");
	check(refuses("off-cpu(D@Q)>1s", "'Q' is no state"), "an unknown state");
	check(refuses("off-cpu(@W)>1s", "I, as ps prints them"),
	      "the letter that some perf script have for an idle task");
	check(refuses("off-cpu(D@Z)>1s", "has exited"), "a state that has no end");
	check(refuses("off-cpu(@)>1s", "which state?"), "no state");
	check(refuses("off-cpu(D@", "')' is missing, which ends what began at column 8"),
	      "an open parenthesis");
	check(refuses("syscall(openat,@fsnyc)>1s", "no system call 'fsnyc'; did you mean 'fsync'?"),
	      "an unknown system call, with a similar one");
	check(refuses("syscall(@xyz)>1s", "no system call 'xyz'"), "an unknown system call");
	check(refuses("syscall(fsync,@)>1s", "which system call?"), "a missing system call");
	check(refuses("irq>1s @by cpu", "'by' belongs to EVENT..EVENT"),
	      "a field of a duration that has none");
	check(refuses("a:b..c:d>1s by @", "a field that both events have is missing"), "no field");
	check(refuses("irq>1s if @uid==0",
		      "a filter is one of comm==NAME, cgroup==PATH and pid==NUMBER"),
	      "an unknown filter");
	check(refuses("irq>1s if comm@=a", "'==' or '!=' is missing"),
	      "another comparison in a filter");
	check(refuses("irq>1s if comm==@", "a value is missing"), "no value");
	check(refuses("irq>1s if comm==@sixteen_letters_", "longer than 15 bytes"),
	      "a name that is too long");
	check(refuses("irq>1s if comm==@\"a", "the quote is not closed"), "an open quote");
	check(refuses("irq>1s if comm==@a and pid==1", "a comma must separate two filters"),
	      "'and'");
	check(refuses("irq>1s if comm==@a or comm!=b", "a comma must separate two filters"),
	      "'or'");
	check(parses("irq>1s if comm==\"a==b\"") && !strcmp(condition.judged.comm, "a==b"),
	      "== in quotes");
	check(refuses("irq>1s if pid==@-1", "'-1' is no process id"), "a negative process id");
	check(refuses("irq>1s if pid==@4x", "'4x' is no process id"), "no number");
	check(refuses("irq>1s if pid==1,@pid==2", "compares pid once"), "a filter twice");
	check(refuses("irq>1s if cgroup==@/none", "no cgroup (v2) '/none'"), "an unknown cgroup");
	check(refuses("irq>1s @and more",
		      "the condition should end here. After the time, only 'if' may"),
	      "more text");
	check(refuses("a:b..c:d>1s @more", "only 'by' and 'if' may"), "more text after a pair");
	check(refuses("irq>1s if comm==\"a\" @b", "should end here"), "more text after a quote");
}

static void test_limits(void)
{
	char text[4096] = "syscall(fsync", name[300];
	int i;

	for (i = 1; i < DURATION_MAX_SYSCALLS; i++)
		strcat(text, ",fsync");
	strcat(text, ")>1s");
	check(parses(text) && condition.judged.nr_syscalls == DURATION_MAX_SYSCALLS,
	      "as many system calls as a condition has");
	*strchr(text, ')') = '\0';
	strcat(text, ",@fsync)>1s");
	check(refuses(text, "names at most 16 system calls"), "one more");
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(text, sizeof(text), "@%s>1s", name);
	check(refuses(text, "a name has at most 127 characters"), "a name without end");
	check(!condition.text && !condition.begin, "nothing is left to free after an error");
}

/*
 * Random conditions: an error is inside the text; what is parsed can be parsed again, with the same
 * result. The sanitizers find the rest.
 */

static const char * const words[] = {
	"sched-delay", "off-cpu", "on-cpu", "syscall", "irq", "softirq", "(", ")", ">", "=", "==",
	"!=", ",", "..", ".", " ", "\t", "\"", "if", "by", "comm", "cgroup", "pid", "a:b", "c:d",
	"fsync", "openat", "D", "RS", "1", "10", "99999999999999999999", "ns", "us", "ms", "s", "m",
	"sector", "-", ":", "\x80", "\n", "/system.slice/a,b.service", "fifteen_letters",
};

static const char * const templates[] = {
	"sched-delay>10ms", "off-cpu(D)>200ms if comm==a",
	"syscall(fsync,openat)>50ms if pid==1,comm!=b",
	"a:b..c:d>1.5s by e if cgroup==\"/system.slice/a,b.service\"", "irq > 1ms",
};

static void make_random(char *text, size_t size)
{
	size_t len, i, nr = rand() % 12;

	*text = '\0';
	if (rand() % 2) {
		for (i = 0; i < nr; i++)
			strncat(text, words[rand() % ARRAY_SIZE(words)], size - strlen(text) - 1);
		return;
	}
	snprintf(text, size, "%s", templates[rand() % ARRAY_SIZE(templates)]);
	for (i = rand() % 3; i; i--) {
		len = strlen(text);
		if (rand() % 2)
			text[rand() % len] = words[rand() % ARRAY_SIZE(words)][0];
		else
			memmove(text + len / 2, text + len / 2 + 1, len - len / 2);
	}
}

static bool reparses(void)
{
	struct when_condition again;
	bool same;

	if (when_condition__parse(&again, condition.text, &names, &error))
		return false;
	same = !memcmp(&again.judged, &condition.judged, sizeof(again.judged)) &&
	       !strcmp(again.text, condition.text);
	when_condition__exit(&again);
	return same;
}

static void test_random(long nr)
{
	long parsed = 0, wrong = 0, i;
	char text[256];
	int err;

	srand(1);
	for (i = 0; i < nr; i++) {
		make_random(text, sizeof(text));
		when_condition__exit(&condition);
		err = when_condition__parse(&condition, text, &names, &error);
		parsed += !err;
		if (err ? err != -EINVAL || error.at > strlen(text) || !*error.text : !reparses()) {
			printf("# '%s': %d, at %zu: %s\n", text, err, error.at, error.text);
			wrong++;
		}
	}
	printf("# %ld of %ld random conditions are valid\n", parsed, nr);
	check(!wrong, "random conditions");
	check(parsed > nr / 100 && parsed < nr / 2, "some of them are valid");
}

int main(int argc, char **argv)
{
	test_durations();
	test_times();
	test_filters();
	test_errors();
	test_limits();
	test_random(argc > 1 ? atol(argv[1]) : 50000);
	when_condition__exit(&condition);
	return tap_end();
}
