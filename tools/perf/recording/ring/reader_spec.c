// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/zalloc.h>
#include "util/cputopo.h"
#include "util/debug.h"
#include "reader_spec.h"
#include "recording/lib/compat.h"

/* Consumes both references, also on failure. */
static int add_place(struct reader_spec *spec, struct perf_cpu_map *cpus,
		     struct perf_cpu_map *affinity)
{
	struct reader_place *places = realloc(spec->places, (spec->nr + 1) * sizeof(*places));

	if (!places) {
		perf_cpu_map__put(cpus);
		perf_cpu_map__put(affinity);
		return -ENOMEM;
	}
	spec->places = places;
	places[spec->nr++] = (struct reader_place){ cpus, affinity };
	return 0;
}

/*
 * Layouts of the machine: cpu, core, package, numa
 */

static int add_list(struct reader_spec *spec, const char *list, struct perf_cpu_map *all)
{
	struct perf_cpu_map *listed = perf_cpu_map__new(list);
	struct perf_cpu_map *cpus = perf_cpu_map__intersect(listed, all);

	perf_cpu_map__put(listed);
	if (perf_cpu_map__is_empty(cpus)) {
		perf_cpu_map__put(cpus);
		return 0;
	}
	return add_place(spec, cpus, perf_cpu_map__get(cpus));
}

static int add_cpus(struct reader_spec *spec, struct perf_cpu_map *all)
{
	struct perf_cpu cpu;
	char number[16];
	cpu_index_t i;
	int err = 0;

	perf_cpu_map__for_each_cpu(cpu, i, all) {
		snprintf(number, sizeof(number), "%d", cpu.cpu);
		err = add_list(spec, number, all);
		if (err)
			break;
	}
	return err;
}

static int add_lists(struct reader_spec *spec, const char **lists, u32 nr, struct perf_cpu_map *all)
{
	u32 i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = add_list(spec, lists[i], all);
	return err;
}

static int add_topology(struct reader_spec *spec, bool packages, struct perf_cpu_map *all)
{
	struct cpu_topology *topology = cpu_topology__new();
	int err;

	if (!topology)
		return -ENOENT;
	if (packages)
		err = add_lists(spec, topology->package_cpus_list, topology->package_cpus_lists,
				all);
	else
		err = add_lists(spec, topology->core_cpus_list, topology->core_cpus_lists, all);
	cpu_topology__delete(topology);
	return err;
}

static int add_nodes(struct reader_spec *spec, struct perf_cpu_map *all)
{
	struct numa_topology *topology = numa_topology__new();
	int err = 0;
	u32 i;

	if (!topology)
		return -ENOENT;
	for (i = 0; i < topology->nr && !err; i++)
		err = add_list(spec, topology->nodes[i].cpus, all);
	numa_topology__delete(topology);
	return err;
}

/*
 * Lists
 */

/*
 * No kernel numbers CPUs with more than four digits, and perf_cpu_map__new() takes hours for
 * millions.
 */
bool reader_spec__is_list(const char *text)
{
	size_t digits, pos;

	for (pos = 0; text[pos]; pos += digits + (text[pos + digits] != '\0')) {
		digits = strspn(text + pos, "0123456789");
		if (digits > 4)
			return false;
	}
	return isdigit(*text) && strspn(text, "0123456789,-") == pos;
}

/* Return: the existing CPUs of a list; NULL after an error message if there are none. */
static struct perf_cpu_map *read_list(const char *list, struct perf_cpu_map *all)
{
	struct perf_cpu_map *listed = reader_spec__is_list(list) ? perf_cpu_map__new(list) : NULL;
	struct perf_cpu_map *cpus = NULL;

