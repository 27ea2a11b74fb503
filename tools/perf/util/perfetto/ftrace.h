/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write samples of tracepoints as events of ftrace, in bundles of one CPU.
 *
 * Perfetto has messages for the events of the scheduler, interrupts and system calls, of which it
 * draws CPUs, states of threads, arrows and slices. Other events are generic: they have their names
 * as perf prints them, and all fields. Elements of arrays are fields as "saddr[0]", arrays of bytes
 * a text of hexadecimal digits. Samples of bpf-output are generic events, too, with their data.
 */
#ifndef PERF_PERFETTO_FTRACE_H
#define PERF_PERFETTO_FTRACE_H

#include "util/convert/task_ids.h"
#include "packets.h"

struct evlist;
struct evsel;
struct perf_sample;

/**
 * struct ftrace
 * @packets:	output
 * @bundles:	for each CPU, the events that are not written yet
 * @nr_bundles:	number of @bundles
 * @raw_enter:	the file has raw_syscalls:sys_enter: syscalls:sys_enter_* are generic events
 * @raw_exit:	likewise
 */
struct ftrace {
	struct packets	*packets;
	struct proto	*bundles;
	unsigned int	 nr_bundles;
	bool		 raw_enter;
	bool		 raw_exit;
};

void ftrace__init(struct ftrace *ftrace, struct packets *packets);
void ftrace__exit(struct ftrace *ftrace);

/** ftrace__prepare - look at the events; call it before the first sample */
void ftrace__prepare(struct ftrace *ftrace, struct evlist *evlist);

/**
 * ftrace__add - add a sample, which has a CPU
 *
 * Keeps up to 64 kB for each CPU. Return: 0 or a negative errno.
 */
int ftrace__add(struct ftrace *ftrace, struct evsel *evsel, const struct perf_sample *sample,
		const struct moment *at);

/** ftrace__flush - write what is kept. Return: 0 or a negative errno */
int ftrace__flush(struct ftrace *ftrace);

#endif
