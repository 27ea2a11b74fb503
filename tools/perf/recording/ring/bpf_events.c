// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <traceevent/event-parse.h>
#include "util/bpf_skel/event_ring.h"
#include "util/evsel.h"
#include "util/strbuf.h"
#include "util/trace-event.h"
#include "recording/lib/compat.h"
#include "bpf_events.h"
#include "bpf_filter.h"

#define MAX_VARIANTS 2
#define MAX_CALL_ARGS 6

/**
 * struct event_info - an event that a program writes
 * @name:	of the tracepoint
 * @function:	has the tracepoint; its address is the instruction pointer of the samples
 * @layouts:	"name@offset+size " of each field beside the common ones, by variant
 */
struct event_info {
	const char	*name;
	const char	*function;
	const char	*layouts[MAX_VARIANTS];
};

#define WAKEUP_LAYOUT	"comm@8+16 pid@24+4 prio@28+4 target_cpu@32+4 "
#define SOFTIRQ_LAYOUT	"vec@8+4 "
#define FAULT_LAYOUT	"address@8+8 ip@16+8 error_code@24+8 "
#define TIMER_LAYOUT	"timer@8+8 "
#define HRTIMER_LAYOUT	"hrtimer@8+8 "
#define RQ_LAYOUT(rwbs, comm)								\
	"dev@8+4 sector@16+8 nr_sector@24+4 bytes@28+4 ioprio@32+2 rwbs@34+" rwbs	\
	" comm@" comm "+16 cmd@60+4 "
#define RQ_COMPLETE_LAYOUT(rwbs)							\
	"dev@8+4 sector@16+8 nr_sector@24+4 error@28+4 ioprio@32+2 rwbs@34+" rwbs " cmd@44+4 "
#define PACKET_LAYOUT	"skbaddr@8+8 len@16+4 name@20+4 "
#define WORK_LAYOUT	"work@8+8 function@16+8 "

