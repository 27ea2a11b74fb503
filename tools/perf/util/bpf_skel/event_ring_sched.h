/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write events of the scheduler, and the begin and end of tasks.
 */

/* States of a task, as sched_switch reports them */
#define TASK_UNINTERRUPTIBLE		0x0002
#define TASK_REPORT			0x007f
#define TASK_REPORT_IDLE		0x0080
#define TASK_REPORT_MAX			0x0100
#define TASK_IDLE			0x0402
#define TASK_RTLOCK_WAIT		0x1000
#define TASK_FROZEN			0x8000

struct sched_switch {
	SAMPLE;
	char		prev_comm[TASK_COMM_LEN];
	__u32		prev_pid, prev_prio;
	__u64		prev_state;
	char		next_comm[TASK_COMM_LEN];
	__u32		next_pid, next_prio;
	__u32		padding;
	__u64		trailer;
} __record;

/* The state of a task that sched_switch reports: the highest bit of those that have a letter. */
static __always_inline __u64 reported_state(bool preempt, __u32 state, __u32 exit_state)
{
	__u32 reported = (state | exit_state) & TASK_REPORT, bit;

	if (preempt)
		return TASK_REPORT_MAX;
	if ((state & TASK_IDLE) == TASK_IDLE)
		reported = TASK_REPORT_IDLE;
	if (state & (TASK_RTLOCK_WAIT | TASK_FROZEN))
		reported = TASK_UNINTERRUPTIBLE;
	for (bit = TASK_REPORT_IDLE; bit; bit >>= 1) {
		if (reported & bit)
			return bit;
	}
	return 0;
}

static __always_inline void write_switch(bool preempt, struct task_struct___ring *prev,
					 struct task_struct___ring *next, __u32 prev_state)
{
	struct place place = PLACE_OF(RING_EVENT_sched_switch, sizeof(struct sched_switch),
				      IRQS_OFF, 3);
	struct sched_switch *entry = begin(&place);

	if (!entry)
		return;
	__builtin_memcpy(entry->prev_comm, prev->comm, TASK_COMM_LEN);
	entry->prev_pid = prev->pid;
	entry->prev_prio = prev->prio;
	put64(&entry->prev_state, reported_state(preempt, prev_state, prev->exit_state));
	__builtin_memcpy(entry->next_comm, next->comm, TASK_COMM_LEN);
	entry->next_pid = next->pid;
	entry->next_prio = next->prio;
	commit(&place);
}

/* Before Linux 5.18, the state is not among the arguments (preempt, prev, next, prev_state). */
SEC("tp_btf/sched_switch")
int on_sched_switch(unsigned long long *args)
{
	struct task_struct___ring *prev = (void *)args[1], *next = (void *)args[2];

	write_switch(args[0] & 1, prev, next, constants.passes_state ? args[3] : prev->__state);
	run_next(args, sched_switch);
	return 0;
}

struct sched_wakeup {
	SAMPLE;
	char		comm[TASK_COMM_LEN];
	__u32		pid, prio, target_cpu;
	__u64		trailer;
} __record;

/* Interrupts are off, except if a task wakes itself. */
static __always_inline void write_wakeup(enum ring_event event, struct task_struct___ring *task)
{
	bool own = (void *)task == (void *)bpf_get_current_task_btf();
	struct place place = PLACE_OF(event, sizeof(struct sched_wakeup), own ? IRQS_ON : IRQS_OFF,
				      3);
	struct sched_wakeup *entry = begin(&place);

	if (!entry)
		return;
	__builtin_memcpy(entry->comm, task->comm, TASK_COMM_LEN);
	entry->pid = task->pid;
	entry->prio = task->prio;
	entry->target_cpu = task->thread_info.cpu;
	commit(&place);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_sched_waking, struct task_struct___ring *task)
{
	write_wakeup(RING_EVENT_sched_waking, task);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_sched_wakeup, struct task_struct___ring *task)
{
	write_wakeup(RING_EVENT_sched_wakeup, task);
	run_next(ctx, sched_wakeup);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_sched_wakeup_new, struct task_struct___ring *task)
{
	write_wakeup(RING_EVENT_sched_wakeup_new, task);
	run_next(ctx, sched_wakeup_new);
	return 0;
}

