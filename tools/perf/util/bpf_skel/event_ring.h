/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Describe the rings that event_ring.bpf.c writes, for the programs and for perf record.
 *
 * A ring is the only element of a BPF array of its own, which user space maps read-only:
 *
 *	offset 0		struct perf_event_mmap_page: data_head, data_reserved[4],
 *				capabilities
 *	EVENT_RING_STATE	struct event_ring_state: words of the programs
 *	EVENT_RING_DATA		data area, a power of two
 *	+ its size		EVENT_RING_SLACK bytes: a record that passes the end of the data
 *				area is written here, and the part beyond the end is copied to the
 *				beginning
 *
 * Records, trailers and the order of stores are those of an overwrite ring with
 * PERF_SAMPLE_SIZE_AT_END: see <linux/perf_event_trailer.h> and perf/overwrite.h.
 *
 * A ring that is drained all the time is mapped writable. Its records have no trailers, and are
 * those of a ring of perf: the programs respect data_tail, and write PERF_RECORD_LOST before the
 * first record that fits again. When the ring is half full, they send a word to the BPF ring buffer
 * of the CPU, which wakes the reader.
 */
#ifndef __EVENT_RING_H
#define __EVENT_RING_H

#define EVENT_RING_STATE	2048
#define EVENT_RING_DATA		4096
#define EVENT_RING_SLACK	256

/*
 * A ring that is drained is full when less than this is free: see is_full() of event_ring_write.h.
 */
#define EVENT_RING_RESERVE	2048

/*
 * The programs: "on_NAME" is attached to the tracepoint NAME. The first two also write the events
 * of single system calls; where the kernel preempts programs, "at_NAME" takes their place.
 */
#define RING_PROGRAMS(X)	\
	X(sys_enter)		\
	X(sys_exit)		\
	X(sched_switch)		\
	X(sched_waking)		\
	X(sched_wakeup)		\
	X(sched_wakeup_new)	\
	X(sched_migrate_task)	\
	X(sched_stat_runtime)	\
	X(sched_process_fork)	\
	X(sched_process_exit)	\
	X(irq_handler_entry)	\
	X(irq_handler_exit)	\
	X(softirq_entry)	\
	X(softirq_exit)		\
	X(softirq_raise)	\
	X(page_fault_user)	\
	X(page_fault_kernel)	\
	X(timer_start)		\
	X(timer_cancel)		\
	X(timer_expire_entry)	\
	X(timer_expire_exit)	\
	X(hrtimer_start)	\
	X(hrtimer_cancel)	\
	X(hrtimer_expire_entry)	\
	X(hrtimer_expire_exit)	\
	X(block_rq_insert)	\
	X(block_rq_issue)	\
	X(block_rq_complete)	\
	X(net_dev_queue)	\
	X(net_dev_xmit)		\
	X(netif_rx)		\
	X(netif_receive_skb)	\
	X(napi_poll)		\
	X(workqueue_queue_work)		\
	X(workqueue_activate_work)	\
	X(workqueue_execute_start)	\
	X(workqueue_execute_end)

#define RING_EVENT_OF(name)	RING_EVENT_##name,
enum ring_event {
	RING_PROGRAMS(RING_EVENT_OF)
	NR_RING_EVENTS,
};

/* Do the programs of this tracepoint write system calls? */
#define RING_IS_CALL(event)	((event) <= RING_EVENT_sys_exit)

#define RING_IS_FAULT(event)						\
	((event) == RING_EVENT_page_fault_user || (event) == RING_EVENT_page_fault_kernel)

/* Programs after which another one may run: event_ring_next.h */
#define RING_CHAINS(X)		\
	X(sys_enter)		\
	X(sys_exit)		\
	X(sched_switch)		\
	X(sched_wakeup)		\
	X(sched_wakeup_new)

/* System calls with a number below this can have events of their own. */
#define NR_RING_CALLS		512

/*
 * Entries of the map "lost": the programs' events, those of entering single calls, of leaving them
 */
#define NR_RING_COUNTERS	(NR_RING_EVENTS + 2 * NR_RING_CALLS)

/* A filter has up to 15 comparisons; the programs know up to 31 filters. */
#define MAX_RING_COMPARISONS	15
#define NR_RING_FILTERS		32

/* Events may be bound to up to 16 cgroups. */
#define NR_RING_CGROUPS		16

/* Where a filter finds the fields: in memory laid out as the record, and behind it */
#define EVENT_RING_SCRATCH	512
#define RING_FILTER_COMM	EVENT_RING_SCRATCH
#define RING_FILTER_CPU		(EVENT_RING_SCRATCH + 16)

/* Results of a filter, in the place of the next comparison */
#define RING_ACCEPTS		0xfe
#define RING_REJECTS		0xff

enum ring_operator {
	RING_EQUALS,
	RING_HAS_BITS,
	RING_IS_LESS,
	RING_IS_GREATER,
	RING_IS_TEXT,
};

