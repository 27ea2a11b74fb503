// SPDX-License-Identifier: GPL-2.0-only
/* Write a numbered record for each system call. See overwrite_bpf.c, which loads this program. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* As in overwrite_bpf.c */
struct call {
	__u64 number;		/* of this CPU, from 0 on */
	__u32 tid, nr;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps");

SEC("raw_tp/sys_enter")
int sys_enter(struct bpf_raw_tracepoint_args *ctx)
{
	struct call call = { .tid = bpf_get_current_pid_tgid(), .nr = ctx->args[1] };
	__u32 zero = 0;
	__u64 *number = bpf_map_lookup_elem(&calls, &zero);

	if (!number)
		return 0;
	call.number = (*number)++;
	bpf_get_current_comm(call.comm, sizeof(call.comm));
	bpf_perf_event_output(ctx, &rings, BPF_F_CURRENT_CPU, &call, sizeof(call));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
