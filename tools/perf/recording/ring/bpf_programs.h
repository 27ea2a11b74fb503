/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load the BPF programs that write events to rings (util/bpf_skel/event_ring.bpf.c).
 *
 * bpf_ring.c decides what they write, and maps their rings. This file is apart from it because
 * libbpf has a struct ring, too.
 */
#ifndef PERF_RECORDING_BPF_PROGRAMS_H
#define PERF_RECORDING_BPF_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include <sys/types.h>
#include "util/bpf_skel/event_ring.h"

struct bpf_pins;
struct bpf_programs;

/** bpf_programs__new - Return: an object without programs, to be deleted; NULL without memory */
struct bpf_programs *bpf_programs__new(void);

/** bpf_programs__select - load a program, too, to write in the layout @variant */
void bpf_programs__select(struct bpf_programs *programs, enum ring_event program, int variant);

/** bpf_programs__exclude_own - do not record events of @program in the process @own_tgid */
void bpf_programs__exclude_own(struct bpf_programs *programs, enum ring_event program);

/** bpf_programs__select_calls - let @program also write events of single system calls */
void bpf_programs__select_calls(struct bpf_programs *programs, enum ring_event program);

/**
 * bpf_programs__filter - let @program evaluate a filter
 * @number:	of it, for ring_event_config.filter: 1 to NR_RING_FILTERS - 1
 * @filter:	is copied
 */
void bpf_programs__filter(struct bpf_programs *programs, enum ring_event program, int number,
			  const struct ring_filter *filter);

/**
 * bpf_programs__add_cgroup - let events be bound to a cgroup
 * @number:	of it, for ring_event_config.cgroup: 1 to NR_RING_CGROUPS
 * @fd:		its directory, open until the programs are loaded
 */
void bpf_programs__add_cgroup(struct bpf_programs *programs, int number, int fd);

/**
 * struct bpf_ring_setup - what the programs write to
 * @data_bytes:	size of the data area of each ring: a power of two
 * @nr_cpus:	more than the highest number of a CPU
 * @drained:	the rings are drained, and do not overwrite themselves
 * @own_tgid:	process for bpf_programs__exclude_own(); 0: none
 * @marker:	config1 of the event that the recorded tasks have; 0: all tasks are recorded
 * @has_cgroup:	samples have the cgroup of the task
 * @preemptible: the kernel preempts programs, unless they disable that
 * @wide_count:	preempt_count() of the kernel is a 64-bit word
 * @passes_state: sched_switch passes the state of the task to programs
 * @awaits_exec: exec enables that event
 * @pins:	where another recorder may have left programs and rings, and where
 *		bpf_programs__pin() pins them; NULL: nowhere
 */
struct bpf_ring_setup {
	size_t	data_bytes;
	int	nr_cpus;
	bool	drained;
	bool	has_cgroup;
	pid_t	own_tgid;
	__u64	marker;
	bool	preemptible;
	bool	wide_count;
	bool	passes_state;
	bool	awaits_exec;
	struct bpf_pins *pins;
};

/**
 * bpf_programs__load - load the selected programs, or adopt those that are pinned
 *
 * Return: 0; a negative errno of bpf(2), -EBADF if a cgroup is not in the hierarchy of cgroup2; or
 * -ESTALE if programs are pinned that differ from these.
 */
int bpf_programs__load(struct bpf_programs *programs, const struct bpf_ring_setup *setup);

/**
 * bpf_programs__adopted - were they pinned? Then they run already, and write to rings that exist.
 */
bool bpf_programs__adopted(const struct bpf_programs *programs);

/**
 * bpf_programs__pin - once they are attached: pin them, all maps and all rings
 *
 * bpf_programs__commit() completes that. Return: 0, or a negative errno.
 */
int bpf_programs__pin(const struct bpf_programs *programs);

/**
 * bpf_programs__commit - pin the perf.data file @fd as the session. Return: 0, or a negative errno
 */
int bpf_programs__commit(const struct bpf_programs *programs, int fd);

/**
 * bpf_programs__add_ring - create the ring of a CPU, or take the one that was adopted
 * @node:	NUMA node of its memory
 *
 * Return: a descriptor to be mapped, which the programs own; or a negative errno: of adopted ones
 * -ENOENT if there is none, -EINVAL if it has another layout.
 */
int bpf_programs__add_ring(struct bpf_programs *programs, int cpu, int node);

/**
 * bpf_programs__have_all_rings - have bpf_programs__add_ring() taken all rings that were adopted?
 */
bool bpf_programs__have_all_rings(const struct bpf_programs *programs);

/**
 * bpf_programs__add_doorbell - create the BPF ring buffer that wakes the reader of a CPU's ring up
 *
 * Return: a descriptor that the caller closes, or a negative errno.
 */
int bpf_programs__add_doorbell(struct bpf_programs *programs, int cpu);

/**
 * bpf_programs__words - Return: what may be changed while the programs run; once they are loaded
 */
struct event_ring_words *bpf_programs__words(struct bpf_programs *programs);

/**
 * bpf_programs__read_lost - read a counter of the map "lost"
 * @counts:	receives the count of each CPU, by its number; below setup.nr_cpus
 */
void bpf_programs__read_lost(const struct bpf_programs *programs, unsigned int counter,
			     unsigned long long *counts);

/** bpf_programs__misses - how often @program was not run because it had interrupted itself */
unsigned long long bpf_programs__misses(const struct bpf_programs *programs,
					enum ring_event program);

/**
 * bpf_programs__next - the array for a program that runs after the one of @tracepoint
 *
 * Return: a descriptor of the BPF map, whose only place is free, as long as @programs exist; -1 if
 * no program is loaded for @tracepoint, or it has no such array.
 */
int bpf_programs__next(const struct bpf_programs *programs, const char *tracepoint);

/**
 * bpf_programs__pass_time - let the program of sys_enter pass its time to the one that runs next
 *
 * Return: a descriptor of the BPF map with the struct event_ring_time of each CPU, as long as
 * @programs exist; -1 if no program is loaded for sys_enter.
 */
int bpf_programs__pass_time(struct bpf_programs *programs);

/** bpf_programs__attach - attach the programs. Return: 0, or a negative errno */
int bpf_programs__attach(struct bpf_programs *programs);

/** bpf_programs__delete - detach the programs, and free the rings; @programs may be NULL */
void bpf_programs__delete(struct bpf_programs *programs);

#endif
