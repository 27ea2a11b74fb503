/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which reader drains the rings of which CPUs, and where it runs: --threads.
 *
 *	cpu, core, package, numa	one for each, on the CPUs whose rings it drains
 *	0,2-4/2-4:1,5-7/5-7		these: CPUs of the rings/CPUs to run on:...
 */
#ifndef PERF_RECORDING_READER_SPEC_H
#define PERF_RECORDING_READER_SPEC_H

#include <stdbool.h>
#include <perf/cpumap.h>

/**
 * struct reader_place - of one reader
 * @cpus:	whose rings it drains; a reference
 * @affinity:	the CPUs that it runs on; a reference
 */
struct reader_place {
	struct perf_cpu_map *cpus;
	struct perf_cpu_map *affinity;
};

/**
 * struct reader_spec
 * @places:	@nr of them
 */
struct reader_spec {
	struct reader_place *places;
	int		     nr;
};

/**
 * reader_spec__parse - what --threads=@text says
 * @text:	NULL or empty is as "cpu"
 * @all:	the CPUs that there are. Others are left out; a list of others only is refused.
 *
 * Return: 0, then to be freed with reader_spec__exit(); or a negative errno after an error message.
 */
int reader_spec__parse(struct reader_spec *spec, const char *text, struct perf_cpu_map *all);

/** reader_spec__exit - harmless if @spec is zeroed */
void reader_spec__exit(struct reader_spec *spec);

/** reader_spec__find - Return: the place whose reader drains the rings of @cpu, or -1 */
int reader_spec__find(const struct reader_spec *spec, struct perf_cpu cpu);

/** reader_spec__is_list - is this worth being taken for a list of CPUs, such as 0,2-4? */
bool reader_spec__is_list(const char *text);

#endif
