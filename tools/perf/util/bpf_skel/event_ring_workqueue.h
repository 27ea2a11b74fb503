/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write the way of work items.
 */
#define WQ_NAME_LEN	32

struct workqueue_struct___ring {
	char		name[WQ_NAME_LEN];
} __attribute__((preserve_access_index));

struct worker_pool___ring {
	int		cpu;
} __attribute__((preserve_access_index));

struct pool_workqueue___ring {
	struct worker_pool___ring *pool;
	struct workqueue_struct___ring *wq;
} __attribute__((preserve_access_index));

struct work_struct___ring {
	void		*func;
} __attribute__((preserve_access_index));

struct workqueue_queue_work {
	SAMPLE;
	__u64		work, function;
	__u32		workqueue;
	__u32		req_cpu, cpu;
	__u32		workqueue_text[];
} __record;

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(on_workqueue_queue_work, int req_cpu, struct pool_workqueue___ring *pwq,
	     struct work_struct___ring *work)
{
	struct place place = PLACE_OF(RING_EVENT_workqueue_queue_work, 0, IRQS_OFF, 2);
	struct workqueue_queue_work *entry;
	struct text name;

	read_text(&name, WQ_NAME_LEN, pwq->wq->name);
	/* The kernel rounds its structure up to 40 bytes, and puts the name behind the fields. */
	place.size = RECORD_SIZE(40 + name.bytes);
	entry = begin(&place);
	if (!entry)
		return 0;
	put64(&entry->work, (__u64)work);
	put64(&entry->function, (__u64)work->func);
	entry->workqueue = data_loc(36, &name);
	entry->req_cpu = req_cpu;
	entry->cpu = pwq->pool->cpu;
	put_text(&place, 36, &name, WQ_NAME_LEN);
	commit(&place);
	return 0;
}

struct workqueue_work {
	SAMPLE;
	__u64		work, function;
	__u32		padding;
	__u64		trailer;
} __record;

static __always_inline int write_work(enum ring_event event, void *work, void *function, __u8 irqs)
{
	struct place place = PLACE_OF(event, sizeof(struct workqueue_work), irqs, 1);
	struct workqueue_work *entry = begin(&place);

	if (!entry)
		return 0;
	put64(&entry->work, (__u64)work);
	put64(&entry->function, (__u64)function);
	commit(&place);
	return 0;
}

SEC("tp_btf/workqueue_activate_work")
int BPF_PROG(on_workqueue_activate_work, struct work_struct___ring *work)
{
	return write_work(RING_EVENT_workqueue_activate_work, work, work->func, IRQS_OFF);
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(on_workqueue_execute_start, struct work_struct___ring *work)
{
	return write_work(RING_EVENT_workqueue_execute_start, work, work->func, IRQS_ON);
}

/*
 * The item may have been freed: only its address is known. Programs with typed arguments cannot
 * read a pointer to a function.
 */
SEC("raw_tp/workqueue_execute_end")
int BPF_PROG(on_workqueue_execute_end, void *work, void *function)
{
	return write_work(RING_EVENT_workqueue_execute_end, work, function, IRQS_ON);
}
