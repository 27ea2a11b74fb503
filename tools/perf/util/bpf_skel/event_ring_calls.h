/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write system calls: raw_syscalls:sys_enter and sys_exit, syscalls:sys_enter_* and sys_exit_*.
 *
 * Each tracepoint has two programs, of which perf record loads one. "on_NAME" is cheaper, but must
 * not be preempted: until it ends, the kernel skips it for all system calls of other tasks on that
 * CPU. Kernels that would preempt it run "at_NAME" instead, which perf's function for the
 * tracepoint calls with preemption disabled.
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

/* Contexts of the programs that perf's function calls: its record */
struct enter_context {
	__u64			common;
	long			id;
	unsigned long		args[MAX_ARGS];
};

struct exit_context {
	__u64			common;
	long			id;
	long			ret;
};

static __always_inline unsigned long compat_argument(const struct pt_regs___ring *regs, int i)
{
	switch (i) {
	case 0:
		return (__u32)regs->bx;
	case 1:
		return (__u32)regs->cx;
	case 2:
		return (__u32)regs->dx;
	case 3:
		return (__u32)regs->si;
	case 4:
		return (__u32)regs->di;
	default:
		return (__u32)regs->bp;
	}
}

static __always_inline unsigned long argument(const struct pt_regs___ring *regs, int i)
{
	switch (i) {
	case 0:
		return regs->di;
	case 1:
		return regs->si;
	case 2:
		return regs->dx;
	case 3:
		return regs->r10;
	case 4:
		return regs->r8;
	default:
		return regs->r9;
	}
}

struct sys_enter {
	SAMPLE;
	__u64		id;
	__u64		args[MAX_ARGS];
	__u32		padding;
	__u64		trailer;
} __record;

/*
 * @args: of the call; NULL: they are in @regs
 *
 * Return: the time of the sample, or 0 without one.
 */
static __always_inline __u64 write_enter(const struct pt_regs___ring *regs,
					 const unsigned long *args, long id)
{
	struct place place = PLACE_OF(RING_EVENT_sys_enter, sizeof(struct sys_enter), IRQS_ON, 1);
	struct sys_enter *entry = begin(&place);
	int i;

	if (!entry)
		return 0;
	put64(&entry->id, id);
	if (args) {
#pragma unroll
		for (i = 0; i < MAX_ARGS; i++)
			put64(&entry->args[i], args[i]);
	} else if (is_compat()) {
#pragma unroll
		for (i = 0; i < MAX_ARGS; i++)
			put64(&entry->args[i], compat_argument(regs, i));
	} else {
#pragma unroll
		for (i = 0; i < MAX_ARGS; i++)
			put64(&entry->args[i], argument(regs, i));
	}
	commit(&place);
	return place.time;
}

struct sys_exit {
	SAMPLE;
	__u64		id;
	__u64		ret;
	__u32		padding;
	__u64		trailer;
} __record;

static __always_inline void write_exit(long id, long ret)
{
	struct place place = PLACE_OF(RING_EVENT_sys_exit, sizeof(struct sys_exit), IRQS_ON, 1);
	struct sys_exit *entry = begin(&place);

	if (!entry)
		return;
	put64(&entry->id, id);
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
static __always_inline struct call *begin_call(struct place *place,
					       const struct pt_regs___ring *regs, __u32 nr,
					       __u32 nr_values)
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

/* @args: likewise. Return: likewise */
static __always_inline __u64 write_enter_call(const struct pt_regs___ring *regs,
					      const unsigned long *args, long id)
{
	struct place place = { .event = RING_EVENT_sys_enter, .flags = IRQS_ON };
	struct call *entry;
	__u64 index = id;
	__u32 nr_args;
	int i;

	barrier_var(index);	/* the verifier needs this value to be compared, and no other */
	if (index >= NR_RING_CALLS)
		return 0;
	place.config = &words.enter[index];
	nr_args = place.config->nr_args;
	if (nr_args > MAX_ARGS)
		return 0;
	entry = begin_call(&place, regs, id, nr_args);
	if (!entry)
		return 0;
#pragma unroll
	for (i = 0; i < MAX_ARGS; i++) {
		if (nr_args > i)
			put64(&entry->values[i], args ? args[i] : argument(regs, i));
	}
	commit(&place);
	return place.time;
}

static __always_inline void write_exit_call(const struct pt_regs___ring *regs, long id, long ret)
{
	struct place place = { .event = RING_EVENT_sys_exit, .flags = IRQS_ON };
	struct call *entry;
	__u64 index = id;

	barrier_var(index);	/* the verifier needs this value to be compared, and no other */
	if (index >= NR_RING_CALLS)
		return;
	place.config = &words.exit[index];
	entry = begin_call(&place, regs, id, 1);
	if (!entry)
		return;
	put64(&entry->values[0], ret);
	commit(&place);
}

/* Registers of the system call that the current task is in */
static __always_inline const struct pt_regs___ring *current_regs(void)
{
	return (const void *)bpf_task_pt_regs((void *)bpf_get_current_task_btf());
}

/* Return: the time of a sample that was written, or 0. */
static __always_inline __u64 record_enter(const struct pt_regs___ring *regs,
					  const unsigned long *args, long id)
{
	__u64 time, time_of_call = 0;

	if (excludes_current(RING_EVENT_sys_enter) || !is_current_target())
		return 0;
	time = write_enter(regs, args, id);
	if (constants.enter_calls)
		time_of_call = write_enter_call(args ? current_regs() : regs, args, id);
	return time ?: time_of_call;
}

static __always_inline void record_exit(const struct pt_regs___ring *regs, long ret)
{
	long id = (int)regs->orig_ax;

	if (excludes_current(RING_EVENT_sys_exit) || !is_current_target())
		return;
	write_exit(id, ret);
	if (constants.exit_calls)
		write_exit_call(regs, id, ret);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs___ring *regs, long id)
{
	pass_time(record_enter(regs, NULL, id));
	run_next(ctx, sys_enter);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs___ring *regs, long ret)
{
	record_exit(regs, ret);
	run_next(ctx, sys_exit);
	return 0;
}

static __always_inline void record_exit_by_perf(const struct exit_context *context)
{
	if (excludes_current(RING_EVENT_sys_exit) || !is_current_target())
		return;
	write_exit(context->id, context->ret);
	if (constants.exit_calls)
		write_exit_call(current_regs(), context->id, context->ret);
}

/* These return 1: with 0, the kernel would withhold the event from all users of perf. */
SEC("tp/raw_syscalls/sys_enter")
int at_sys_enter(struct enter_context *context)
{
	pass_time(record_enter(NULL, context->args, context->id));
	run_next(context, sys_enter);
	return 1;
}

SEC("tp/raw_syscalls/sys_exit")
int at_sys_exit(struct exit_context *context)
{
	record_exit_by_perf(context);
	run_next(context, sys_exit);
	return 1;
}
