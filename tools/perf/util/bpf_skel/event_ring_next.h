/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Run one more program at a tracepoint: perf record may put one that judges durations into the
 * array next_NAME. It runs when the program of this tracepoint has written the event, or has
 * decided not to.
 *
 * A second program that is attached to the tracepoint would do as well, but takes the kernel
 * several indirect calls, which cost more than either program where they are retpolines. This is a
 * jump that the kernel patches. The array is empty when perf record is gone: it is not pinned.
 */
struct next_program {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
};

/* Those of RING_CHAINS */
struct next_program next_sys_enter SEC(".maps");
struct next_program next_sys_exit SEC(".maps");
struct next_program next_sched_switch SEC(".maps");
struct next_program next_sched_wakeup SEC(".maps");
struct next_program next_sched_wakeup_new SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);					/* perf record sets the number */
	__type(key, __u32);
	__type(value, struct event_ring_time);
} enter_time SEC(".maps");

/* @ns: of the sample of sys_enter, or 0 */
static __always_inline void pass_time(__u64 ns)
{
	struct event_ring_time *time;
	__u32 cpu;

	if (!words.passes_time)
		return;
	cpu = bpf_get_smp_processor_id();
	time = bpf_map_lookup_elem(&enter_time, &cpu);
	if (time)
		time->ns = ns;
}

/* Does not return if there is such a program. */
#define run_next(context, name)	bpf_tail_call_static((void *)(context), &next_##name, 0)
