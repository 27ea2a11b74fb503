/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Translate the filter of a tracepoint to comparisons that BPF programs evaluate
 * (util/bpf_skel/event_ring_filter.h).
 *
 * Covered are comparisons of integer fields, of fixed strings with == and !=, and of "comm" and
 * "cpu" of the current task, combined by &&, ||, ! and parentheses. Not covered are patterns (~),
 * strings of dynamic length, functions, sets of CPUs, flags of the common fields, and more than
 * MAX_RING_COMPARISONS comparisons. What is covered has the kernel's meaning: for example, an
 * event's own field "comm" takes precedence over the name of the current task.
 */
#ifndef PERF_RECORDING_BPF_FILTER_H
#define PERF_RECORDING_BPF_FILTER_H

struct ring_filter;
struct tep_event;

/**
 * bpf_filter__compile - translate a filter
 * @filter:	receives the comparisons
 * @event:	has the fields
 * @text:	in the syntax of the kernel
 *
 * Return: 0; -EOPNOTSUPP if it is not covered, which includes filters that the kernel refuses.
 */
int bpf_filter__compile(struct ring_filter *filter, const struct tep_event *event,
			const char *text);

#endif