/**
 * struct ring_comparison - compare a field with a constant
 * @value:	to compare with; the second word only of texts
 * @mask:	bits to compare, of texts
 * @offset:	of the field in that memory [bytes]; less than 2 * EVENT_RING_SCRATCH
 * @shift:	64 - bits of the field
 * @is_signed:	the field is
 * @operator:	enum ring_operator
 * @if_true:	the next comparison, which has a higher number; or a result
 * @if_false:	likewise
 */
struct ring_comparison {
	unsigned long long	value[2];
	unsigned long long	mask[2];
	unsigned short		offset;
	unsigned char		shift;
	unsigned char		is_signed;
	unsigned char		operator;
	unsigned char		if_true;
	unsigned char		if_false;
	unsigned char		unused;
};

struct ring_filter {
	struct ring_comparison	comparisons[MAX_RING_COMPARISONS];
};

/*
 * Sample ids are those of perf for the first CPU, which have fewer bits, and the number of the CPU.
 */
#define RING_ID_ON_CPU(id, cpu)	((id) | (unsigned long long)(cpu) << 48)

/**
 * struct ring_event_config - what perf record and a program share about an event
 * @id:		for RING_ID_ON_CPU()
 * @ip:		instruction pointer of the samples; not of single system calls
 * @type:	id of the tracepoint
 * @enabled:	is the event recorded now? perf record writes it at any time
 * @nr_args:	of the system call
 * @filter:	number of its filter; 0: it has none
 * @counter:	index in the map "lost", which counts lost events for each CPU
 * @cgroup:	number of the cgroup whose tasks are recorded, from 1; 0: all tasks are
 */
struct ring_event_config {
	unsigned long long	id;
	unsigned long long	ip;
	unsigned short		type;
	unsigned char		enabled;
	unsigned char		nr_args;
	unsigned short		counter;
	unsigned char		filter;
	unsigned char		cgroup;
};

/**
 * struct event_ring_constants - what perf record sets before it loads the programs
 * @data_mask:	size of a data area - 8 [bytes]
 * @marker:	config1 of the event that the recorded tasks have; 0: all tasks are recorded
 * @drained:	the rings are drained all the time, instead of overwriting themselves
 * @has_cgroup: samples have the cgroup of the task
 * @enter_calls: are there events of entering single system calls?
 * @exit_calls:	likewise, of leaving
 * @awaits_exec: tasks are recorded once their marker is enabled, as exec does it
 * @binds_cgroups: is an event bound to a cgroup?
 * @preemptible: does the kernel preempt the programs, unless they disable that?
 * @wide_count:	is preempt_count() of the kernel a 64-bit word? Its bits have other places then, and
 *		so have those of thread_info.flags.
 * @passes_state: does sched_switch pass the state of the task to programs?
 * @filters_comm: does a filter compare the name of the current task?
 * @filtered:	programs of whose events some have filters
 * @excludes_own: programs whose events of event_ring_words.own_tgid are not recorded
 * @variant:	which of the layouts that a program knows is that of the kernel
 */
struct event_ring_constants {
	unsigned long long	data_mask;
	unsigned long long	marker;
	unsigned char		drained;
	unsigned char		has_cgroup;
	unsigned char		enter_calls;
	unsigned char		exit_calls;
	unsigned char		awaits_exec;
	unsigned char		binds_cgroups;
	unsigned char		preemptible;
	unsigned char		wide_count;
	unsigned char		passes_state;
	unsigned char		filters_comm;
	unsigned char		filtered[NR_RING_EVENTS];
	unsigned char		excludes_own[NR_RING_EVENTS];
	unsigned char		variant[NR_RING_EVENTS];
};

/**
 * struct event_ring_words - what perf record and the programs share while they run
 * @events:	of the tracepoints that have a program
 * @enter:	of single system calls, by number
 * @exit:	likewise
 * @own_tgid:	process whose events are not recorded; 0: all are
 * @own_start:	when that process was born, as a program has found it [ns]; 0: not yet. Pinned
 *		programs outlive the process, whose id may be that of another one then.
 * @passes_time: the program of sys_enter tells the next one the time (struct event_ring_time)
 */
struct event_ring_words {
	struct ring_event_config events[NR_RING_EVENTS];
	struct ring_event_config enter[NR_RING_CALLS];
	struct ring_event_config exit[NR_RING_CALLS];
	unsigned long long	 own_start;
	unsigned int		 own_tgid;
	unsigned int		 passes_time;
};

/**
 * struct event_ring_time - when a CPU last entered a system call; an entry of the map "enter_time"
 * @ns:		the time of its sample; 0: there is none
 *
 * The program of sys_enter writes it for the one that runs next: to read the clock takes longer
 * than all else that this one does.
 */
struct event_ring_time {
	unsigned long long	ns;
} __attribute__((aligned(64)));

/**
 * struct event_ring_state - words that only the programs on this CPU write
 * @head:	bytes reserved
 * @woken_at:	data_tail when the reader was last woken up; perf record sets it to ~0 before
 * @lost:	events that did not fit since the last PERF_RECORD_LOST
 * @nesting:	number of programs that are writing, each of which has interrupted the one before
 */
struct event_ring_state {
	unsigned long long	head;
	unsigned long long	woken_at;
	unsigned long long	lost;
	unsigned int		nesting;
	unsigned int		unused;
};

#endif
