/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find the BPF program that writes an event: the table of events of util/bpf_skel/event_ring.h.
 *
 * A program stores the fields of its tracepoint at fixed offsets. An event is written by BPF only
 * if the kernel's format file has the same ones.
 */
#ifndef PERF_RECORDING_BPF_EVENTS_H
#define PERF_RECORDING_BPF_EVENTS_H

#include <stdbool.h>

struct evsel;
struct ring_filter;

/**
 * struct bpf_event_kind - how an event is written
 * @program:	enum ring_event
 * @variant:	which layout of the program is that of the kernel
 * @call:	number of the system call whose events these are; -1: not of a single one
 * @nr_args:	of @call
 */
struct bpf_event_kind {
	int	program;
	int	variant;
	int	call;
	int	nr_args;
};

/** bpf_events__know - is @evsel in the table, whatever its format? */
bool bpf_events__know(struct evsel *evsel);

/**
 * bpf_events__find - find the program of an event that is in the table
 *
 * Return: true; false if this kernel has another format of the event than the programs.
 */
bool bpf_events__find(struct evsel *evsel, struct bpf_event_kind *kind);

/**
 * bpf_events__filter - translate the filter of @evsel. Return: 0, or -EOPNOTSUPP as bpf_filter.h
 */
int bpf_events__filter(struct evsel *evsel, struct ring_filter *filter);

/** bpf_events__function - Return: the name of the function that has the tracepoint of @program */
const char *bpf_events__function(int program);

#endif
