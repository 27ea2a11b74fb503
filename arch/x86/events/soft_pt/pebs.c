// SPDX-License-Identifier: GPL-2.0-only
/*
 * Emulate PEBS via PT: a second PMU, soft_pebs, writes its samples to the trace
 * (perf_event_attr.aux_output).
 *
 * Its only event counts the instructions that the trace contains. Each time
 * sample_period of them were counted, a block of packets describes the last:
 *
 *	BBP 4	BIP 0	 its address
 *		BIP 1	 bitmap of overflowed counters: two may overflow at once
 *		BIP 2	 TSC
 *	BBP 1	BIP 0-17 flags, IP and general registers after it, if requested
 *	BEP		 followed by a FUP with the next instruction, or by none
 *			 if packet generation is disabled by then
 *
 * A repeated string instruction is counted once, at its last iteration.
 * Instructions executed while the task is not stepped are not counted: the
 * trace is paused, the area is full, or the program has set TF.
 *
 * The core adds the group leader first, so an event is added after the trace
 * was set up. PERF_RECORD_AUX_OUTPUT_HW_ID tells which event a counter bit
 * belongs to, as with the x86 driver. It is written when an event gets another
 * counter than before, or one that another event has used in between.
 */
#define pr_fmt(fmt) "soft_pt: " fmt

#include <asm/local.h>
#include <asm/tsc.h>

#include "soft_pt.h"

#define INST_RETIRED		0xc0

/* Block types, and the items of BLOCK_BASIC. */
#define BLOCK_GP		1
#define BLOCK_BASIC		4
#define BASIC_IP		0
#define BASIC_COUNTERS		1
#define BASIC_TSC		2

static void put_registers(struct soft_pt *pt, const struct pt_regs *regs)
{
	const u64 values[] = {
		regs->flags, regs->ip, regs->ax, regs->cx, regs->dx, regs->bx,
		regs->sp, regs->bp, regs->si, regs->di, regs->r8, regs->r9,
		regs->r10, regs->r11, regs->r12, regs->r13, regs->r14,
		regs->r15,
	};
	int i;

	soft_pt_bbp(pt, BLOCK_GP);
	for (i = 0; i < ARRAY_SIZE(values); i++)
		soft_pt_bip(pt, i, values[i]);
}

void soft_pt_retired(struct soft_pt *pt, u64 ip, u64 next,
		     const struct pt_regs *regs)
{
	bool wants_regs = false;
	u64 overflowed = 0;
	int i;

	for (i = 0; i < SOFT_PT_COUNTERS; i++) {
		struct perf_event *event = pt->counters[i];

		if (!event || (event->hw.state & PERF_HES_STOPPED))
			continue;
		local64_inc(&event->count);
		if (local64_sub_return(1, &event->hw.period_left) > 0)
			continue;
		local64_set(&event->hw.period_left, event->hw.sample_period);
		overflowed |= BIT_ULL(i);
		wants_regs |= event->attr.sample_type & PERF_SAMPLE_REGS_INTR;
	}
	if (!overflowed)
		return;

	soft_pt_bbp(pt, BLOCK_BASIC);
	soft_pt_bip(pt, BASIC_IP, ip);
	soft_pt_bip(pt, BASIC_COUNTERS, overflowed);
	soft_pt_bip(pt, BASIC_TSC, max(rdtsc_ordered(), pt->tsc));
	if (wants_regs && regs)
		put_registers(pt, regs);
	soft_pt_bep(pt, pt->packet_en, next);
}

/*
 * The PMU
 */

static void soft_pebs_start(struct perf_event *event, int mode)
{
	/* PERF_EVENT_IOC_PERIOD clears period_left. */
	if (local64_read(&event->hw.period_left) <= 0)
		local64_set(&event->hw.period_left, event->hw.sample_period);
	event->hw.state = 0;
}

