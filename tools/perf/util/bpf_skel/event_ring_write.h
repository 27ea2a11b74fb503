/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reserve a record in the ring of this CPU, fill in what all records have, and publish it.
 *
 * Barriers. Only this CPU writes its ring. A reader on another CPU needs the order of E and B
 * (perf/overwrite.h): data_reserved before the record, the record before data_head. On x86 stores
 * become visible in program order, and the JIT keeps that order; other architectures do not load
 * these programs. A reader that drains a ring moves data_tail when it has read what is below (D);
 * is_full() decides before anything is stored (A).
 */
#define MISC_KERNEL			1	/* PERF_RECORD_MISC_KERNEL */
#define MISC_USER			2	/* PERF_RECORD_MISC_USER */
#define MAX_DEPTH			4	/* words of data_reserved */
#define MAX_PUBLISH			8

/* Bits of common_flags, as in the kernel's trace_events.h */
#define IRQS_ON				0x00
#define IRQS_OFF			0x01
#define TRACE_FLAG_NEED_RESCHED		0x04
#define TRACE_FLAG_HARDIRQ		0x08
#define TRACE_FLAG_SOFTIRQ		0x10
#define TRACE_FLAG_PREEMPT_RESCHED	0x20
#define TRACE_FLAG_NMI			0x40
#define TRACE_FLAG_BH_OFF		0x80

/* Bits of thread_info.flags where constants.wide_count is set, and those of common_flags */
#define TIF_NEED_RESCHED		4
#define TIF_NEED_RESCHED_LAZY		5
#define TRACE_NEED_RESCHED_SHIFT	2
#define TRACE_NEED_RESCHED_LAZY_SHIFT	1

/* Fields of preempt_count() on x86, as 32-bit words have them */
#define PREEMPT_BITS			0x000000ff
#define SOFTIRQ_BITS			0x0000ff00
#define SERVING_SOFTIRQ			0x00000100
#define HARDIRQ_BITS			0x000f0000
#define NMI_BITS			0x00f00000
#define NO_RESCHED			0x80000000

#ifndef NO_PREEMPT_COUNT
struct pcpu_hot___ring {
	int			preempt_count;
} __attribute__((preserve_access_index));

/* One of them exists: pcpu_hot from Linux 6.2 to 6.14, __preempt_count before and after. */
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot___ring pcpu_hot __ksym __weak;
#endif

struct ring_array {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_NUMA_NODE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	/* perf record sets the size. */
	__uint(value_size, EVENT_RING_DATA + 4096 + EVENT_RING_SLACK);
};

/* The ring of each CPU */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);					/* perf record sets the number */
	__uint(key_size, sizeof(__u32));
	__array(values, struct ring_array);
} rings SEC(".maps");

/* The BPF ring buffer of each CPU that wakes up the reader of its ring */
struct doorbell {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);					/* perf record sets the number */
	__uint(key_size, sizeof(__u32));
	__array(values, struct doorbell);
} doorbells SEC(".maps");

/* Lost events, by ring_event_config.counter */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_RING_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

/* In a section of their own: perf's build adds its version to .rodata. */
SEC(".rodata.constants") const volatile struct event_ring_constants constants = {
	.data_mask = 4096 - 8,
};
struct event_ring_words words;

/* IDENTIFIER | IP | TID | TIME | CPU | PERIOD; CGROUP follows the raw data */
struct sample {
	__u32	type;
	__u16	misc;
	__u16	size;
	__u64	id;
	__u64	ip;
	__u32	pid, tid;
	__u64	time;
	__u32	cpu, unused;
	__u64	period;
};

/* RAW, and the common fields of a tracepoint */
struct raw {
	__u32	size;
	__u16	common_type;
	__u8	common_flags;
	__u8	common_preempt_count;
	__u32	common_pid;
};

/* A record begins with these. It is packed, because 64-bit fields are at odd multiples of 4. */
#define SAMPLE		struct sample sample; struct raw raw
#define __record	__attribute__((packed, aligned(8)))

/* Records of rings that are drained have no trailer. */
static __always_inline __u32 trailer_bytes(void)
{
	return constants.drained ? 0 : sizeof(__u64);
}

