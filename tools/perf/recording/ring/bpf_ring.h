/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Let BPF programs write frequent tracepoints to rings of their own, at a third of perf's cost.
 *
 *	tracepoint ---- perf: perf_event_output() ----> ring of the event's perf_event
 *	           ---- BPF:  event_ring.bpf.c -------> BPF array, one for each CPU
 *
 * The rings of overwrite events have the control page, the records and the trailers of an overwrite
 * ring of PERF_SAMPLE_SIZE_AT_END (util/bpf_skel/event_ring.h), with data_reserved: libperf's
 * snapshots need neither a grace period nor a pause, on stock kernels as well. Other events have
 * rings that readers drain (readers.h) as those of perf; a doorbell wakes them up (doorbell.h). In
 * a recording with both, BPF writes the overwrite events only.
 *
 * All else stays as with perf's rings: each event has descriptors, but of dummy events, which give
 * it ids and cost nothing.
 *
 * The programs know a table of events, and one sample format. bpf_ring__add_events() marks the
 * events that they write (evsel__is_bpf_written() of lib/evsel.h), and says of the others why not.
 * The time of all events of the recording is CLOCK_MONOTONIC then.
 *
 * All functions run in the main thread, except for bpf_ring__sync() and bpf_ring__lost().
 */
#ifndef PERF_RECORDING_BPF_RING_H
#define PERF_RECORDING_BPF_RING_H

#include <stdbool.h>
#include <linux/types.h>
#include <sys/types.h>
#include "bpf_events.h"
#include "bpf_pins.h"

struct bpf_programs;
struct channels;
struct evlist;
struct evsel;
struct record_opts;
struct ring_event_config;

/** enum bpf_ring_mode - --bpf-ring */
enum bpf_ring_mode {
	BPF_RING_AUTO,
	BPF_RING_YES,
	BPF_RING_NO,
};

/**
 * struct bpf_written_event - what the private pointer of a marked event points to
 * @kind:	how the event is written
 * @config:	shared with the program; NULL before the program is attached
 * @programs:	has the counters; NULL before the program is attached
 * @lost:	of each CPU, when they were read last; owned
 * @filter:	number of its filter; 0: it has none
 * @cgroup:	number of the cgroup that it is bound to; 0: none
 * @counts_misses: the misses of the program are those of this event, and not another's
 */
struct bpf_written_event {
	struct bpf_event_kind		  kind;
	volatile struct ring_event_config *config;
	const struct bpf_programs	 *programs;
	unsigned long long		 *lost;
	int				  filter;
	int				  cgroup;
	bool				  counts_misses;
};

/**
 * struct bpf_ring
 * @mode:	an option
 * @events:	@nr that are written by BPF; NULL: none
 * @drained:	they are streamed, not overwritten
 * @has_cgroup:	their samples have the cgroup of the task
 * @marker:	config1 of the event that marks the recorded tasks; 0: CPUs are recorded
 * @programs:	NULL: no event is written by BPF
 * @pin:	an option: let the programs and their rings outlive perf under this name; NULL: no
 * @pins:	its directory; not open: nothing is pinned
 * @refused:	they differ from what this recorder would load
 * @saved:	what is pinned is in files: bpf_ring__exit() removes it
 * @reason:	why no event at all can be written by BPF, or NULL
 */
struct bpf_ring {
	enum bpf_ring_mode	 mode;
	struct bpf_written_event *events;
	int			 nr;
	bool			 drained;
	bool			 has_cgroup;
	__u64			 marker;
	struct bpf_programs	*programs;
	const char		*pin;
	struct bpf_pins		 pins;
	bool			 refused;
	bool			 saved;
	const char		*reason;
};

/** bpf_ring__parse - parse "auto", "yes" or "no". Return: 0, or -EINVAL */
int bpf_ring__parse(enum bpf_ring_mode *mode, const char *text);

