/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write events of timers and of high-resolution timers.
 */
#define TIMER_IRQSAFE		0x00200000	/* its function runs with interrupts off */

struct timer_list___ring {
	unsigned long	expires;
	void		*function;
	__u32		flags;
} __attribute__((preserve_access_index));

struct timerqueue_node___ring {
	__s64		expires;
} __attribute__((preserve_access_index));

struct hrtimer___ring {
	struct timerqueue_node___ring node;
	__s64		_softexpires;
	void		*function;
} __attribute__((preserve_access_index));

/* timer_cancel, timer_expire_exit, and those of hrtimers */
struct timer_only {
	SAMPLE;
	__u64		timer;
	__u32		padding;
	__u64		trailer;
} __record;

static __always_inline int write_timer(enum ring_event event, const void *timer, __u8 irqs)
{
	struct place place = PLACE_OF(event, sizeof(struct timer_only), irqs, 2);
	struct timer_only *entry = begin(&place);

	if (!entry)
		return 0;
	put64(&entry->timer, (__u64)timer);
	commit(&place);
	return 0;
}

static __always_inline __u8 irqs_of(struct timer_list___ring *timer)
{
	return timer->flags & TIMER_IRQSAFE ? IRQS_OFF : IRQS_ON;
}

struct timer_start {
	SAMPLE;
	__u64		timer, function, expires, bucket_expiry, now;
	__u32		flags;
	__u64		trailer;
} __record;

SEC("tp_btf/timer_start")
int BPF_PROG(on_timer_start, struct timer_list___ring *timer, unsigned long bucket_expiry)
{
	struct place place = PLACE_OF(RING_EVENT_timer_start,
				      RECORD_SIZE(56), IRQS_OFF, 2);
	struct timer_start *entry = begin(&place);

	if (!entry)
		return 0;
	put64(&entry->timer, (__u64)timer);
	put64(&entry->function, (__u64)timer->function);
	put64(&entry->expires, timer->expires);
	put64(&entry->bucket_expiry, bucket_expiry);
	put64(&entry->now, bpf_jiffies64());
	entry->flags = timer->flags;
	commit(&place);
	return 0;
}

SEC("tp_btf/timer_cancel")
int BPF_PROG(on_timer_cancel, struct timer_list___ring *timer)
{
	return write_timer(RING_EVENT_timer_cancel, timer, IRQS_OFF);
}

struct timer_expire_entry {
	SAMPLE;
	__u64		timer, now, function, baseclk;
	__u32		padding;
	__u64		trailer;
} __record;

SEC("tp_btf/timer_expire_entry")
int BPF_PROG(on_timer_expire_entry, struct timer_list___ring *timer, unsigned long baseclk)
{
	struct place place = PLACE_OF(RING_EVENT_timer_expire_entry,
				      sizeof(struct timer_expire_entry), irqs_of(timer), 1);
	struct timer_expire_entry *entry = begin(&place);

	if (!entry)
		return 0;
	put64(&entry->timer, (__u64)timer);
	put64(&entry->now, bpf_jiffies64());
	put64(&entry->function, (__u64)timer->function);
	put64(&entry->baseclk, baseclk);
	commit(&place);
	return 0;
}

/* The function may have freed the timer: the flag is a guess then, and the read harmless. */
SEC("tp_btf/timer_expire_exit")
int BPF_PROG(on_timer_expire_exit, struct timer_list___ring *timer)
{
	return write_timer(RING_EVENT_timer_expire_exit, timer, irqs_of(timer));
}

struct hrtimer_start {
	SAMPLE;
	__u64		hrtimer, function, expires, softexpires;
	__u32		mode;
	__u32		was_armed;
	__u32		padding;
	__u64		trailer;
} __record;

/* Older kernels do not tell whether the timer was armed (variant 1). */
SEC("tp_btf/hrtimer_start")
int on_hrtimer_start(unsigned long long *args)
{
	struct place place = PLACE_OF(RING_EVENT_hrtimer_start, sizeof(struct hrtimer_start),
				      IRQS_OFF, 1);
	struct hrtimer___ring *timer = (void *)args[0];
	struct hrtimer_start *entry = begin(&place);

	if (!entry)
		return 0;
	put64(&entry->hrtimer, (__u64)timer);
	put64(&entry->function, (__u64)timer->function);
	put64(&entry->expires, timer->node.expires);
	put64(&entry->softexpires, timer->_softexpires);
	entry->mode = args[1];
	entry->was_armed = 0;
	if (!constants.variant[RING_EVENT_hrtimer_start])
		entry->was_armed = args[2] & 1;
	commit(&place);
	return 0;
}

SEC("tp_btf/hrtimer_cancel")
int BPF_PROG(on_hrtimer_cancel, struct hrtimer___ring *timer)
{
	return write_timer(RING_EVENT_hrtimer_cancel, timer, IRQS_OFF);
}

struct hrtimer_expire_entry {
	SAMPLE;
	__u64		hrtimer, now, function;
	__u32		padding;
	__u64		trailer;
} __record;

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(on_hrtimer_expire_entry, struct hrtimer___ring *timer, __s64 now)
{
	struct place place = PLACE_OF(RING_EVENT_hrtimer_expire_entry,
				      sizeof(struct hrtimer_expire_entry), IRQS_ON, 1);
	struct hrtimer_expire_entry *entry;
	__s64 time = now;

	/* Linux 6.18 passes the address of the time, 7.3 the time. */
	if (now < 0)
		bpf_probe_read_kernel(&time, sizeof(time), (const void *)now);
	entry = begin(&place);
	if (!entry)
		return 0;
	put64(&entry->hrtimer, (__u64)timer);
	put64(&entry->now, time);
	put64(&entry->function, (__u64)timer->function);
	commit(&place);
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(on_hrtimer_expire_exit, struct hrtimer___ring *timer)
{
	return write_timer(RING_EVENT_hrtimer_expire_exit, timer, IRQS_ON);
}
