/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load the BPF programs that write events to rings (util/bpf_skel/event_ring.bpf.c).
 *
 * bpf_ring.c decides what they write, and maps their rings. This file is apart from it because
 * libbpf has a struct ring, too.
 */
#ifndef PERF_RECORDING_BPF_PROGRAMS_H
#define PERF_RECORDING_BPF_PROGRAMS_H

#include <stddef.h>
#include <sys/types.h>
#include "util/bpf_skel/event_ring.h"

struct bpf_programs;

/** bpf_programs__new - Return: an object without programs, to be deleted; NULL without memory */
struct bpf_programs *bpf_programs__new(void);

/** bpf_programs__select - load a program, too, to write in the layout @variant */
void bpf_programs__select(struct bpf_programs *programs, enum ring_event program, int variant);

/** bpf_programs__select_calls - let @program also write events of single system calls */
void bpf_programs__select_calls(struct bpf_programs *programs, enum ring_event program);

/**
 * bpf_programs__load - load the programs that were selected
 * @data_bytes:	size of the data area of each ring: a power of two
 * @nr_cpus:	more than the highest number of a CPU
 * @own_tgid:	process whose system calls are not recorded; 0: all are
 *
 * Return: 0, or a negative errno of bpf(2).
 */
int bpf_programs__load(struct bpf_programs *programs, size_t data_bytes, int nr_cpus,
		       pid_t own_tgid);

/**
 * bpf_programs__add_ring - create the ring of a CPU
 * @node:	NUMA node of its memory
 *
 * Return: a descriptor to be mapped read-only, which the programs own; or a negative errno.
 */
int bpf_programs__add_ring(struct bpf_programs *programs, int cpu, int node);

/** bpf_programs__words - Return: what may be changed while the programs run; once they are loaded */
struct event_ring_words *bpf_programs__words(struct bpf_programs *programs);

/** bpf_programs__fd - descriptor of a program */
int bpf_programs__fd(const struct bpf_programs *programs, enum ring_event program);

/** bpf_programs__attach - attach the programs. Return: 0, or a negative errno */
int bpf_programs__attach(struct bpf_programs *programs);

/** bpf_programs__delete - detach the programs, and free the rings; @programs may be NULL */
void bpf_programs__delete(struct bpf_programs *programs);

/** bpf_program_fd__misses - how often the program was not run because it had interrupted itself */
unsigned long long bpf_program_fd__misses(int fd);

#endif