	if (!listed) {
		pr_err("--threads: '%s' is not a list of CPUs. Example: --threads=0,2-4/2-4:1,5-7/5-7\n",
		       list);
		return NULL;
	}
	cpus = perf_cpu_map__intersect(listed, all);
	perf_cpu_map__put(listed);
	if (perf_cpu_map__is_empty(cpus)) {
		pr_err("--threads: none of the CPUs %s exists.\n", list);
		perf_cpu_map__put(cpus);
		return NULL;
	}
	return cpus;
}

static bool overlap(struct perf_cpu_map *a, struct perf_cpu_map *b)
{
	struct perf_cpu_map *both = perf_cpu_map__intersect(a, b);
	bool any = !perf_cpu_map__is_empty(both);

	perf_cpu_map__put(both);
	return any;
}

static int check_place(const struct reader_spec *spec, struct perf_cpu_map *cpus,
		       struct perf_cpu_map *affinity, const char *text)
{
	int i;

	for (i = 0; i < spec->nr; i++) {
		if (!overlap(spec->places[i].cpus, cpus) &&
		    !overlap(spec->places[i].affinity, affinity))
			continue;
		pr_err("--threads: '%s' names a CPU that an earlier thread has.\n", text);
		return -EINVAL;
	}
	return 0;
}

/* Parse CPUS/AFFINITY; modifies the text. */
static int add_pair(struct reader_spec *spec, char *text, struct perf_cpu_map *all)
{
	struct perf_cpu_map *cpus, *affinity = NULL;
	char *second = strchr(text, '/');
	int err = -EINVAL;

	if (!second) {
		pr_err("--threads: '%s' is neither cpu, core, package or numa, nor CPUs with a slash and "
		       "the affinity of their thread. Example: --threads=0,2-4/2-4:1,5-7/5-7\n",
		       text);
		return err;
	}
	*second++ = '\0';
	cpus = read_list(text, all);
	if (cpus)
		affinity = read_list(second, all);
	if (affinity)
		err = check_place(spec, cpus, affinity, text);
	if (!err)
		return add_place(spec, cpus, affinity);
	perf_cpu_map__put(cpus);
	perf_cpu_map__put(affinity);
	return err;
}

static int add_pairs(struct reader_spec *spec, const char *text, struct perf_cpu_map *all)
{
	char *copy = strdup(text), *rest = copy, *pair;
	int err = copy ? 0 : -ENOMEM;

	while (!err && (pair = strsep(&rest, ":")))
		err = add_pair(spec, pair, all);
	free(copy);
	return err;
}

int reader_spec__parse(struct reader_spec *spec, const char *text, struct perf_cpu_map *all)
{
	int err;

	*spec = (struct reader_spec){ 0 };
	if (!text || !*text || !strcmp(text, "cpu"))
		err = add_cpus(spec, all);
	else if (!strcmp(text, "core") || !strcmp(text, "package"))
		err = add_topology(spec, *text == 'p', all);
	else if (!strcmp(text, "numa"))
		err = add_nodes(spec, all);
	else
		err = add_pairs(spec, text, all);

	if (err == -ENOENT)
		pr_err("%s: cannot read the layout of the CPUs from /sys/devices/system.\n", text);
	if (err)
		reader_spec__exit(spec);
	return err;
}

int reader_spec__parse_online(struct reader_spec *spec, const char *text)
{
	struct perf_cpu_map *online = perf_cpu_map__new_online_cpus();
	int err = online ? reader_spec__parse(spec, text, online) : -ENOMEM;

	perf_cpu_map__put(online);
	return err;
}

void reader_spec__exit(struct reader_spec *spec)
{
	int i;

	for (i = 0; i < spec->nr; i++) {
		perf_cpu_map__put(spec->places[i].cpus);
		perf_cpu_map__put(spec->places[i].affinity);
	}
	zfree(&spec->places);
	spec->nr = 0;
}

int reader_spec__find(const struct reader_spec *spec, struct perf_cpu cpu)
{
	int i;

	for (i = 0; i < spec->nr; i++) {
		if (perf_cpu_map__has(spec->places[i].cpus, cpu))
			return i;
	}
	return -1;
}
