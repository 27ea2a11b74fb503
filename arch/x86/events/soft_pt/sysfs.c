// SPDX-License-Identifier: GPL-2.0-only
/*
 * Describe the PMUs in sysfs: the format of events and the capabilities that
 * perf and decoders look up. Two attributes do not exist for hardware:
 * caps/software, and caps/aux_any_size, which tells whether areas may have any
 * size, see Documentation/userspace-api/perf_aux_snapshot.rst.
 */
#include <linux/device.h>
#include <linux/sysfs.h>
#include <asm/tsc.h>

#include "soft_pt.h"

unsigned int soft_pt_ratio(void)
{
	return clamp(tsc_khz / 100000, 1, 255);
}

PMU_FORMAT_ATTR(pt,		"config:0");
PMU_FORMAT_ATTR(tsc,		"config:10");
PMU_FORMAT_ATTR(noretcomp,	"config:11");
PMU_FORMAT_ATTR(branch,		"config:13");
PMU_FORMAT_ATTR(psb_period,	"config:24-27");
PMU_FORMAT_ATTR(synth,		"config1:0-15");

static struct attribute *format_attrs[] = {
	&format_attr_pt.attr,
	&format_attr_tsc.attr,
	&format_attr_noretcomp.attr,
	&format_attr_branch.attr,
	&format_attr_psb_period.attr,
	&format_attr_synth.attr,
	NULL,
};

static const struct attribute_group format_group = {
	.name = "format", .attrs = format_attrs,
};

#define CAP_ATTR(name, value)	DEVICE_STRING_ATTR_RO(name, 0444, value)
static CAP_ATTR(software, "1");
static CAP_ATTR(topa_multiple_entries, "1");
static CAP_ATTR(psb_cyc, "1");
static CAP_ATTR(psb_periods, "3f");
static CAP_ATTR(cycle_thresholds, "0");
static CAP_ATTR(mtc, "0");
static CAP_ATTR(mtc_periods, "0");
static CAP_ATTR(event_trace, "0");

static ssize_t aux_any_size_show(struct device *dev,
				 struct device_attribute *attr, char *page)
{
	const struct pmu *pmu = dev_get_drvdata(dev);
	int any_size = pmu->capabilities & PERF_PMU_CAP_AUX_ANY_SIZE;

	return sysfs_emit(page, "%d\n", !!any_size);
}
static DEVICE_ATTR_RO(aux_any_size);

static struct attribute *cap_attrs[] = {
	&dev_attr_software.attr.attr,
	&dev_attr_topa_multiple_entries.attr.attr,
	&dev_attr_psb_cyc.attr.attr,
	&dev_attr_psb_periods.attr.attr,
	&dev_attr_cycle_thresholds.attr.attr,
	&dev_attr_mtc.attr.attr,
	&dev_attr_mtc_periods.attr.attr,
	&dev_attr_event_trace.attr.attr,
	&dev_attr_aux_any_size.attr,
	NULL,
};

static const struct attribute_group cap_group = {
	.name = "caps", .attrs = cap_attrs,
};

static ssize_t max_nonturbo_ratio_show(struct device *dev,
				       struct device_attribute *attr,
				       char *page)
{
	return sysfs_emit(page, "%u\n", soft_pt_ratio());
}
static DEVICE_ATTR_RO(max_nonturbo_ratio);

static struct attribute *timing_attrs[] = {
	&dev_attr_max_nonturbo_ratio.attr,
	NULL,
};

static const struct attribute_group timing_group = { .attrs = timing_attrs };

const struct attribute_group *soft_pt_attr_groups[] = {
	&format_group,
	&cap_group,
	&timing_group,
	NULL,
};

/*
 * soft_pebs
 */

PMU_FORMAT_ATTR(event,		"config:0-7");
static struct attribute *pebs_format_attrs[] = {
	&format_attr_event.attr,
	NULL,
};

static const struct attribute_group pebs_format_group = {
	.name = "format", .attrs = pebs_format_attrs,
};

PMU_EVENT_ATTR_STRING(inst_retired, event_inst_retired, "event=0xc0");
static struct attribute *pebs_event_attrs[] = {
	&event_inst_retired.attr.attr,
	NULL,
};

static const struct attribute_group pebs_event_group = {
	.name = "events", .attrs = pebs_event_attrs,
};

static struct attribute *pebs_cap_attrs[] = {
	&dev_attr_software.attr.attr,
	NULL,
};

static const struct attribute_group pebs_cap_group = {
	.name = "caps", .attrs = pebs_cap_attrs,
};

const struct attribute_group *soft_pebs_attr_groups[] = {
	&pebs_format_group,
	&pebs_event_group,
	&pebs_cap_group,
	NULL,
};
