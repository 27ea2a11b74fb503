/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decide whether the current task is recorded.
 *
 * An event that is bound to a cgroup is recorded while the current task is in it, or in one below
 * it. perf's own events follow a task that moves once the kernel has told its CPU.
 *
 * In recordings of tasks, each task of the target has an event of perf whose config1 is
 * constants.marker, and its children inherit that event: perf record opens it before all other
 * events (recording/task_contexts.h). A task is recorded as long as it has the event, which is
 * exactly as long as it would have the events that the programs write. No list of tasks is kept.
 *
 * The event is pinned: it is in a tree of the task's context with the markers of other recordings,
 * and with nothing else, as a rule. So it is the root of the tree, or next to the root. If there
 * are more than three, the whole tree is searched.
 */
#define TASK_COMM_LEN		16
#define MAX_MARKER_STEPS	128	/* each pinned event takes up to three */

struct thread_info___ring {
	__u32			status;
	__u32			cpu;
} __attribute__((preserve_access_index));

struct rb_node___ring {
	unsigned long		__rb_parent_color;
	struct rb_node___ring	*rb_left, *rb_right;
} __attribute__((preserve_access_index));

struct rb_root___ring {
	struct rb_node___ring	*rb_node;
} __attribute__((preserve_access_index));

struct perf_event_groups___ring {
	struct rb_root___ring	tree;
} __attribute__((preserve_access_index));

struct perf_event_attr___ring {
	__u64			config1;
} __attribute__((preserve_access_index));

enum perf_event_state___ring {
	STATE_OFF		= -1,
};

struct perf_event___ring {
	struct rb_node___ring	group_node;
	struct perf_event_attr___ring attr;
	enum perf_event_state___ring state;
} __attribute__((preserve_access_index));

struct perf_event_context___ring {
	struct perf_event_groups___ring pinned_groups;
} __attribute__((preserve_access_index));

struct task_struct___ring {
	struct thread_info___ring thread_info;
	int			pid;
	int			prio;
	int			exit_state;
	unsigned int		__state;
	char			comm[TASK_COMM_LEN];
	struct perf_event_context___ring *perf_event_ctxp;
} __attribute__((preserve_access_index));

/* By ring_event_config.cgroup - 1 */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, NR_RING_CGROUPS);
	__type(key, __u32);
	__type(value, __u32);
} cgroups SEC(".maps");

static __always_inline bool is_in_cgroup(const volatile struct ring_event_config *config)
{
	__u32 cgroup = constants.binds_cgroups ? config->cgroup : 0;

	return !cgroup || bpf_current_task_under_cgroup(&cgroups, cgroup - 1) == 1;
}

static __always_inline const struct perf_event___ring *
event_of_node(const struct rb_node___ring *node)
{
	return bpf_core_cast((const void *)node -
			     bpf_core_field_offset(struct perf_event___ring, group_node),
			     struct perf_event___ring);
}

static __always_inline bool is_marker(const struct perf_event___ring *event)
{
	return event->attr.config1 == constants.marker;
}

static __always_inline bool is_awaited(const struct perf_event___ring *marker)
{
	return constants.awaits_exec && marker->state <= STATE_OFF;
}

static __always_inline bool has_children(const struct rb_node___ring *node)
{
	return node && (node->rb_left || node->rb_right);
}

/*
 * Visit a node of the tree before those below it. @from: the node before on the way
 *
 * Return: the next node on the way: a child, or the parent; 0 at the end.
 */
static __always_inline __u64 next_on_way(const struct rb_node___ring *node, __u64 from)
{
	__u64 left = (__u64)node->rb_left, right = (__u64)node->rb_right;
	__u64 parent = node->__rb_parent_color & ~3UL;

	if (from == parent && left)
		return left;
	if (right && (from == parent || from == left))
		return right;
	return parent;
}

/* Another CPU may change the tree meanwhile: the way has an end in any case. */
static __always_inline bool is_in_tree(const struct rb_node___ring *root)
{
	const struct rb_node___ring *node = root;
	const struct perf_event___ring *event;
	__u64 from = 0, next;
	int i;

	for (i = 0; i < MAX_MARKER_STEPS; i++) {
		event = event_of_node(node);
		if (is_marker(event))
			return !is_awaited(event);
		next = next_on_way(node, from);
		if (!next)
			break;
		from = (__u64)node;
		node = bpf_core_cast((const void *)next, struct rb_node___ring);
	}
	return false;
}

static __always_inline bool has_marker(const struct task_struct___ring *task)
{
	const struct perf_event_context___ring *context = task->perf_event_ctxp;
	const struct rb_node___ring *root, *left, *right;
	const struct perf_event___ring *event;

	root = context ? context->pinned_groups.tree.rb_node : NULL;
	if (!root)
		return false;
	event = event_of_node(root);
	if (is_marker(event))
		return !is_awaited(event);
	left = root->rb_left;
	right = root->rb_right;
	if (left) {
		event = event_of_node(left);
		if (is_marker(event))
			return !is_awaited(event);
	}
	if (right) {
		event = event_of_node(right);
		if (is_marker(event))
			return !is_awaited(event);
	}
	return (has_children(left) || has_children(right)) && is_in_tree(root);
}

/* Perf record does not set a marker on kernels without bpf_rdonly_cast(). */
static __always_inline bool is_current_target(void)
{
	return !constants.marker ||
	       (bpf_ksym_exists(bpf_rdonly_cast) && has_marker((void *)bpf_get_current_task_btf()));
}

struct task_struct___born {
	struct task_struct___born *group_leader;
	__u64 start_boottime;
} __attribute__((preserve_access_index));

/* Another process may have the id when perf record is gone, and the programs are pinned. */
static __always_inline bool is_own(void)
{
	__u32 own_tgid = *(volatile __u32 *)&words.own_tgid;
	volatile __u64 *own_start = &words.own_start;
	struct task_struct___born *task;
	__u64 start;

	if (!own_tgid || bpf_get_current_pid_tgid() >> 32 != own_tgid)
		return false;
	task = (void *)bpf_get_current_task();
	start = BPF_CORE_READ(task, group_leader, start_boottime);
	if (!*own_start)
		*own_start = start;
	return *own_start == start;
}

/* Is what the current task does excluded from @event? */
static __always_inline bool excludes_current(enum ring_event event)
{
	return constants.excludes_own[event] && is_own();
}
