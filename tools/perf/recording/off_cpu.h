/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The time that tasks were not running (--off-cpu).
 *
 * util's BPF program looks at context switches, and sums up for each task and stack how long it was away.
 * When the recording ends, the sums become samples of an event of their own, whose times mean nothing: they
 * come after everything else in the file, the last one where files are switched.
 */
#ifndef PERF_RECORDING_OFF_CPU_H
#define PERF_RECORDING_OFF_CPU_H

#include <stdbool.h>

struct channels;
struct evsel;
struct output;
struct record_opts;

/**
 * struct off_cpu
 * @wanted:	by the user; without it nothing of the below does anything
 * @evsel:	the event, in the evlist, once the program is loaded
 */
struct off_cpu {
	bool		 wanted;
	struct evsel	*evsel;
};

/**
 * off_cpu__prepare - load the program, and add the event
 * @output:	has the events, whose CPUs and threads are known
 *
 * Return: 0, or a negative errno after an error message.
 */
int off_cpu__prepare(struct off_cpu *off_cpu, struct output *output, struct record_opts *opts);

/** off_cpu__start - the program begins to look; of a command, when it has been forked */
void off_cpu__start(const struct off_cpu *off_cpu);

/**
 * off_cpu__write - write the samples; nobody else writes to those rings' accounts any more
 * @channels:	their samples are counted with those of the event's first ring
 *
 * Return: 0, or a negative errno.
 */
int off_cpu__write(const struct off_cpu *off_cpu, struct channels *channels, struct output *output);

/** off_cpu__exit - unload the program */
void off_cpu__exit(struct off_cpu *off_cpu);

#endif
