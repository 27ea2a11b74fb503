/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_RECORDING_BPF_ATTACH_H
#define PERF_RECORDING_BPF_ATTACH_H

struct bpf_link;
struct bpf_program;

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
