/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write system calls: raw_syscalls:sys_enter and sys_exit, syscalls:sys_enter_* and sys_exit_*.
 */
#define TS_COMPAT		0x0002
#define MAX_ARGS		6

struct pt_regs___ring {
	unsigned long		di, si, dx, r10, r8, r9, bx, cx, bp, orig_ax, ip;
} __attribute__((preserve_access_index));

static __always_inline bool is_compat(void)
{
	struct task_struct___ring *task = (void *)bpf_get_current_task_btf();

	return task->thread_info.status & TS_COMPAT;
}

struct sys_enter {
	SAMPLE;
	__u64		id;
	__u64		args[MAX_ARGS];
	__u32		padding;
	__u64		trailer;
} __record;

static __always_inline void write_enter(struct pt_regs___ring *regs, long id)
{
	struct place place = PLACE_OF(RING_EVENT_sys_enter, sizeof(struct sys_enter), IRQS_ON, 1);
	struct sys_enter *entry = begin(&place);

	if (!entry)
		return;
	put64(&entry->id, id);
	if (is_compat()) {
		put64(&entry->args[0], (__u32)regs->bx);
		put64(&entry->args[1], (__u32)regs->cx);
		put64(&entry->args[2], (__u32)regs->dx);
		put64(&entry->args[3], (__u32)regs->si);
		put64(&entry->args[4], (__u32)regs->di);
		put64(&entry->args[5], (__u32)regs->bp);
	} else {
		put64(&entry->args[0], regs->di);
		put64(&entry->args[1], regs->si);
		put64(&entry->args[2], regs->dx);
		put64(&entry->args[3], regs->r10);
		put64(&entry->args[4], regs->r8);
		put64(&entry->args[5], regs->r9);
	}
	commit(&place);
}

struct sys_exit {
	SAMPLE;
	__u64		id;
	__u64		ret;
	__u32		padding;
	__u64		trailer;
} __record;

static __always_inline void write_exit(struct pt_regs___ring *regs, long ret)
{
	struct place place = PLACE_OF(RING_EVENT_sys_exit, sizeof(struct sys_exit), IRQS_ON, 1);
	struct sys_exit *entry = begin(&place);

	if (!entry)
		return;
	put64(&entry->id, (__s64)(int)regs->orig_ax);
	put64(&entry->ret, ret);
	commit(&place);
}

/* Fields of a single call: their samples have the registers of user space, which made the call. */
struct call {
	SAMPLE;
	__u32		nr;
	__u32		hole;
	__u64		values[];	/* arguments, or the result */
} __record;

/*
 * Begin a record of a call with room for @nr_values.
 *
 * Return: it, or NULL. The kernel has no such events for system calls of 32-bit programs.
 */
static __always_inline struct call *begin_call(struct place *place, struct pt_regs___ring *regs,
					       __u32 nr, __u32 nr_values)
{
	struct call *entry;

	if (!place->config->enabled || is_compat() || !is_in_cgroup(place->config))
		return NULL;
	place->size = RECORD_SIZE(16) + nr_values * sizeof(__u64);
	place->usual_count = 1;
	place->ip = regs->ip;
	place->misc = MISC_USER;
	entry = begin_anywhere(place);
	if (!entry)
		return NULL;
	entry->nr = nr;
	entry->hole = 0;
	return entry;
}

static __always_inline void write_enter_call(struct pt_regs___ring *regs, long id)
{
	struct place place = { .event = RING_EVENT_sys_enter, .flags = IRQS_ON };
	struct call *entry;
	__u32 nr_args;

	if (id < 0 || id >= NR_RING_CALLS)
		return;
	place.config = &words.enter[id];
	nr_args = place.config->nr_args;
	if (nr_args > MAX_ARGS)
		return;
	entry = begin_call(&place, regs, id, nr_args);
	if (!entry)
		return;
	if (nr_args > 0)
		put64(&entry->values[0], regs->di);
	if (nr_args > 1)
		put64(&entry->values[1], regs->si);
	if (nr_args > 2)
		put64(&entry->values[2], regs->dx);
	if (nr_args > 3)
		put64(&entry->values[3], regs->r10);
	if (nr_args > 4)
		put64(&entry->values[4], regs->r8);
	if (nr_args > 5)
		put64(&entry->values[5], regs->r9);
	commit(&place);
}

static __always_inline void write_exit_call(struct pt_regs___ring *regs, long ret)
{
	struct place place = { .event = RING_EVENT_sys_exit, .flags = IRQS_ON };
	long id = (int)regs->orig_ax;
	struct call *entry;

	if (id < 0 || id >= NR_RING_CALLS)
		return;
	place.config = &words.exit[id];
	entry = begin_call(&place, regs, id, 1);
	if (!entry)
		return;
	put64(&entry->values[0], ret);
	commit(&place);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs___ring *regs, long id)
{
	if (!records_current(RING_EVENT_sys_enter))
		return 0;
	write_enter(regs, id);
	if (constants.enter_calls)
		write_enter_call(regs, id);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs___ring *regs, long ret)
{
	if (!records_current(RING_EVENT_sys_exit))
		return 0;
	write_exit(regs, ret);
	if (constants.exit_calls)
		write_exit_call(regs, ret);
	return 0;
}