/*
 * The name of a task is an array in old kernels (variant 1) and a string of dynamic length in
 * others (variant 0).
 */
struct sched_migrate_task {
	SAMPLE;
	__u32		comm;
	__u32		pid, prio, orig_cpu, dest_cpu;
	__u32		comm_text[];
} __record;

struct sched_migrate_task_1 {
	SAMPLE;
	char		comm[TASK_COMM_LEN];
	__u32		pid, prio, orig_cpu, dest_cpu;
	__u32		padding;
	__u64		trailer;
} __record;

static __always_inline void write_migrate_1(struct task_struct___ring *task, __u32 dest_cpu)
{
	struct place place = PLACE_OF(RING_EVENT_sched_migrate_task,
				      sizeof(struct sched_migrate_task_1), IRQS_OFF, 2);
	struct sched_migrate_task_1 *entry = begin(&place);

	if (!entry)
		return;
	__builtin_memcpy(entry->comm, task->comm, TASK_COMM_LEN);
	entry->pid = task->pid;
	entry->prio = task->prio;
	entry->orig_cpu = task->thread_info.cpu;
	entry->dest_cpu = dest_cpu;
	commit(&place);
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_sched_migrate_task, struct task_struct___ring *task, int dest_cpu)
{
	struct place place = PLACE_OF(RING_EVENT_sched_migrate_task, 0, IRQS_OFF, 2);
	struct sched_migrate_task *entry;
	struct text comm;

	if (constants.variant[RING_EVENT_sched_migrate_task]) {
		write_migrate_1(task, dest_cpu);
		return 0;
	}
	read_text(&comm, TASK_COMM_LEN, task->comm);
	place.size = RECORD_SIZE(28 + comm.bytes);
	entry = begin(&place);
	if (!entry)
		return 0;
	entry->comm = data_loc(28, &comm);
	entry->pid = task->pid;
	entry->prio = task->prio;
	entry->orig_cpu = task->thread_info.cpu;
	entry->dest_cpu = dest_cpu;
	put_text(&place, 28, &comm, TASK_COMM_LEN);
	commit(&place);
	return 0;
}

struct sched_stat_runtime {
	SAMPLE;
	__u32		comm;
	__u32		pid;
	__u64		runtime;
	__u32		comm_text[];
} __record;

struct sched_stat_runtime_1 {
	SAMPLE;
	char		comm[TASK_COMM_LEN];
	__u32		pid;
	__u32		hole;
	__u64		runtime;
	__u32		padding;
	__u64		trailer;
} __record;

static __always_inline void write_runtime_1(struct task_struct___ring *task, __u64 runtime)
{
	struct place place = PLACE_OF(RING_EVENT_sched_stat_runtime,
				      sizeof(struct sched_stat_runtime_1), IRQS_OFF, 2);
	struct sched_stat_runtime_1 *entry = begin(&place);

	if (!entry)
		return;
	entry->sample.period = runtime;
	__builtin_memcpy(entry->comm, task->comm, TASK_COMM_LEN);
	entry->pid = task->pid;
	entry->hole = 0;
	put64(&entry->runtime, runtime);
	commit(&place);
}

/* The period of a sample is the time that has passed. */
SEC("tp_btf/sched_stat_runtime")
int BPF_PROG(on_sched_stat_runtime, struct task_struct___ring *task, __u64 runtime)
{
	struct place place = PLACE_OF(RING_EVENT_sched_stat_runtime, 0, IRQS_OFF, 2);
	struct sched_stat_runtime *entry;
	struct text comm;

	if (constants.variant[RING_EVENT_sched_stat_runtime]) {
		write_runtime_1(task, runtime);
		return 0;
	}
	read_text(&comm, TASK_COMM_LEN, task->comm);
	place.size = RECORD_SIZE(24 + comm.bytes);
	entry = begin(&place);
	if (!entry)
		return 0;
	entry->sample.period = runtime;
	entry->comm = data_loc(24, &comm);
	entry->pid = task->pid;
	put64(&entry->runtime, runtime);
	put_text(&place, 24, &comm, TASK_COMM_LEN);
	commit(&place);
	return 0;
}

