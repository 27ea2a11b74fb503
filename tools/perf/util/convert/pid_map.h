/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Translate the ids of tasks if the file was recorded in a PID namespace.
 *
 * The tid of a sample, and those in records of tasks, are then ids of this namespace, and 0 for all
 * tasks outside it. Fields of tracepoints, as next_pid and common_pid, are ids of the initial
 * namespace. A sample of a tracepoint has both. Only the ids of the initial namespace are unique,
 * so all tasks are shown with these.
 */
#ifndef PERF_CONVERT_PID_MAP_H
#define PERF_CONVERT_PID_MAP_H

#include <stdbool.h>

struct evsel;
struct hashmap;
struct perf_data;
struct perf_sample;

/**
 * struct pid_map
 * @initial:	for each tid of the recorder's namespace, the id in the initial one
 * @in_namespace: the file was recorded in a PID namespace
 */
struct pid_map {
	struct hashmap	*initial;
	bool		 in_namespace;
};

/**
 * pid_map__read - find out whether the file was recorded in a PID namespace, and learn all ids
 * @data:	a file; nothing is read from a pipe
 *
 * Stops at the first sample of a tracepoint if both ids are the same. Release with pid_map__exit().
 *
 * Return: 0, or -ENOMEM.
 */
int pid_map__read(struct pid_map *map, struct perf_data *data);
void pid_map__exit(struct pid_map *map);

/** pid_map__common_pid - return the initial id of the task of a sample; 0 if the sample lacks it */
int pid_map__common_pid(struct evsel *evsel, struct perf_sample *sample);

/** pid_map__differs - does the sample show that it was recorded in a PID namespace? */
bool pid_map__differs(struct evsel *evsel, struct perf_sample *sample);

/** pid_map__learn - note both ids of the sample's task. Return: 0, or -ENOMEM */
int pid_map__learn(struct pid_map *map, struct evsel *evsel, struct perf_sample *sample);

/** pid_map__initial - return the initial id of the task @tid; -1 if it is not known */
int pid_map__initial(const struct pid_map *map, int tid);

#endif
