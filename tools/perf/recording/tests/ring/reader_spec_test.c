// SPDX-License-Identifier: GPL-2.0-only
/*
 * --threads: which reader drains which CPUs and runs where, on a machine with CPUs 0-3 and 6-7.
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>
#include "util/cputopo.h"
#include "recording/ring/reader_spec.h"
#include "perf/tests/tap.h"
#include "recording/tests/stubs/debug.h"

/* Stands in for libperf's. */
void libperf_print(int level, const char *fmt, ...)
{
	(void)level, (void)fmt;
}

/*
 * The machine: packages 0-3 and 6-8, cores 0-1, 2-3, 6-7 and 8. CPU 8 is offline, and one node has
 * no CPU that is online.
 */

static bool no_topology;

struct cpu_topology *cpu_topology__new(void)
{
	static const char *packages[] = { "0-3", "6-8" };
	static const char *cores[] = { "0-1", "2-3", "6-7", "8" };
	static struct cpu_topology topology = {
		.package_cpus_lists = 2, .package_cpus_list = packages,
		.core_cpus_lists = 4, .core_cpus_list = cores,
	};

	return no_topology ? NULL : &topology;
}

void cpu_topology__delete(struct cpu_topology *topology)
{
	(void)topology;
}

struct numa_topology *numa_topology__new(void)
{
	struct numa_topology *topology;

	if (no_topology)
		return NULL;
	topology = calloc(1, sizeof(*topology) + 2 * sizeof(topology->nodes[0]));
	topology->nr = 2;
	topology->nodes[0].cpus = "0-3,6-7";
	topology->nodes[1].cpus = "8-9";
	return topology;
}

void numa_topology__delete(struct numa_topology *topology)
{
	free(topology);
}

static bool is(struct perf_cpu_map *map, const char *list)
{
	struct perf_cpu_map *expected = perf_cpu_map__new(list);
	bool equal = perf_cpu_map__equal(map, expected);

	perf_cpu_map__put(expected);
	return equal;
}

/* @expected: cpus and affinity of each place, then NULL */
static void accepts(struct perf_cpu_map *all, const char *text, const char *const *expected)
{
	struct reader_spec spec;
	char what[128];
	bool ok = !reader_spec__parse(&spec, text, all);
	int i;

	for (i = 0; ok && expected[2 * i]; i++)
		ok = i < spec.nr && is(spec.places[i].cpus, expected[2 * i]) &&
		     is(spec.places[i].affinity, expected[2 * i + 1]);
	snprintf(what, sizeof(what), "--threads=%s", text ?: "");
	check(ok && i == spec.nr, what);
	reader_spec__exit(&spec);
}

static void refuses(struct perf_cpu_map *all, const char *text, int err, const char *message)
{
	struct reader_spec spec;
	char what[128];
	bool ok;

	debug_message[0] = '\0';
	ok = reader_spec__parse(&spec, text, all) == err && !spec.nr &&
	     strstr(debug_message, message);
	snprintf(what, sizeof(what), "--threads='%.40s' is refused: %s", text, message);
	check(ok, what);
	if (!ok)
		printf("# message: %s\n", debug_message);
	reader_spec__exit(&spec);
}

#define LIST(...) ((const char *const []){ __VA_ARGS__, NULL })
#define EACH LIST("0", "0", "1", "1", "2", "2", "3", "3", "6", "6", "7", "7")

static void test_layouts(struct perf_cpu_map *all)
{
	accepts(all, NULL, EACH);
	accepts(all, "", EACH);
	accepts(all, "cpu", EACH);
	accepts(all, "core", LIST("0-1", "0-1", "2-3", "2-3", "6-7", "6-7"));
	accepts(all, "package", LIST("0-3", "0-3", "6-7", "6-7"));
	accepts(all, "numa", LIST("0-3,6-7", "0-3,6-7"));
	no_topology = true;
	refuses(all, "core", -ENOENT, "cannot read the layout");
	refuses(all, "numa", -ENOENT, "cannot read the layout");
	no_topology = false;
}

static void test_lists(struct perf_cpu_map *all)
{
	accepts(all, "0/0", LIST("0", "0"));
	accepts(all, "0,2-3/1:1,6-7/2", LIST("0,2-3", "1", "1,6-7", "2"));
	accepts(all, "0-9/0-9", LIST("0-3,6-7", "0-3,6-7"));	/* without offline CPUs */
	refuses(all, "0", -EINVAL, "with a slash");
	refuses(all, "0/0:", -EINVAL, "with a slash");
	refuses(all, ":", -EINVAL, "with a slash");
	refuses(all, "/", -EINVAL, "not a list");
	refuses(all, "0/", -EINVAL, "not a list");
	refuses(all, "cores", -EINVAL, "with a slash");
	refuses(all, "0x1/0", -EINVAL, "not a list");
	refuses(all, "0/0/1", -EINVAL, "not a list");
	refuses(all, "0--/0", -EINVAL, "not a list");
	refuses(all, "3-1/0", -EINVAL, "not a list");
	refuses(all, "-/-", -EINVAL, "not a list");
	refuses(all, "99999999999999999999/0", -EINVAL, "not a list");
	refuses(all, "4-5/0", -EINVAL, "none of the CPUs");
	refuses(all, "0/5", -EINVAL, "none of the CPUs");
	refuses(all, "0-1/0:1-2/1", -EINVAL, "an earlier thread");
	refuses(all, "0/0-1:1/1-2", -EINVAL, "an earlier thread");
}

static void test_find(struct perf_cpu_map *all)
{
	struct reader_spec spec;

	check(!reader_spec__parse(&spec, "0,2/0:1/1", all),
	      "a specification with two places is accepted");
	check(reader_spec__find(&spec, (struct perf_cpu){ 2 }) == 0 &&
	      reader_spec__find(&spec, (struct perf_cpu){ 1 }) == 1, "the place of a CPU is found");
	check(reader_spec__find(&spec, (struct perf_cpu){ 3 }) == -1 &&
	      reader_spec__find(&spec, (struct perf_cpu){ -1 }) == -1, "other CPUs have no place");
	reader_spec__exit(&spec);
	reader_spec__exit(&spec);
}

int main(void)
{
	struct perf_cpu_map *all = perf_cpu_map__new("0-3,6-7");

	test_layouts(all);
	test_lists(all);
	test_find(all);
	perf_cpu_map__put(all);
	return tap_end();
}
