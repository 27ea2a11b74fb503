/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parse --threads: which reader drains the rings of which CPUs, and where it runs.
 *
 *	cpu, core, package, numa	a reader for each, on the CPUs whose rings it drains
 *	0,2-4/2-4:1,5-7/5-7		a list: CPUs of the rings/CPUs to run on:...
 */
#ifndef PERF_RECORDING_READER_SPEC_H
#define PERF_RECORDING_READER_SPEC_H

#include <stdbool.h>
#include <perf/cpumap.h>

/**
 * struct reader_place - place of one reader
 * @cpus:	CPUs whose rings it drains; a reference
 * @affinity:	the CPUs that it runs on; a reference
 */
struct reader_place {
	struct perf_cpu_map *cpus;
	struct perf_cpu_map *affinity;
};

/**
 * struct reader_spec
 * @places:	@nr places
 */
struct reader_spec {
	struct reader_place *places;
	int		     nr;
};

/**
 * reader_spec__parse - parse --threads=@text
 * @text:	NULL or empty means "cpu"
 * @all:	the existing CPUs. Others are ignored; a list without any existing CPU is refused.
 *
 * The caller frees @spec with reader_spec__exit().
 *
 * Return: 0, or a negative errno after an error message.
 */
int reader_spec__parse(struct reader_spec *spec, const char *text, struct perf_cpu_map *all);

/** reader_spec__parse_online - as reader_spec__parse(), with the CPUs that are online */
int reader_spec__parse_online(struct reader_spec *spec, const char *text);

/** reader_spec__exit - harmless if @spec is zeroed */
void reader_spec__exit(struct reader_spec *spec);

/** reader_spec__find - Return: the place whose reader drains the rings of @cpu, or -1 */
int reader_spec__find(const struct reader_spec *spec, struct perf_cpu cpu);

/** reader_spec__is_list - does @text look like a list of CPUs, such as 0,2-4? */
bool reader_spec__is_list(const char *text);

#endif