static void soft_pebs_stop(struct perf_event *event, int mode)
{
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

/* Return a free counter, preferably @last, or -ENOSPC. */
static int find_counter(const struct soft_pt *pt, int last)
{
	int i;

	if (last >= 0 && !pt->counters[last])
		return last;
	for (i = 0; i < SOFT_PT_COUNTERS; i++) {
		if (!pt->counters[i])
			return i;
	}
	return -ENOSPC;
}

/*
 * Allocate a counter.
 *
 * The rest of the sampling period belongs to the task. Instead of scheduling
 * events out and in, the core may exchange the contexts of two tasks whose
 * events are inherited from the same parents. Keep it from doing so while the
 * event counts.
 *
 * Context: interrupts disabled, the event's context is locked.
 */
static int soft_pebs_add(struct perf_event *event, int mode)
{
	struct soft_pt *pt = this_cpu_ptr(&soft_pt_cpu);
	struct hw_perf_event *hw = &event->hw;
	int cpu = smp_processor_id(), counter;

	if (!event->aux_event)		/* the group leader was closed */
		return -EINVAL;
	counter = find_counter(pt, hw->idx);
	if (counter < 0)
		return counter;
	pt->counters[counter] = event;
	local_inc(&event->ctx->nr_no_switch_fast);
	if (hw->idx != counter || hw->last_cpu != cpu ||
	    hw->last_tag != pt->tags[counter]) {
		hw->idx = counter;
		hw->last_cpu = cpu;
		hw->last_tag = ++pt->tags[counter];
		perf_report_aux_output_id(event, counter);
	}
	hw->state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (mode & PERF_EF_START)
		soft_pebs_start(event, 0);
	return 0;
}

static void soft_pebs_del(struct perf_event *event, int mode)
{
	soft_pebs_stop(event, PERF_EF_UPDATE);
	local_dec(&event->ctx->nr_no_switch_fast);
	this_cpu_write(soft_pt_cpu.counters[event->hw.idx], NULL);
}

/* The count is always up to date. */
static void soft_pebs_read(struct perf_event *event)
{
}

static bool is_valid(const struct perf_event_attr *attr)
{
	return attr->config == INST_RETIRED && !attr->config1 &&
	       !attr->config2 && !attr->config3;
}

/*
 * Return what hardware supports and this PMU does not, for the kernel log, or
 * NULL.
 */
static const char *unsupported(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	if (!attr->aux_output)
		return "to the ring buffer, only to the trace: use aux-output";
	if (attr->freq || !attr->sample_period)
		return "without a fixed period: use period=...";
	if (!attr->exclude_kernel || attr->exclude_user)
		return "the kernel, only user space: use .../u";
	if (has_branch_stack(event))
		return "branches: the trace contains them";
	return NULL;
}

static int soft_pebs_event_init(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader;
	const char *what;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (!is_valid(&event->attr))
		return -EINVAL;
	what = unsupported(event);
	if (what) {
		pr_info_ratelimited("cannot sample %s\n", what);
		return -EOPNOTSUPP;
	}
	/* The event must be in the software context, and so must its leader. */
	if (leader != event && !in_software_context(leader))
		return -EINVAL;
	event->hw.idx = -1;
	return 0;
}

static int soft_pebs_aux_output_match(struct perf_event *leader)
{
	return leader->pmu == &soft_pt_pmu && !leader->attr.config1;
}

static struct pmu soft_pebs_pmu = {
	.module			= THIS_MODULE,
	.capabilities		= PERF_PMU_CAP_AUX_OUTPUT,
	.attr_groups		= soft_pebs_attr_groups,
	.task_ctx_nr		= perf_sw_context,
	.event_init		= soft_pebs_event_init,
	.add			= soft_pebs_add,
	.del			= soft_pebs_del,
	.start			= soft_pebs_start,
	.stop			= soft_pebs_stop,
	.read			= soft_pebs_read,
	.aux_output_match	= soft_pebs_aux_output_match,
};

int soft_pebs_register(void)
{
	return perf_pmu_register(&soft_pebs_pmu, "soft_pebs", -1);
}

void soft_pebs_unregister(void)
{
	perf_pmu_unregister(&soft_pebs_pmu);
}
