// SPDX-License-Identifier: GPL-2.0-only
/*
 * Make random attributes. A recipe gives an event that this kernel accepts; then fields are set to
 * random values, few of them and mostly valid ones, so that most attributes are accepted.
 */
#include <linux/hw_breakpoint.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fuzz.h"

#define PMUS		"/sys/bus/event_source/devices/"
#define TRACEPOINTS	"/sys/kernel/tracing/events/"

/* Target of breakpoints: at the same address in all processes. */
static volatile long watched;

static struct {
	int		intel_pt, soft_pebs;		/* PMU types; -1: none */
	uint64_t	tracepoints[6];
	unsigned int	nr_tracepoints;
} system_events;

static long number_in(const char *path)
{
	FILE *file = fopen(path, "r");
	long number = -1;

	if (file) {
		if (fscanf(file, "%ld", &number) != 1)
			number = -1;
		fclose(file);
	}
	return number;
}

void attr_init(void)
{
	static const char *const tracepoints[] = {
		"sched/sched_switch", "sched/sched_wakeup", "raw_syscalls/sys_enter",
		"raw_syscalls/sys_exit", "signal/signal_deliver", "exceptions/page_fault_user",
	};
	char path[128];

	system_events.intel_pt = number_in(PMUS "intel_pt/type");
	system_events.soft_pebs = number_in(PMUS "soft_pebs/type");
	for (unsigned int i = 0; i < sizeof(tracepoints) / sizeof(tracepoints[0]); i++) {
		long id;

		snprintf(path, sizeof(path), TRACEPOINTS "%s/id", tracepoints[i]);
		id = number_in(path);
		if (id >= 0)
			system_events.tracepoints[system_events.nr_tracepoints++] = id;
	}
}

bool attr_has_aux(const struct perf_event_attr *attr)
{
	return attr->type == (uint32_t)system_events.intel_pt;
}

/*
 * Recipes
 */

static void software(struct perf_event_attr *attr)
{
	static const uint64_t configs[] = {
		PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN,
		PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,
		PERF_COUNT_SW_BPF_OUTPUT, PERF_COUNT_SW_CGROUP_SWITCHES,
		PERF_COUNT_SW_EMULATION_FAULTS, PERF_COUNT_SW_ALIGNMENT_FAULTS,
	};

	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = one_in(2) ? PERF_COUNT_SW_PAGE_FAULTS : PICK(configs);
	attr->sample_period = 1 + random_below(3);
}

static void clocks(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = one_in(2) ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_TASK_CLOCK;
	attr->sample_period = one_in(32) ? 1 : 100000 + random_below(10000000);
	if (one_in(3)) {
		attr->freq = 1;
		attr->sample_freq = 1 + random_below(1000);
	}
}

static void side_band(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->sample_period = 1;
	attr->mmap = attr->comm = attr->task = attr->mmap2 = 1;
	attr->mmap_data = one_in(2);
	attr->comm_exec = one_in(2);
	attr->context_switch = one_in(2);
	attr->namespaces = one_in(4);
	attr->cgroup = one_in(4);
	attr->ksymbol = one_in(4);
	attr->bpf_event = one_in(4);
	attr->text_poke = one_in(8);
	attr->build_id = one_in(8);
}

static void tracepoint(struct perf_event_attr *attr)
{
	if (!system_events.nr_tracepoints)
		return software(attr);
	attr->type = PERF_TYPE_TRACEPOINT;
	attr->config = system_events.tracepoints[random_below(system_events.nr_tracepoints)];
	attr->sample_period = 1 + random_below(2);
	attr->sample_type = PERF_SAMPLE_RAW;
}

static void breakpoint(struct perf_event_attr *attr)
{
	static const uint32_t types[] = { HW_BREAKPOINT_W, HW_BREAKPOINT_RW };

	attr->type = PERF_TYPE_BREAKPOINT;
	attr->bp_type = PICK(types);
	attr->bp_addr = (uintptr_t)&watched;
	attr->bp_len = HW_BREAKPOINT_LEN_8;
	attr->sample_period = 1;
	attr->sigtrap = one_in(8);
	attr->remove_on_exec = attr->sigtrap;
	attr->sig_data = random_u64();
}

static void intel_pt(struct perf_event_attr *attr)
{
	uint32_t start_paused;

	if (system_events.intel_pt < 0)
		return clocks(attr);
	attr->type = system_events.intel_pt;
	attr->config = 1 << 13 | one_in(2) << 10 | random_below(6) << 24;
	/* Mostly synthetic traces: single-stepping makes a task a thousand times slower. */
	attr->config1 = one_in(16) ? 0 : 1 + random_below(10000);
	attr->exclude_kernel = 1;
	attr->aux_watermark = one_in(3) ? random_below(1 << 18) : 0;
	/* attr.aux_action, which the header of 6.12 lacks: aux_start_paused */
	start_paused = one_in(8);
	memcpy((char *)attr + offsetof(struct perf_event_attr, aux_sample_size) +
	       sizeof(attr->aux_sample_size), &start_paused, sizeof(start_paused));
}

static void soft_pebs(struct perf_event_attr *attr)
{
	if (system_events.soft_pebs < 0)
		return software(attr);
	attr->type = system_events.soft_pebs;
	attr->config = 1;
	attr->sample_period = 1 + random_below(1000);
	attr->aux_output = 1;
	attr->exclude_kernel = 1;
	attr->precise_ip = one_in(2);
}

static void hardware(struct perf_event_attr *attr)
{
	attr->type = random_below(5);
	attr->config = random_below(10);
	attr->sample_period = 100000;
	attr->precise_ip = random_below(4);
}

