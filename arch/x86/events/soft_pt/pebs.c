// SPDX-License-Identifier: GPL-2.0-only
/*
 * PEBS via PT: a second PMU, soft_pebs, whose samples are in the trace (perf_event_attr.aux_output)
 *
 * Its one event counts the instructions that the trace shows. Of each that makes sample_period of
 * them a block of packets tells:
 *
 *	BBP 4	BIP 0	its address
 *		BIP 1	which counters, a bit each: two may be full at once
 *		BIP 2	TSC
 *	BBP 1	BIP 0-17 flags, address and general registers behind it, if they are asked for
 *	BEP	and a FUP of the next instruction; without one if the trace is disabled by then
 *
 * Of an instruction that repeats itself the last round counts. What is executed while nobody is
 * stepped is not counted, be it that the trace is paused, there is no room, or the program has TF.
 *
 * The leader of the group is added first, and so an event finds the trace as it is to be. Which
 * event a counter's bit stands for is said in a PERF_RECORD_AUX_OUTPUT_HW_ID, as by x86's driver:
 * when it gets another counter than last time, or one that another event had meanwhile.
 */
#define pr_fmt(fmt) "soft_pt: " fmt

#include <linux/slab.h>
#include <asm/tsc.h>

#include "soft_pt.h"

#define INST_RETIRED		0xc0

/* Types of blocks, and items of the first. */
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
		regs->r10, regs->r11, regs->r12, regs->r13, regs->r14, regs->r15,
	};
	int i;

	soft_pt_bbp(pt, BLOCK_GP);
	for (i = 0; i < ARRAY_SIZE(values); i++)
		soft_pt_bip(pt, i, values[i]);
}

void soft_pt_retired(struct soft_pt *pt, u64 ip, u64 next, const struct pt_regs *regs)
{
	bool wants_regs = false;
	u64 full = 0;
	int i;

	for (i = 0; i < SOFT_PT_COUNTERS; i++) {
		struct perf_event *event = pt->counters[i];

		if (!event || (event->hw.state & PERF_HES_STOPPED))
			continue;
		local64_inc(&event->count);
		if (local64_sub_return(1, &event->hw.period_left) > 0)
			continue;
		local64_set(&event->hw.period_left, event->hw.sample_period);
		full |= BIT_ULL(i);
		wants_regs |= event->attr.sample_type & PERF_SAMPLE_REGS_INTR;
	}
	if (!full)
		return;

	soft_pt_bbp(pt, BLOCK_BASIC);
	soft_pt_bip(pt, BASIC_IP, ip);
	soft_pt_bip(pt, BASIC_COUNTERS, full);
	soft_pt_bip(pt, BASIC_TSC, max(rdtsc_ordered(), pt->tsc));
	if (wants_regs && regs)
		put_registers(pt, regs);
	soft_pt_bep(pt, pt->inside, next);
}

/*
 * The PMU
 */

static void soft_pebs_start(struct perf_event *event, int mode)
{
	/* After PERF_EVENT_IOC_PERIOD */
	if (local64_read(&event->hw.period_left) <= 0)
		local64_set(&event->hw.period_left, event->hw.sample_period);
	event->hw.state = 0;
}

static void soft_pebs_stop(struct perf_event *event, int mode)
{
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

/* The one that it had, if that is free. */
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

static int soft_pebs_add(struct perf_event *event, int mode)
{
	struct soft_pt *pt = this_cpu_ptr(&soft_pt_cpu);
	struct hw_perf_event *hw = &event->hw;
	int cpu = smp_processor_id(), counter;

	if (!event->aux_event)		/* the leader is gone */
		return -EINVAL;
	counter = find_counter(pt, hw->idx);
	if (counter < 0)
		return counter;
	pt->counters[counter] = event;
	if (hw->idx != counter || hw->last_cpu != cpu || hw->last_tag != pt->tags[counter]) {
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
	this_cpu_write(soft_pt_cpu.counters[event->hw.idx], NULL);
}

/* The count is always up to date. */
static void soft_pebs_read(struct perf_event *event)
{
}

static const struct perf_event *origin(const struct perf_event *event)
{
	return event->parent ?: event;
}

static void swap_left(struct perf_event *a, struct perf_event *b)
{
	s64 left = local64_read(&a->hw.period_left);

	local64_set(&a->hw.period_left, local64_read(&b->hw.period_left));
	local64_set(&b->hw.period_left, left);
}

/*
 * Instead of scheduling events out and in, the core may give a task the context of another, whose
 * events are inherited from the same, in some order. What is left of a period is the task's.
 * Interrupts are off, both contexts are locked.
 */
static void soft_pebs_swap(struct perf_event_pmu_context *prev, struct perf_event_pmu_context *next)
{
	struct perf_event *a, *b;

	list_for_each_entry(a, &prev->ctx->event_list, event_entry) {
		if (a->pmu != prev->pmu)
			continue;
		list_for_each_entry(b, &next->ctx->event_list, event_entry) {
			if (origin(a) == origin(b))
				swap_left(a, b);
		}
	}
}

static bool is_valid(const struct perf_event_attr *attr)
{
	return attr->config == INST_RETIRED && !attr->config1 && !attr->config2 && !attr->config3;
}

/* What hardware can do and this cannot; the log says what. */
static const char *missing(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	if (!attr->aux_output)
		return "into rings, only into the trace (aux-output)";
	if (attr->freq || !attr->sample_period)
		return "but with a period (period=...)";
	if (!attr->exclude_kernel || attr->exclude_user)
		return "the kernel, only user space (.../u)";
	if (has_branch_stack(event))
		return "branches, the trace has them";
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
	what = missing(event);
	if (what) {
		pr_info_ratelimited("cannot sample %s\n", what);
		return -EOPNOTSUPP;
	}
	/* What the other PMU's contexts are to hold is not known here. */
	if (leader != event && !in_software_context(leader))
		return -EINVAL;
	event->attach_state |= PERF_ATTACH_TASK_DATA;	/* for soft_pebs_swap() to be called */
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
	.swap_task_ctx		= soft_pebs_swap,
	.aux_output_match	= soft_pebs_aux_output_match,
};

int soft_pebs_register(void)
{
	int err;

	/* A context has a word of its own, since the core calls nobody for one that has nothing. */
	soft_pebs_pmu.task_ctx_cache = kmem_cache_create("soft_pebs", sizeof(u64), 0, 0, NULL);
	if (!soft_pebs_pmu.task_ctx_cache)
		return -ENOMEM;
	err = perf_pmu_register(&soft_pebs_pmu, "soft_pebs", -1);
	if (err)
		kmem_cache_destroy(soft_pebs_pmu.task_ctx_cache);
	return err;
}

void soft_pebs_unregister(void)
{
	perf_pmu_unregister(&soft_pebs_pmu);
	rcu_barrier();		/* contexts are freed behind RCU, and their words with them */
	kmem_cache_destroy(soft_pebs_pmu.task_ctx_cache);
}
