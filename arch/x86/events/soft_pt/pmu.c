// SPDX-License-Identifier: GPL-2.0-only
/*
 * Register a PMU named intel_pt on machines without Intel PT.
 *
 * Events are bound to a task and exclude the kernel. An event with attr.config1
 * steps no task: each time it is started it writes at least that many bytes of
 * the trace of a built-in loop (synth.c).
 *
 * Module parameters, for areas that are mapped after they are set:
 *   counts=0	do not publish aux_written, like drivers that do not count
 *   any_size=0	require a power-of-two number of pages
 */
#define pr_fmt(fmt) "soft_pt: " fmt

#include <linux/bitfield.h>
#include <linux/module.h>
#include <linux/processor.h>

#include "soft_pt.h"

DEFINE_PER_CPU(struct soft_pt, soft_pt_cpu);

static void soft_pt_start(struct perf_event *event, int mode)
{
	struct soft_pt *pt = this_cpu_ptr(&soft_pt_cpu);

	if (mode & PERF_EF_RESUME) {
		pt->paused = false;
		return;
	}
	if (pt->event == event) {	/* throttled until now */
		pt->paused = READ_ONCE(event->hw.aux_paused);
		return;
	}

	pt->event = event;
	if (!soft_pt_area_begin(pt)) {
		pt->event = NULL;
		return;
	}
	event->hw.state = 0;
	pt->since_psb = ULONG_MAX;
	pt->paused = READ_ONCE(event->hw.aux_paused);
	if (event->attr.config1)
		soft_pt_synth(pt, event->attr.config1);
	else
		soft_pt_step_start(pt);
}

/*
 * Without PERF_EF_UPDATE, the core pauses or throttles the event, perhaps in an
 * NMI that has interrupted this driver. The event stays started.
 */
static void soft_pt_stop(struct perf_event *event, int mode)
{
	struct soft_pt *pt = this_cpu_ptr(&soft_pt_cpu);

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	if (!(mode & PERF_EF_UPDATE)) {
		pt->paused = true;
		if (!in_nmi())
			soft_pt_step_leave(pt);
		return;
	}

	if (!event->attr.config1)
		soft_pt_step_stop(pt);
	soft_pt_area_end(pt);
	pt->event = NULL;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int soft_pt_add(struct perf_event *event, int mode)
{
	if (this_cpu_read(soft_pt_cpu.event))
		return -EBUSY;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (mode & PERF_EF_START)
		soft_pt_start(event, 0);
	return 0;
}

static void soft_pt_del(struct perf_event *event, int mode)
{
	soft_pt_stop(event, PERF_EF_UPDATE);
}

/* There is nothing to count. */
static void soft_pt_read(struct perf_event *event)
{
}

static void soft_pt_destroy(struct perf_event *event)
{
	soft_pt_step_put();
}

static bool is_valid(const struct perf_event_attr *attr)
{
	const u64 known = SOFT_PT_PASS_THROUGH | SOFT_PT_TSC |
			  SOFT_PT_NO_RETCOMP | SOFT_PT_BRANCH |
			  SOFT_PT_PSB_PERIOD;
	const u64 period = FIELD_GET(SOFT_PT_PSB_PERIOD, attr->config);

	return !(attr->config & ~known) && attr->config1 <= SOFT_PT_SYNTH_MAX &&
	       period < SOFT_PT_PSB_PERIODS;
}

/*
 * Return what hardware supports and this PMU does not, for the kernel log, or
 * NULL.
 */
static const char *unsupported(struct perf_event *event)
{
	const u64 bits = SOFT_PT_PASS_THROUGH | SOFT_PT_BRANCH;
	const struct perf_event_attr *attr = &event->attr;

	if (!(event->attach_state & PERF_ATTACH_TASK))
		return "CPUs, only tasks: do not use -a or -C";
	if (!attr->exclude_kernel)
		return "the kernel, only user space: use intel_pt//u";
	if (attr->exclude_user)
		return "without user space";
	/* As on hardware, a clear branch bit has an effect only with pt. */
	if ((attr->config & bits) == SOFT_PT_PASS_THROUGH)
		return "without branches";
	return NULL;
}

static int soft_pt_event_init(struct perf_event *event)
{
	const char *what;
	int err;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (!is_valid(&event->attr))
		return -EINVAL;
	what = unsupported(event);
	if (what) {
		pr_info_ratelimited("cannot trace %s\n", what);
		return -EOPNOTSUPP;
	}
	err = soft_pt_step_get();
	if (!err)
		event->destroy = soft_pt_destroy;
	return err;
}

struct pmu soft_pt_pmu = {
	.module		= THIS_MODULE,
	.capabilities	= PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE |
			  PERF_PMU_CAP_AUX_PAUSE | PERF_PMU_CAP_AUX_WRITTEN |
			  PERF_PMU_CAP_AUX_ANY_SIZE,
	.attr_groups	= soft_pt_attr_groups,
	.task_ctx_nr	= perf_sw_context,
	.event_init	= soft_pt_event_init,
	.add		= soft_pt_add,
	.del		= soft_pt_del,
	.start		= soft_pt_start,
	.stop		= soft_pt_stop,
	.read		= soft_pt_read,
	.setup_aux	= soft_pt_setup_aux,
	.free_aux	= soft_pt_free_aux,
	.snapshot_aux	= soft_pt_snapshot_aux,
};

static bool counts = true, any_size = true;

/* Set or clear the capability that a module parameter stands for. */
static int set_capability(const char *value, const struct kernel_param *kp)
{
	int capabilities = soft_pt_pmu.capabilities;
	int err = param_set_bool(value, kp);

	if (err)
		return err;
	capabilities &= ~(PERF_PMU_CAP_AUX_WRITTEN | PERF_PMU_CAP_AUX_ANY_SIZE);
	if (counts)
		capabilities |= PERF_PMU_CAP_AUX_WRITTEN;
	if (any_size)
		capabilities |= PERF_PMU_CAP_AUX_ANY_SIZE;
	WRITE_ONCE(soft_pt_pmu.capabilities, capabilities);
	return 0;
}

static const struct kernel_param_ops capability_ops = {
	.flags	= KERNEL_PARAM_OPS_FL_NOARG,
	.set	= set_capability,
	.get	= param_get_bool,
};

module_param_cb(counts, &capability_ops, &counts, 0644);
MODULE_PARM_DESC(counts, "publish the number of bytes written (aux_written)");
module_param_cb(any_size, &capability_ops, &any_size, 0644);
MODULE_PARM_DESC(any_size, "accept areas of any number of pages");

static int __init soft_pt_init(void)
{
	int err;

	if (boot_cpu_has(X86_FEATURE_INTEL_PT)) {
		pr_info("this machine has Intel PT: not loaded\n");
		return -ENODEV;
	}
	if (boot_cpu_data.x86_vendor != X86_VENDOR_INTEL) {
		pr_info("decoders require an Intel CPU: not loaded\n");
		return -ENODEV;
	}
	err = perf_pmu_register(&soft_pt_pmu, "intel_pt", -1);
	if (err)
		return err;
	err = soft_pebs_register();
	if (err) {
		perf_pmu_unregister(&soft_pt_pmu);
		return err;
	}
	pr_info("emulating Intel PT by single-stepping: slow, for tests\n");
	return 0;
}
module_init(soft_pt_init);

static void __exit soft_pt_exit(void)
{
	soft_pebs_unregister();
	perf_pmu_unregister(&soft_pt_pmu);
}
module_exit(soft_pt_exit);

MODULE_DESCRIPTION("Intel PT emulation by single-stepping, for tests");
MODULE_LICENSE("GPL");