/* The bytes behind the raw data: the cgroup, if it is recorded, and the trailer */
static __always_inline __u32 tail_bytes(void)
{
	return trailer_bytes() + (constants.has_cgroup ? sizeof(__u64) : 0);
}

struct thread_info___flags {
	unsigned long		   flags;
} __attribute__((preserve_access_index));

struct task_struct___flags {
	struct thread_info___flags thread_info;
	unsigned short		   migration_disabled;
} __attribute__((preserve_access_index));

/* Offset of the field at @offset of the format file in a record */
#define RAW_OFFSET(offset) (sizeof(struct sample) + sizeof(__u32) + (offset))

/* Size of a record whose tracepoint has @bytes of data, as perf pads it, with its tail */
#define RECORD_SIZE(bytes) ((RAW_OFFSET(bytes) + 7) / 8 * 8 + tail_bytes())

/* PERF_RECORD_LOST with the fields of the sample id that all events have */
struct lost_record {
	__u32	type;
	__u16	misc;
	__u16	size;
	__u64	id;
	__u64	lost;
	__u32	pid, tid;
	__u64	time;
	__u32	cpu, unused;
	__u64	sample_id;
};

/**
 * struct place - where and how a record is written
 * @event:	has the program
 * @config:	of the event
 * @size:	of the record [bytes], with its trailer
 * @flags:	IRQS_OFF or IRQS_ON: what the tracepoint decides of common_flags, hardirqs excepted
 * @misc:	of the record
 * @ip:		of the record
 * @time:	of the record [ns]
 * @usual_count: preempt_count() where the tracepoint is in a task's own code; for
 *		event_ring_plain.bpf.c
 * @count:	preempt_count() of perf's function for the tracepoint
 * @page:	begin of the ring
 * @state:	of the ring
 * @data:	begin of the data area
 * @record:	the record
 * @position:	of the record, counted from the first byte ever written
 */
struct place {
	__u32				 event;
	volatile struct ring_event_config *config;
	__u32				 size;
	__u8				 flags;
	__u8				 usual_count;
	__u16				 misc;
	__u32				 count;
	__u64				 ip;
	__u64				 time;
	struct perf_event_mmap_page	*page;
	volatile struct event_ring_state *state;
	void				*data;
	void				*record;
	__u64				 position;
};

/* An interrupt may count as well. */
static __always_inline void count_lost(const struct place *place)
{
	__u32 counter = place->config->counter;
	__u64 *count = bpf_map_lookup_elem(&lost, &counter);

	if (count)
		__sync_fetch_and_add(count, 1);
}

/*
 * Is there no room for the record, and for a PERF_RECORD_LOST before it?
 *
 * A program that interrupts this one decides by the same head. EVENT_RING_RESERVE is more than all
 * of them take that have decided and not yet reserved: a task, a softirq, a hardirq and an NMI.
 */
static __always_inline bool is_full(struct event_ring_state *state,
				    const struct perf_event_mmap_page *page)
{
	__u64 used = *(volatile __u64 *)&state->head - *(const volatile __u64 *)&page->data_tail;

	return used > constants.data_mask + 8 - EVENT_RING_RESERVE;			/* (A) */
}

/* Reserve @place->size bytes; the nesting is raised. */
static __always_inline void take(struct place *place)
{
	place->position = __sync_fetch_and_add(&place->state->head, place->size);
	place->record = place->data + (place->position & constants.data_mask);
}

/* Copy what was written beyond the end of the data area to its beginning. */
static __always_inline void wrap(struct place *place)
{
	__u64 end = (place->position & constants.data_mask) + place->size;
	__u64 area = constants.data_mask + 8;
	__u32 i;

	for (i = 0; i < EVENT_RING_SLACK && area + i < end; i += 8)
		*(volatile __u64 *)(place->data + i) = *(volatile __u64 *)(place->data + area + i);
}

/* Tell in the ring how many events did not fit since the record before. */
static __always_inline void write_lost(const struct place *next)
{
	__u64 nr = __sync_lock_test_and_set(&next->state->lost, 0);
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct place place = *next;
	volatile struct lost_record *record;
	__u32 cpu = bpf_get_smp_processor_id();

	if (!nr)			/* an interrupt has told it */
		return;
	place.size = sizeof(*record);
	take(&place);
	record = place.record;
	record->type = PERF_RECORD_LOST;
	record->misc = 0;
	record->size = sizeof(*record);
	record->id = RING_ID_ON_CPU(place.config->id, cpu);
	record->lost = nr;
	record->pid = pid_tgid >> 32;
	record->tid = pid_tgid;
	record->time = bpf_ktime_get_ns();
	record->cpu = cpu;
	record->unused = 0;
	record->sample_id = RING_ID_ON_CPU(place.config->id, cpu);
	wrap(&place);
}