/**
 * bpf_ring__choose_clock - record with CLOCK_MONOTONIC if an event may be written by BPF
 *
 * Before the events are configured. Notes in @ring->reason why none may be.
 */
void bpf_ring__choose_clock(struct bpf_ring *ring, struct evlist *evlist, struct record_opts *opts);

/**
 * bpf_ring__add_events - load the programs for the events that they can write, and mark these
 * @evlist:	configured, not opened
 * @own_tgid:	process to be excluded, see bpf_ring__excludes_own(); 0: none
 *
 * With @ring->pin, adopts the programs that a killed recorder has left there.
 *
 * Return: 0, also if perf's rings take all events; -EOPNOTSUPP after an error message if that was
 * ruled out by --bpf-ring=yes; another negative errno after an error message if what is pinned
 * cannot be used.
 */
int bpf_ring__add_events(struct bpf_ring *ring, struct evlist *evlist,
			 const struct record_opts *opts, pid_t own_tgid);

/**
 * bpf_ring__excludes_own - do the programs exclude the recorder from an event that they write?
 *
 * Always from system calls, and from events that are streamed, but for those of the scheduler and
 * of interrupts: their records are about other tasks as well. Where programs cannot tell
 * interrupts (event_ring_plain.bpf.c), only from system calls and page faults.
 */
bool bpf_ring__excludes_own(struct evsel *evsel);

/**
 * bpf_ring__map - create and map a ring for each CPU, and attach the programs, disabled
 * @channels:	receive the rings; channels__unmap() unmaps them
 * @evlist:	opened, with ids
 * @pages:	as of channels__map()
 *
 * Return: 0, or a negative errno after an error message.
 */
int bpf_ring__map(struct bpf_ring *ring, struct channels *channels, struct evlist *evlist,
		  unsigned int pages);

/**
 * bpf_ring__pinned - are programs pinned? Once the rings are mapped.
 *
 * bpf_ring__commit() must complete that.
 */
bool bpf_ring__pinned(const struct bpf_ring *ring);

/** bpf_ring__adopted - have the rings records of a recorder that was killed? Likewise. */
bool bpf_ring__adopted(const struct bpf_ring *ring);

/**
 * bpf_ring__commit - pin a perf.data file that describes the events
 *
 * Return: 0, or a negative errno after an error message.
 */
int bpf_ring__commit(struct bpf_ring *ring, int fd);

/**
 * bpf_ring__next - where a BPF program may be put that shall run at @tracepoint
 *
 * A program costs less there, after the one that writes this event, than if it is attached to the
 * tracepoint.
 *
 * Return: a descriptor of a BPF array with one place, valid until bpf_ring__exit(); -1 if there is
 * none, once the rings are mapped.
 */
int bpf_ring__next(const struct bpf_ring *ring, const char *tracepoint);

/**
 * bpf_ring__pass_time - pass the time of sys_enter to the program that runs after it
 *
 * Return: a descriptor of a BPF map with the struct event_ring_time of each CPU, valid until
 * bpf_ring__exit(); -1 if there is none.
 */
int bpf_ring__pass_time(struct bpf_ring *ring);

/** bpf_ring__sync - enable and disable in the programs what is enabled and disabled in @evlist */
void bpf_ring__sync(struct evlist *evlist);

/**
 * bpf_ring__lost - number of events that the programs have missed on a CPU since they were loaded
 * @cpu_idx:	index in the CPUs of @evsel; 0 reads the counts of all CPUs
 *
 * A program writes nothing if the ring is full, or if it has interrupted too many others. The
 * kernel does not run a program that has interrupted itself: this is counted for all CPUs together,
 * and reported with the first. In any thread, but in one at a time.
 */
u64 bpf_ring__lost(const struct evsel *evsel, int cpu_idx);

/**
 * bpf_ring__exit - detach the programs and free everything; harmless if there is nothing
 *
 * Pinned rings that were not saved stay pinned.
 */
void bpf_ring__exit(struct bpf_ring *ring);

#endif
