/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attach BPF programs to tracepoints by an event of perf: perf's function for the tracepoint calls
 * them with preemption disabled.
 *
 * Linux 6.18 runs all programs of tracepoints like that, 7.3 only these. A program that is attached
 * to the tracepoint itself, and is preempted there, is skipped by the kernel for all other tasks of
 * that CPU until it goes on. Programs of system calls lost a third of the calls of four busy tasks.
 */
#ifndef PERF_RECORDING_BPF_ATTACH_H
#define PERF_RECORDING_BPF_ATTACH_H

#include <stdbool.h>

struct bpf_link;
struct bpf_program;

/** bpf_attach__is_preemptible - does the kernel preempt programs of tracepoints? */
bool bpf_attach__is_preemptible(void);

/** bpf_attach__passes_state - does sched_switch pass the state of the task to programs? */
bool bpf_attach__passes_state(void);

/**
 * bpf_attach__by_perf - let perf's function for a tracepoint call @program, on all CPUs
 *
 * Other users of perf get the events that they got before, as long as the program returns 1.
 *
 * Return: the link, to be destroyed; NULL with errno set.
 */
struct bpf_link *bpf_attach__by_perf(struct bpf_program *program, const char *system,
				     const char *name);

#endif
