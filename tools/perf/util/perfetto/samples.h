/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write samples with the places and stacks at which they were taken.
 *
 * Each event is a sequence of its own, with its own table of functions, files and stacks.
 */
#ifndef PERF_PERFETTO_SAMPLES_H
#define PERF_PERFETTO_SAMPLES_H

#include "util/convert/task_ids.h"
#include "packets.h"

struct evsel;
struct machine;
struct perf_sample;
struct sample_table;
struct thread;

/**
 * struct samples
 * @packets:	output
 * @tables:	for each event, what was interned; NULL before its first sample
 * @nr_tables:	number of @tables
 */
struct samples {
	struct packets		 *packets;
	struct sample_table	**tables;
	unsigned int		  nr_tables;
};

void samples__init(struct samples *samples, struct packets *packets);
void samples__exit(struct samples *samples);

/**
 * samples__add - write a sample
 * @thread:	to resolve addresses, by the ids of the file; or NULL
 *
 * Return: 0 or a negative errno.
 */
int samples__add(struct samples *samples, struct evsel *evsel, struct perf_sample *sample,
		 const struct moment *at, struct machine *machine, struct thread *thread);

#endif