static const struct event_info infos[NR_RING_EVENTS] = {
	[RING_EVENT_sys_enter] = {
		"raw_syscalls:sys_enter", "syscall_trace_enter", { "id@8+8 args@16+48 " },
	},
	[RING_EVENT_sys_exit] = {
		"raw_syscalls:sys_exit", "syscall_exit_work", { "id@8+8 ret@16+8 " },
	},
	[RING_EVENT_sched_switch] = {
		"sched:sched_switch", "__schedule",
		{ "prev_comm@8+16 prev_pid@24+4 prev_prio@28+4 prev_state@32+8 next_comm@40+16 "
		  "next_pid@56+4 next_prio@60+4 " },
	},
	[RING_EVENT_sched_waking] = {
		"sched:sched_waking", "try_to_wake_up", { WAKEUP_LAYOUT },
	},
	[RING_EVENT_sched_wakeup] = {
		"sched:sched_wakeup", "ttwu_do_activate", { WAKEUP_LAYOUT },
	},
	[RING_EVENT_sched_wakeup_new] = {
		"sched:sched_wakeup_new", "wake_up_new_task", { WAKEUP_LAYOUT },
	},
	[RING_EVENT_sched_migrate_task] = {
		"sched:sched_migrate_task", "set_task_cpu",
		{ "comm@8+4 pid@12+4 prio@16+4 orig_cpu@20+4 dest_cpu@24+4 ",
		  "comm@8+16 pid@24+4 prio@28+4 orig_cpu@32+4 dest_cpu@36+4 " },
	},
	[RING_EVENT_sched_stat_runtime] = {
		"sched:sched_stat_runtime", "update_curr",
		{ "comm@8+4 pid@12+4 runtime@16+8 ", "comm@8+16 pid@24+4 runtime@32+8 " },
	},
	[RING_EVENT_sched_process_fork] = {
		"sched:sched_process_fork", "kernel_clone",
		{ "parent_comm@8+4 parent_pid@12+4 child_comm@16+4 child_pid@20+4 ",
		  "parent_comm@8+16 parent_pid@24+4 child_comm@28+16 child_pid@44+4 " },
	},
	[RING_EVENT_sched_process_exit] = {
		"sched:sched_process_exit", "do_exit",
		{ "comm@8+16 pid@24+4 prio@28+4 group_dead@32+1 ",
		  "comm@8+16 pid@24+4 prio@28+4 " },
	},
	[RING_EVENT_irq_handler_entry] = {
		"irq:irq_handler_entry", "__handle_irq_event_percpu", { "irq@8+4 name@12+4 " },
	},
	[RING_EVENT_irq_handler_exit] = {
		"irq:irq_handler_exit", "__handle_irq_event_percpu", { "irq@8+4 ret@12+4 " },
	},
	[RING_EVENT_softirq_entry] = {
		"irq:softirq_entry", "handle_softirqs", { SOFTIRQ_LAYOUT },
	},
	[RING_EVENT_softirq_exit] = {
		"irq:softirq_exit", "handle_softirqs", { SOFTIRQ_LAYOUT },
	},
	[RING_EVENT_softirq_raise] = {
		"irq:softirq_raise", "__raise_softirq_irqoff", { SOFTIRQ_LAYOUT },
	},
	[RING_EVENT_page_fault_user] = {
		"exceptions:page_fault_user", "exc_page_fault", { FAULT_LAYOUT },
	},
	[RING_EVENT_page_fault_kernel] = {
		"exceptions:page_fault_kernel", "exc_page_fault", { FAULT_LAYOUT },
	},
	[RING_EVENT_timer_start] = {
		"timer:timer_start", "enqueue_timer",
		{ "timer@8+8 function@16+8 expires@24+8 bucket_expiry@32+8 now@40+8 flags@48+4 " },
	},
	[RING_EVENT_timer_cancel] = {
		"timer:timer_cancel", "detach_if_pending", { TIMER_LAYOUT },
	},
	[RING_EVENT_timer_expire_entry] = {
		"timer:timer_expire_entry", "call_timer_fn",
		{ "timer@8+8 now@16+8 function@24+8 baseclk@32+8 " },
	},
	[RING_EVENT_timer_expire_exit] = {
		"timer:timer_expire_exit", "call_timer_fn", { TIMER_LAYOUT },
	},
	[RING_EVENT_hrtimer_start] = {
		"timer:hrtimer_start", "enqueue_hrtimer",
		{ "hrtimer@8+8 function@16+8 expires@24+8 softexpires@32+8 mode@40+4 "
		  "was_armed@44+1 ",
		  "hrtimer@8+8 function@16+8 expires@24+8 softexpires@32+8 mode@40+4 " },
	},
	[RING_EVENT_hrtimer_cancel] = {
		"timer:hrtimer_cancel", "hrtimer_try_to_cancel", { HRTIMER_LAYOUT },
	},
	[RING_EVENT_hrtimer_expire_entry] = {
		"timer:hrtimer_expire_entry", "__hrtimer_run_queues",
		{ "hrtimer@8+8 now@16+8 function@24+8 " },
	},
	[RING_EVENT_hrtimer_expire_exit] = {
		"timer:hrtimer_expire_exit", "__hrtimer_run_queues", { HRTIMER_LAYOUT },
	},
	[RING_EVENT_block_rq_insert] = {
		"block:block_rq_insert", "blk_mq_insert_request",
		{ RQ_LAYOUT("10", "44"), RQ_LAYOUT("9", "43") },
	},
	[RING_EVENT_block_rq_issue] = {
		"block:block_rq_issue", "blk_mq_start_request",
		{ RQ_LAYOUT("10", "44"), RQ_LAYOUT("9", "43") },
	},
	[RING_EVENT_block_rq_complete] = {
		"block:block_rq_complete", "blk_update_request",
		{ RQ_COMPLETE_LAYOUT("10"), RQ_COMPLETE_LAYOUT("9") },
	},
	[RING_EVENT_net_dev_queue] = {
		"net:net_dev_queue", "__dev_queue_xmit", { PACKET_LAYOUT },
	},
	[RING_EVENT_net_dev_xmit] = {
		"net:net_dev_xmit", "dev_hard_start_xmit",
		{ "skbaddr@8+8 len@16+4 rc@20+4 name@24+4 " },
	},
	[RING_EVENT_netif_rx] = {
		"net:netif_rx", "netif_rx_internal", { PACKET_LAYOUT },
	},
	[RING_EVENT_netif_receive_skb] = {
		"net:netif_receive_skb", "__netif_receive_skb_core", { PACKET_LAYOUT },
	},
	[RING_EVENT_napi_poll] = {
		"napi:napi_poll", "__napi_poll",
		{ "napi@8+8 dev_name@16+4 work@20+4 budget@24+4 " },
	},
	[RING_EVENT_workqueue_queue_work] = {
		"workqueue:workqueue_queue_work", "__queue_work",
		{ "work@8+8 function@16+8 workqueue@24+4 req_cpu@28+4 cpu@32+4 " },
	},
	[RING_EVENT_workqueue_activate_work] = {
		"workqueue:workqueue_activate_work", "__queue_work", { WORK_LAYOUT },
	},
	[RING_EVENT_workqueue_execute_start] = {
		"workqueue:workqueue_execute_start", "process_one_work", { WORK_LAYOUT },
	},
	[RING_EVENT_workqueue_execute_end] = {
		"workqueue:workqueue_execute_end", "process_one_work", { WORK_LAYOUT },
	},
};