/* Return: the place of @place->size bytes; NULL if they were counted as lost, or without a ring. */
static __always_inline void *reserve(struct place *place)
{
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0, depth;
	volatile struct event_ring_state *state;
	volatile __u64 *reserved;
	void *ring;

	ring = bpf_map_lookup_elem(&rings, &cpu);
	if (!ring)
		return NULL;
	ring = bpf_map_lookup_elem(ring, &zero);
	if (!ring)
		return NULL;
	state = ring + EVENT_RING_STATE;
	depth = state->nesting;
	if (depth >= MAX_DEPTH || (constants.drained && is_full((void *)state, ring))) {
		count_lost(place);
		if (constants.drained)
			__sync_fetch_and_add(&state->lost, 1);
		return NULL;
	}
	state->nesting = depth + 1;

	place->page = ring;
	place->state = state;
	place->data = ring + EVENT_RING_DATA;
	if (constants.drained) {
		barrier();
		if (state->lost)
			write_lost(place);
	} else {
		/* Announce the bytes first: the word of this depth has no other writer. */
		reserved = &place->page->data_reserved[depth & (MAX_DEPTH - 1)];
		*reserved += place->size;
		barrier();							/* (E) */
	}
	take(place);
	return place->record;
}

/*
 * Wake the reader up when the ring is half full, once until it has read. It reads everything, and
 * may be late by the other half.
 */
static __always_inline void wake_reader(struct place *place, __u64 head)
{
	__u64 tail = *(volatile __u64 *)&place->page->data_tail, word = 0;
	__u32 cpu = bpf_get_smp_processor_id();
	void *doorbell;

	if (head - tail < (constants.data_mask + 8) / 2 || place->state->woken_at == tail)
		return;
	place->state->woken_at = tail;
	doorbell = bpf_map_lookup_elem(&doorbells, &cpu);
	if (doorbell)
		bpf_ringbuf_output(doorbell, &word, sizeof(word), BPF_RB_FORCE_WAKEUP);
}

/*
 * Does the kernel preempt this program, unless it disables that? It calls perf's function for the
 * tracepoint with preemption disabled, and through it the programs of system calls.
 */
static __always_inline bool is_preemptible(const struct place *place)
{
	return constants.preemptible && !RING_IS_CALL(place->event);
}

/* Return: the fields of a 64-bit word in the places that they have in 32-bit words. */
static __always_inline __u32 narrow_count(__u64 count)
{
	return (count & (PREEMPT_BITS | SOFTIRQ_BITS)) | (count >> 24 & 0xf) << 16 |
	       (count >> 28 & 0xf) << 20 | (count >> 32 & NO_RESCHED);
}

/* Return: preempt_count() of perf's function for the tracepoint, before this program changes it. */
static __always_inline __u32 preempt_count(const struct place *place)
{
#ifndef NO_PREEMPT_COUNT
	__u32 disabled_by_perf = is_preemptible(place) ? 1 : 0;
	const void *count;

	if (bpf_ksym_exists(&__preempt_count)) {
		count = bpf_this_cpu_ptr(&__preempt_count);
		return (constants.wide_count ? narrow_count(*(const __u64 *)count) :
					       *(const __u32 *)count) + disabled_by_perf;
	}
	if (bpf_ksym_exists(&pcpu_hot)) {
		count = bpf_this_cpu_ptr(&pcpu_hot);
		return ((const struct pcpu_hot___ring *)count)->preempt_count + disabled_by_perf;
	}
#endif
	return place->usual_count | NO_RESCHED;
}

/* An interrupt concerns others than the task it hits. Faults are the task's own. */
static __always_inline bool may_interrupt(const struct place *place)
{
#ifdef NO_PREEMPT_COUNT
	return !RING_IS_FAULT(place->event);
#else
	return preempt_count(place) & (NMI_BITS | HARDIRQ_BITS | SERVING_SOFTIRQ);
#endif
}