/* The name of the child follows that of the parent, at any byte. */
struct sched_process_fork {
	SAMPLE;
	__u32		parent_comm;
	__u32		parent_pid;
	__u32		child_comm;
	__u32		child_pid;
	__u8		texts[2 * TASK_COMM_LEN];
} __record;

struct sched_process_fork_1 {
	SAMPLE;
	char		parent_comm[TASK_COMM_LEN];
	__u32		parent_pid;
	char		child_comm[TASK_COMM_LEN];
	__u32		child_pid;
	__u32		padding;
	__u64		trailer;
} __record;

static __always_inline void write_fork_1(struct task_struct___ring *parent,
					 struct task_struct___ring *child)
{
	struct place place = PLACE_OF(RING_EVENT_sched_process_fork,
				      sizeof(struct sched_process_fork_1), IRQS_ON, 1);
	struct sched_process_fork_1 *entry = begin(&place);

	if (!entry)
		return;
	__builtin_memcpy(entry->parent_comm, parent->comm, TASK_COMM_LEN);
	entry->parent_pid = parent->pid;
	__builtin_memcpy(entry->child_comm, child->comm, TASK_COMM_LEN);
	entry->child_pid = child->pid;
	commit(&place);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_sched_process_fork, struct task_struct___ring *parent,
	     struct task_struct___ring *child)
{
	struct place place = PLACE_OF(RING_EVENT_sched_process_fork, 0, IRQS_ON, 1);
	struct sched_process_fork *entry;
	struct text first, second;
	__u32 i;

	if (constants.variant[RING_EVENT_sched_process_fork]) {
		write_fork_1(parent, child);
		return 0;
	}
	read_text(&first, TASK_COMM_LEN, parent->comm);
	read_text(&second, TASK_COMM_LEN, child->comm);
	place.size = RECORD_SIZE(24 + (first.bytes & 31) + (second.bytes & 31));
	entry = begin(&place);
	if (!entry)
		return 0;
	entry->parent_comm = data_loc(24, &first);
	entry->parent_pid = parent->pid;
	entry->child_comm = data_loc(24 + first.bytes, &second);
	entry->child_pid = child->pid;
	put_text(&place, 24, &first, TASK_COMM_LEN);
	for (i = 0; i < TASK_COMM_LEN && i < second.bytes; i++)
		*(volatile __u8 *)(entry->texts + (first.bytes & 31) + i) =
			second.words[i / 4] >> i % 4 * 8;
	commit(&place);
	return 0;
}

struct sched_process_exit {
	SAMPLE;
	char		comm[TASK_COMM_LEN];
	__u32		pid, prio;
	__u32		group_dead;
	__u64		trailer;
} __record;

/* Older kernels do not tell whether the whole process has ended (variant 1). */
struct sched_process_exit_1 {
	SAMPLE;
	char		comm[TASK_COMM_LEN];
	__u32		pid, prio;
	__u32		padding;
	__u64		trailer;
} __record;

SEC("tp_btf/sched_process_exit")
int on_sched_process_exit(unsigned long long *args)
{
	struct place place = PLACE_OF(RING_EVENT_sched_process_exit,
				      sizeof(struct sched_process_exit), IRQS_ON, 1);
	struct task_struct___ring *task = (void *)args[0];
	struct sched_process_exit *entry;

	_Static_assert(sizeof(struct sched_process_exit) == sizeof(struct sched_process_exit_1),
		       "the member of variant 0 takes the place of the padding");
	entry = begin(&place);
	if (!entry)
		return 0;
	__builtin_memcpy(entry->comm, task->comm, TASK_COMM_LEN);
	entry->pid = task->pid;
	entry->prio = task->prio;
	entry->group_dead = 0;
	if (!constants.variant[RING_EVENT_sched_process_exit])
		entry->group_dead = args[1] & 1;
	commit(&place);
	return 0;
}