/*
 * Single system calls
 */

#define ENTER_CALL	"syscalls:sys_enter_"
#define EXIT_CALL	"syscalls:sys_exit_"

/* System calls whose tracepoints have the names of their functions */
static const struct {
	const char *tracepoint, *call;
} aliases[] = {
	{ "newfstat", "fstat" },
	{ "newlstat", "lstat" },
	{ "newstat", "stat" },
	{ "newuname", "uname" },
	{ "sendfile64", "sendfile" },
	{ "umount", "umount2" },
};

static int call_number(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(aliases); i++) {
		if (!strcmp(name, aliases[i].tracepoint))
			return host_syscall_id(aliases[i].call);
	}
	return host_syscall_id(name);
}

/*
 * Return: the program of the events of single calls that @name is one of, with its number; or -1.
 */
static int find_call(const char *name, int *call)
{
	const char *what;
	int program;

	if (!strncmp(name, ENTER_CALL, strlen(ENTER_CALL))) {
		program = RING_EVENT_sys_enter;
		what = name + strlen(ENTER_CALL);
	} else if (!strncmp(name, EXIT_CALL, strlen(EXIT_CALL))) {
		program = RING_EVENT_sys_exit;
		what = name + strlen(EXIT_CALL);
	} else {
		return -1;
	}
	*call = call_number(what);
	return *call >= 0 && *call < NR_RING_CALLS ? program : -1;
}

/* Return: the number of fields behind the number of the call, all of them 64-bit words; or -1. */
static int count_words(const struct tep_format_field *field)
{
	int nr = 0;

	if (!field || strcmp(field->name, "__syscall_nr") || field->offset != 8 || field->size != 4)
		return -1;
	for (field = field->next; field; field = field->next) {
		if (field->offset != 16 + nr * 8 || field->size != 8)
			return -1;
		nr++;
	}
	return nr;
}

static bool find_call_format(const struct tep_event *format, struct bpf_event_kind *kind)
{
	kind->nr_args = count_words(format->format.fields);
	if (kind->program == RING_EVENT_sys_exit)
		return kind->nr_args == 1;
	return kind->nr_args >= 0 && kind->nr_args <= MAX_CALL_ARGS;
}

/*
 * All events
 */

/* Return: the program of @evsel, or -1. */
static int find_program(struct evsel *evsel, int *call)
{
	const char *name = evsel__name(evsel);
	size_t i;

	*call = -1;
	if (evsel->core.attr.type != PERF_TYPE_TRACEPOINT)
		return -1;
	for (i = 0; i < ARRAY_SIZE(infos); i++) {
		if (!strcmp(name, infos[i].name))
			return i;
	}
	return find_call(name, call);
}

bool bpf_events__know(struct evsel *evsel)
{
	int call;

	return find_program(evsel, &call) >= 0;
}

static void describe(const struct tep_event *format, struct strbuf *fields)
{
	struct tep_format_field *field;

	for (field = format->format.fields; field; field = field->next)
		strbuf_addf(fields, "%s@%d+%d ", field->name, field->offset, field->size);
}

bool bpf_events__find(struct evsel *evsel, struct bpf_event_kind *kind)
{
	struct tep_event *format = evsel__tp_format(evsel);
	struct strbuf fields = STRBUF_INIT;
	bool found = false;

	*kind = (struct bpf_event_kind){ .call = -1 };
	kind->program = find_program(evsel, &kind->call);
	if (kind->program < 0 || !format)
		return false;
	if (kind->call >= 0)
		return find_call_format(format, kind);
	describe(format, &fields);
	while (!found && kind->variant < MAX_VARIANTS &&
	       infos[kind->program].layouts[kind->variant]) {
		found = !strcmp(fields.buf, infos[kind->program].layouts[kind->variant]);
		if (!found)
			kind->variant++;
	}
	strbuf_release(&fields);
	return found;
}

int bpf_events__filter(struct evsel *evsel, struct ring_filter *filter)
{
	struct tep_event *format = evsel__tp_format(evsel);

	return format ? bpf_filter__compile(filter, format, evsel->filter) : -EOPNOTSUPP;
}

const char *bpf_events__function(int program)
{
	return infos[program].function;
}