/*
 * Return: common_preempt_count, whose upper half is how often the task has disabled migration. A
 * kernel that preempts programs has disabled it for this one, too.
 */
static __always_inline __u8 packed_count(const struct place *place)
{
	__u32 depth = place->count & PREEMPT_BITS, migration = 0;
	const struct task_struct___flags *task;

	if (constants.preemptible) {
		task = (void *)bpf_get_current_task_btf();
		migration = task->migration_disabled;
		if (migration)
			migration--;
	}
	return (depth < 0xf ? depth : 0xf) | (migration < 0xf ? migration : 0xf) << 4;
}

/* Return: the bits of common_flags that tell whether the current task shall be preempted. */
static __always_inline __u8 resched_flags(__u32 count)
{
	__u8 flags = count & NO_RESCHED ? 0 : TRACE_FLAG_PREEMPT_RESCHED;
	const struct task_struct___flags *task;
	__u64 word;

	if (!constants.wide_count)
		return flags ? flags | TRACE_FLAG_NEED_RESCHED : 0;
	task = (void *)bpf_get_current_task_btf();
	word = task->thread_info.flags;
	return flags | (word >> TIF_NEED_RESCHED & 1) << TRACE_NEED_RESCHED_SHIFT |
	       (word >> TIF_NEED_RESCHED_LAZY & 1) << TRACE_NEED_RESCHED_LAZY_SHIFT;
}

static __always_inline void fill(struct place *place, struct sample *sample, struct raw *raw)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 count = place->count;
	__u32 cpu = bpf_get_smp_processor_id();
	__u8 flags = place->flags | resched_flags(count);

	if (count & NMI_BITS)
		flags |= TRACE_FLAG_NMI;
	if (count & HARDIRQ_BITS)
		flags |= TRACE_FLAG_HARDIRQ | IRQS_OFF;
	if (count & SERVING_SOFTIRQ)
		flags |= TRACE_FLAG_SOFTIRQ;
	if ((count & SOFTIRQ_BITS) > SERVING_SOFTIRQ)
		flags |= TRACE_FLAG_BH_OFF;

	/* As perf does: fields overwrite what is not padding. */
	*(volatile __u64 *)(place->record + place->size - tail_bytes() - 8) = 0;
	barrier();
	if (constants.has_cgroup)
		*(volatile __u64 *)(place->record + place->size - tail_bytes()) =
			bpf_get_current_cgroup_id();
	sample->type = PERF_RECORD_SAMPLE;
	sample->misc = place->misc;
	sample->size = place->size;
	sample->id = RING_ID_ON_CPU(place->config->id, cpu);
	sample->ip = place->ip;
	sample->pid = pid_tgid >> 32;
	sample->tid = pid_tgid;
	place->time = bpf_ktime_get_ns();
	sample->time = place->time;
	sample->cpu = cpu;
	sample->unused = 0;
	sample->period = 1;
	raw->size = place->size - sizeof(*sample) - sizeof(raw->size) - tail_bytes();
	raw->common_type = place->config->type;
	raw->common_flags = flags;
	raw->common_preempt_count = packed_count(place);
	raw->common_pid = pid_tgid;
}

/*
 * Publish the record, unless this program has interrupted another one, which will publish both.
 * An interrupt that wrote between the load of the head and the end of the nesting did not publish:
 * look again, and leave the rest to the next record.
 */
static __always_inline void publish(struct place *place)
{
	volatile struct event_ring_state *state = place->state;
	volatile __u64 *data_head = &place->page->data_head;
	__u32 nesting;
	__u64 head = 0;
	int i;

	if (!constants.drained)
		*(volatile __u64 *)(place->record + place->size - 8) =
			(place->position << 16) >> 16 | (__u64)place->size << 48;
	wrap(place);
	barrier();								/* (B) */
	nesting = state->nesting;
	if (nesting != 1) {
		state->nesting = nesting - 1;
		return;
	}
	for (i = 0; i < MAX_PUBLISH; i++) {
		state->nesting = 1;
		barrier();
		head = state->head;
		*data_head = head;
		barrier();
		state->nesting = 0;
		barrier();
		if (state->head == head)
			break;
	}
	if (constants.drained)
		wake_reader(place, head);
}