static void anything(struct perf_event_attr *attr)
{
	attr->type = random_below(32);
	attr->config = random_number();
	attr->config1 = random_number();
	attr->config2 = random_number();
	attr->sample_period = 100000 + random_number() % (1ULL << 40);
}

static void (*const recipes[])(struct perf_event_attr *attr) = {
	software, software, software, software, clocks, clocks, clocks, side_band, side_band,
	tracepoint, tracepoint, tracepoint, breakpoint, breakpoint, intel_pt, intel_pt, hardware,
	anything,
};

/*
 * Fields that any event may have
 */

#define FIXED_FIELDS							\
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |		\
	 PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_STREAM_ID |	\
	 PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_IDENTIFIER |			\
	 PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |			\
	 PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE)

unsigned int attr_sample_size(const struct perf_event_attr *attr)
{
	uint64_t type = attr->sample_type & ~PERF_SAMPLE_SIZE_AT_END;

	if (type & ~FIXED_FIELDS)
		return 0;
	return sizeof(struct perf_event_header) + 8 * __builtin_popcountll(type);
}

/* The registers of x86-64 tasks */
#define X86_REGS	0xff0fff

static void variable_fields(struct perf_event_attr *attr)
{
	static const uint64_t fields[] = {
		PERF_SAMPLE_READ, PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_RAW, PERF_SAMPLE_REGS_USER,
		PERF_SAMPLE_STACK_USER, PERF_SAMPLE_STACK_USER, PERF_SAMPLE_REGS_INTR,
	};
	static const uint32_t sizes[] = { 8, 64, 1024, 4080, 8192, 16384, 32768, 65528 };

	for (unsigned int i = random_below(4); i; i--)
		attr->sample_type |= PICK(fields);
	if (one_in(32))			/* needs hardware */
		attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
	if (attr->sample_type & PERF_SAMPLE_REGS_USER)
		attr->sample_regs_user = (random_u64() & X86_REGS) | 1;
	if (attr->sample_type & PERF_SAMPLE_REGS_INTR)
		attr->sample_regs_intr = (random_u64() & X86_REGS) | 1;
	if (attr->sample_type & PERF_SAMPLE_STACK_USER)
		attr->sample_stack_user = one_in(3) ? 8 * random_below(8192) : PICK(sizes);
	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		attr->branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	if (attr->sample_type & PERF_SAMPLE_CALLCHAIN) {
		attr->sample_max_stack = one_in(2) ? 0 : random_below(127);
		attr->exclude_callchain_user = one_in(4);
		attr->exclude_callchain_kernel = one_in(4);
	}
}

static void switches(struct perf_event_attr *attr)
{
	static const int clocks[] = {
		CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_TAI,
	};

	attr->disabled = one_in(8);
	attr->inherit = one_in(4);
	attr->inherit_stat = one_in(16);
	attr->inherit_thread = attr->inherit && one_in(8);
	attr->pinned = one_in(16);
	attr->exclusive = one_in(32);
	attr->exclude_user = one_in(16);
	attr->exclude_kernel |= one_in(2);
	attr->exclude_idle = one_in(16);
	attr->remove_on_exec |= one_in(16);
	attr->enable_on_exec = !attr->remove_on_exec && one_in(16);
	attr->sample_id_all = one_in(2);
	attr->write_backward = one_in(5);
	attr->use_clockid = one_in(8);
	attr->clockid = attr->use_clockid ? PICK(clocks) : 0;
	attr->watermark = one_in(3);
	attr->wakeup_events = one_in(3) ? random_number() : random_below(5);
}

/* Follow the rules for the members of a group, and for events that may share a ring. */
static void join(struct perf_event_attr *attr, const struct event *leader)
{
	attr->use_clockid = leader->attr.use_clockid;
	attr->clockid = leader->attr.clockid;
	attr->inherit = leader->attr.inherit;
	attr->inherit_thread = leader->attr.inherit_thread;
	attr->pinned = attr->exclusive = 0;
	attr->write_backward = leader->attr.write_backward;
	attr->sample_type &= ~PERF_SAMPLE_SIZE_AT_END;
	attr->sample_type |= leader->attr.sample_type & PERF_SAMPLE_SIZE_AT_END;
	if (attr_has_aux(&leader->attr) && one_in(2)) {
		attr->sample_type |= PERF_SAMPLE_AUX;
		attr->aux_sample_size = 8 * random_below(one_in(2) ? 64 : 8192);
	}
}

/* Change any byte of the attributes: most such events are refused. */
static void corrupt(struct perf_event_attr *attr)
{
	for (unsigned int i = 1 + random_below(3); i; i--)
		((unsigned char *)attr)[random_below(sizeof(*attr))] ^= 1 << random_below(8);
}

void attr_random(struct perf_event_attr *attr, const struct event *leader)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	if (leader && attr_has_aux(&leader->attr) && one_in(3))
		soft_pebs(attr);
	else
		PICK(recipes)(attr);
	switches(attr);
	if (!one_in(4))
		attr->sample_type |= random_u64() & FIXED_FIELDS;
	if (one_in(2))
		variable_fields(attr);
	if (!attr->write_backward && one_in(2))
		attr->sample_type |= PERF_SAMPLE_SIZE_AT_END;
	if (one_in(2))
		attr->read_format = random_below(32);
	if (attr->inherit && !one_in(16)) {
		attr->read_format &= ~PERF_FORMAT_GROUP;
		attr->sample_type &= ~PERF_SAMPLE_READ;
	}
	if (leader && !one_in(8))
		join(attr, leader);
	if (one_in(10))
		corrupt(attr);
}
