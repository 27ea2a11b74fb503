/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Record how long tasks were not running (--off-cpu).
 *
 * util's BPF program observes context switches, and sums up for each task and stack how long the
 * task was off the CPU. At the end of the recording the sums become samples of an event of their
 * own. Their timestamps mean nothing, so they are written after all other records, to the last file
 * if files are switched.
 *
 * In mainline, the program adds up only times below a threshold (--off-cpu-thresh). The program
 * writes longer ones to the rings of the event at once, as samples with the time at which they end.
 */
#ifndef PERF_RECORDING_OFF_CPU_H
#define PERF_RECORDING_OFF_CPU_H

#include <stdbool.h>

/* By default, a sleep from this length on is a sample of its own [ns]. */
#define OFF_CPU_THRESH_NS	500000000ULL

struct channels;
struct evsel;
struct output;
struct record_opts;

/**
 * struct off_cpu
 * @wanted:	--off-cpu was given; otherwise the functions below do nothing
 * @evsel:	the event, in the evlist; NULL until the program is loaded
 */
struct off_cpu {
	bool		 wanted;
	struct evsel	*evsel;
};

/**
 * off_cpu__prepare - load the BPF program and add the event to the evlist
 * @output:	its evlist has the events, whose CPUs and threads are known
 *
 * Return: 0, or a negative errno after an error message.
 */
int off_cpu__prepare(struct off_cpu *off_cpu, struct output *output, struct record_opts *opts);

/**
 * off_cpu__configure - after evlist__config(): enable the event for good
 *
 * The event is on CPUs, not on tasks: no task's exec enables it. The program writes nothing to it
 * before off_cpu__start().
 */
void off_cpu__configure(const struct off_cpu *off_cpu);

/** off_cpu__start - let the program begin; a command to record has been forked */
void off_cpu__start(const struct off_cpu *off_cpu);

/**
 * off_cpu__write - write the samples
 * @channels:	the samples are counted in the stats of the event's first ring, which no other
 *		thread updates any more
 *
 * Return: 0, or a negative errno.
 */
int off_cpu__write(const struct off_cpu *off_cpu, struct channels *channels, struct output *output);

/** off_cpu__exit - unload the BPF program */
void off_cpu__exit(struct off_cpu *off_cpu);

#endif
