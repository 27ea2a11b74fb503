/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Describe the rings that event_ring.bpf.c writes, for the programs and for perf record.
 *
 * A ring is the only element of a BPF array of its own, which user space maps read-only:
 *
 *	offset 0		struct perf_event_mmap_page: data_head, data_reserved[4], capabilities
 *	EVENT_RING_STATE	struct event_ring_state: words of the programs
 *	EVENT_RING_DATA		data area, a power of two
 *	+ its size		EVENT_RING_SLACK bytes: a record that passes the end of the data area is
 *				written here, and the part beyond the end is copied to the beginning
 *
 * Records, trailers and the order of stores are those of an overwrite ring with
 * PERF_SAMPLE_SIZE_AT_END: see <linux/perf_event_trailer.h> and perf/overwrite.h.
 */
#ifndef __EVENT_RING_H
#define __EVENT_RING_H

#define EVENT_RING_STATE	2048
#define EVENT_RING_DATA		4096
#define EVENT_RING_SLACK	256

/* Events that the programs can write, in the order of the table in ring/bpf_ring.c */
enum ring_event {
	RING_EVENT_SYS_ENTER,
	RING_EVENT_SYS_EXIT,
	RING_EVENT_SCHED_SWITCH,
	RING_EVENT_SCHED_WAKING,
	RING_EVENT_SCHED_WAKEUP,
	RING_EVENT_SCHED_WAKEUP_NEW,
	NR_RING_EVENTS,
};

/**
 * struct ring_event_config - what perf record tells the programs of an event
 * @id:		sample id
 * @ip:		instruction pointer of its samples
 * @type:	id of the tracepoint
 */
struct ring_event_config {
	unsigned long long	id;
	unsigned long long	ip;
	unsigned int		type;
};

/**
 * struct event_ring_constants - what perf record sets before it loads the programs
 * @data_mask:	size of a data area - 8 [bytes]
 * @own_tgid:	process whose system calls are not recorded; 0: all are
 */
struct event_ring_constants {
	unsigned long long	data_mask;
	unsigned int		own_tgid;
	unsigned int		unused;
};

/**
 * struct event_ring_words - what perf record and the programs share
 * @config:	of each event; perf record writes it before the event is enabled
 * @lost:	events that found MAX_DEPTH programs writing; the programs count them
 * @enabled:	events that are recorded now; perf record writes it at any time
 */
struct event_ring_words {
	struct ring_event_config config[NR_RING_EVENTS];
	unsigned long long	 lost[NR_RING_EVENTS];
	unsigned char		 enabled[NR_RING_EVENTS];
};

/**
 * struct event_ring_state - words that only the programs on this CPU write
 * @head:	bytes reserved
 * @nesting:	number of programs that are writing, each of which has interrupted the one before
 */
struct event_ring_state {
	unsigned long long	head;
	unsigned int		nesting;
	unsigned int		unused;
};

#endif
