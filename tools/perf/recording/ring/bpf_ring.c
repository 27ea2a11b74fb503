// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <linux/kernel.h>
#include "util/debug.h"
#include "bpf_ring.h"

int bpf_ring__parse(enum bpf_ring_mode *mode, const char *text)
{
	static const char * const modes[] = {
		[BPF_RING_AUTO] = "auto", [BPF_RING_YES] = "yes", [BPF_RING_NO] = "no",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(text, modes[i]))
			continue;
		*mode = i;
		return 0;
	}
	return -EINVAL;
}

#if defined(HAVE_BPF_SKEL) && defined(__x86_64__)
#include <time.h>
#include <internal/lib.h>
#include <linux/perf_event.h>
#include <linux/time64.h>
#include <sys/stat.h>
#include <traceevent/event-parse.h>
#include "util/cpumap.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/evsel_config.h"
#include "util/record.h"
#include "util/strbuf.h"
#include "util/target.h"
#include "util/trace-event.h"
#include "recording/lib/compat.h"
#include "bpf_programs.h"
#include "channel.h"

/* The fields of a sample, in the order in which the programs write them */
#define SAMPLE_FORMAT (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
		       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW)

/* The value of an array could not be larger before Linux 6.8 (KMALLOC_MAX_SIZE). */
#define MAX_OLD_VALUE (4 << 20)

/* Where all mount and pid namespaces begin (PROC_PID_INIT_INO) */
#define INIT_PID_NS_INO 0xEFFFFFFC

/**
 * struct ring_event_info - an event that the programs write
 * @name:	of the tracepoint
 * @fields:	"name@offset+size " of each field beside the common ones: the layout that the
 *		program writes
 * @function:	has the tracepoint; its address is the instruction pointer of the samples
 */
struct ring_event_info {
	const char	*name;
	const char	*fields;
	const char	*function;
};

#define WAKEUP_FIELDS "comm@8+16 pid@24+4 prio@28+4 target_cpu@32+4 "

_Static_assert(BPF_RING_EVENTS == NR_RING_EVENTS, "struct bpf_ring has an entry for each event");

static const struct ring_event_info infos[NR_RING_EVENTS] = {
	[RING_EVENT_SYS_ENTER] = {
		.name = "raw_syscalls:sys_enter",
		.fields = "id@8+8 args@16+48 ", .function = "syscall_trace_enter",
	},
	[RING_EVENT_SYS_EXIT] = {
		.name = "raw_syscalls:sys_exit",
		.fields = "id@8+8 ret@16+8 ", .function = "syscall_exit_work",
	},
	[RING_EVENT_SCHED_SWITCH] = {
		.name = "sched:sched_switch",
		.fields = "prev_comm@8+16 prev_pid@24+4 prev_prio@28+4 prev_state@32+8 "
			  "next_comm@40+16 next_pid@56+4 next_prio@60+4 ",
		.function = "__schedule",
	},
	[RING_EVENT_SCHED_WAKING] = {
		.name = "sched:sched_waking",
		.fields = WAKEUP_FIELDS, .function = "try_to_wake_up",
	},
	[RING_EVENT_SCHED_WAKEUP] = {
		.name = "sched:sched_wakeup",
		.fields = WAKEUP_FIELDS, .function = "ttwu_do_activate",
	},
	[RING_EVENT_SCHED_WAKEUP_NEW] = {
		.name = "sched:sched_wakeup_new",
		.fields = WAKEUP_FIELDS, .function = "wake_up_new_task",
	},
};

/*
 * Selection of events
 */

/* Return: the index of @evsel in the table, or -1. */
static int find_info(const struct evsel *evsel)
{
	const char *name = evsel__name((struct evsel *)evsel);
	size_t i;

	if (evsel->core.attr.type != PERF_TYPE_TRACEPOINT)
		return -1;
	for (i = 0; i < ARRAY_SIZE(infos); i++) {
		if (!strcmp(name, infos[i].name))
			return i;
	}
	return -1;
}

static struct bpf_written_event *written_event(const struct evsel *evsel)
{
	return evsel->priv;
}

/* Visit the events that are marked, with their entries in @events. */
#define for_each_written(evlist, evsel, event)			\
	evlist__for_each_entry(evlist, evsel)			\
		if (((event) = written_event(evsel)) != NULL)

static bool is_initial_pid_namespace(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == INIT_PID_NS_INO;
}

/* Return: why no event of this recording can be written by BPF, or NULL. */
static const char *unsuitable_recording(const struct record_opts *opts)
{
	const struct target *target = &opts->target;

	if (!target->system_wide || target->cpu_list || target->pid || target->tid)
		return "only recordings of all CPUs (-a) can";
	if (opts->use_clockid && opts->clockid != CLOCK_MONOTONIC)
		return "the programs have no clock but CLOCK_MONOTONIC";
	if (!is_initial_pid_namespace())
		return "perf is in a PID namespace";
	return NULL;
}

static bool has_format(struct evsel *evsel, const struct ring_event_info *info)
{
	struct tep_event *format = evsel__tp_format(evsel);
	struct strbuf fields = STRBUF_INIT;
	struct tep_format_field *field;
	bool same;

	for (field = format ? format->format.fields : NULL; field; field = field->next)
		strbuf_addf(&fields, "%s@%d+%d ", field->name, field->offset, field->size);
	same = !strcmp(fields.buf, info->fields);
	strbuf_release(&fields);
	return same;
}

/* Return: why @evsel, which is in the table, cannot be written by BPF, or NULL. */
static const char *unsuitable_event(struct evsel *evsel, const struct ring_event_info *info)
{
	const struct perf_event_attr *attr = &evsel->core.attr;

	if (evsel__channel(evsel) != CHANNEL_OVERWRITE)
		return "it is not in overwrite mode";
	if (evsel->filter || !list_empty(&evsel->bpf_filters))
		return "it has a filter";
	if (evsel->core.nr_members > 1 || evsel->core.leader != &evsel->core)
		return "it is in a group";
	if (evsel->cgrp)
		return "it is bound to a cgroup";
	if (attr->freq || attr->sample_period != 1 || attr->sample_type != SAMPLE_FORMAT)
		return "its samples have other fields, or another period";
	if (!has_format(evsel, info))
		return "this kernel has another format for it";
	return NULL;
}

/* The attribute is not configured yet. */
static bool will_overwrite(struct evsel *evsel, const struct record_opts *opts)
{
	const struct evsel_config_term *term = evsel__get_config_term(evsel, OVERWRITE);

	return term ? term->val.overwrite : opts->overwrite;
}

void bpf_ring__choose_clock(struct bpf_ring *ring, struct evlist *evlist, struct record_opts *opts)
{
	struct timespec resolution;
	struct evsel *evsel;

	ring->reason = ring->mode == BPF_RING_NO ? "--bpf-ring=no" : unsuitable_recording(opts);
	if (ring->reason || opts->use_clockid)
		return;
	evlist__for_each_entry(evlist, evsel) {
		if (find_info(evsel) < 0 || !will_overwrite(evsel, opts))
			continue;
		clock_getres(CLOCK_MONOTONIC, &resolution);
		opts->use_clockid = true;
		opts->clockid = CLOCK_MONOTONIC;
		opts->clockid_res_ns = resolution.tv_sec * NSEC_PER_SEC + resolution.tv_nsec;
		return;
	}
}

/*
 * Loading
 */

/* Leave all events to perf's rings. */
static void give_up(struct bpf_ring *ring, struct evlist *evlist, const char *reason)
{
	struct evsel *evsel;

	ring->reason = reason;
	evlist__for_each_entry(evlist, evsel)
		evsel->priv = NULL;
	bpf_programs__delete(ring->programs);
	ring->programs = NULL;
}

static void mark_events(struct bpf_ring *ring, struct evlist *evlist, int *nr)
{
	const char *reason;
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		int index = find_info(evsel);

		if (index < 0)
			continue;
		reason = unsuitable_event(evsel, &infos[index]);
		pr_debug("%s is written by %s%s\n", evsel__name(evsel), reason ? "perf: " : "BPF",
			 reason ?: "");
		if (reason) {
			ring->reason = reason;
			continue;
		}
		ring->events[index] = (struct bpf_written_event){ .index = index, .program_fd = -1 };
		evsel->priv = &ring->events[index];
		++*nr;
	}
}

/* An event that is recorded twice needs two records. */
static bool has_twins(struct evlist *evlist)
{
	bool seen[NR_RING_EVENTS] = { false };
	struct bpf_written_event *event;
	struct evsel *evsel;

	for_each_written(evlist, evsel, event) {
		if (seen[event->index])
			return true;
		seen[event->index] = true;
	}
	return false;
}

static int refuse(const struct bpf_ring *ring)
{
	if (ring->mode != BPF_RING_YES)
		return 0;
	pr_err("--bpf-ring=yes: no event can be written by BPF: %s.\n",
	       ring->reason ?: "there is none that the programs know");
	return -EOPNOTSUPP;
}

int bpf_ring__add_events(struct bpf_ring *ring, struct evlist *evlist,
			 const struct record_opts *opts, pid_t own_tgid)
{
	struct bpf_written_event *event;
	struct evsel *evsel;
	int nr = 0, err;

	if (ring->reason)
		return refuse(ring);
	mark_events(ring, evlist, &nr);
	if (!nr)
		return refuse(ring);

	ring->programs = bpf_programs__new();
	if (!ring->programs) {
		give_up(ring, evlist, "memory is short");
		return refuse(ring);
	}
	for_each_written(evlist, evsel, event)
		bpf_programs__select(ring->programs, event->index);
	err = has_twins(evlist) ? -EEXIST :
	      bpf_programs__load(ring->programs, channels__ring_bytes(opts->mmap_pages),
				 cpu__max_cpu().cpu, own_tgid);
	if (err)
		give_up(ring, evlist, err == -EEXIST ? "an event is recorded twice" :
			err == -EPERM || err == -EACCES ? "this user may not load BPF programs" :
			err == -E2BIG ? "the rings are too large for BPF arrays of this kernel" :
			"this kernel does not load the programs (-vv prints its messages)");
	return ring->programs ? 0 : refuse(ring);
}

/*
 * Rings
 */

static struct evsel *first_written(struct evlist *evlist)
{
	struct bpf_written_event *event;
	struct evsel *evsel;

	for_each_written(evlist, evsel, event)
		return evsel;
	return NULL;
}

static int map_rings(struct bpf_ring *ring, struct channel *channel, struct evlist *evlist)
{
	struct evsel *owner = first_written(evlist);
	struct perf_cpu cpu;
	int i, fd, err;

	perf_cpu_map__for_each_cpu(cpu, i, evlist->core.all_cpus) {
		if (cpu.cpu < 0)
			continue;
		fd = bpf_programs__add_ring(ring->programs, cpu.cpu, max(cpu__get_node(cpu), 0));
		err = fd < 0 ? fd : channel__add_foreign(channel, i, owner, fd, cpu);
		if (err)
			return err;
	}
	return 0;
}

static int attach(struct bpf_ring *ring, struct evlist *evlist)
{
	struct bpf_written_event *event;
	struct event_ring_words *words = bpf_programs__words(ring->programs);
	struct ring_event_config *config;
	struct evsel *evsel;
	u64 ip;

	for_each_written(evlist, evsel, event) {
		config = &words->config[event->index];
		config->id = evsel->core.id[0];
		config->type = evsel->core.attr.config;
		if (!kallsyms__get_function_start("/proc/kallsyms", infos[event->index].function, &ip))
			config->ip = ip;
		event->program_fd = bpf_programs__fd(ring->programs, event->index);
		event->enabled = &words->enabled[event->index];
		event->lost = &words->lost[event->index];
	}
	return bpf_programs__attach(ring->programs);
}

int bpf_ring__map(struct bpf_ring *ring, struct channel *channel, struct evlist *evlist,
		  unsigned int pages)
{
	int err;

	if (!ring->programs)
		return 0;
	channel->pages = channels__ring_bytes(pages) / page_size;
	err = map_rings(ring, channel, evlist) ?: attach(ring, evlist);
	if (err)
		pr_err("Cannot let BPF write events to %zu kB for each CPU: %s. Use a smaller -m, or "
		       "--bpf-ring=no.\n", channels__ring_bytes(pages) / 1024, strerror(-err));
	return err;
}

void bpf_ring__sync(struct evlist *evlist)
{
	struct bpf_written_event *event;
	struct evsel *evsel;

	for_each_written(evlist, evsel, event) {
		if (event->enabled)
			*event->enabled = !evsel->disabled;
	}
}

u64 bpf_ring__lost(const struct evsel *evsel)
{
	const struct bpf_written_event *event = written_event(evsel);

	return event->lost ? *event->lost + bpf_program_fd__misses(event->program_fd) : 0;
}

void bpf_ring__exit(struct bpf_ring *ring)
{
	bpf_programs__delete(ring->programs);
	ring->programs = NULL;
}

#else /* no BPF skeletons, or another architecture */

void bpf_ring__choose_clock(struct bpf_ring *ring, struct evlist *evlist __maybe_unused,
			    struct record_opts *opts __maybe_unused)
{
	ring->reason = "this perf was built without the programs";
}

int bpf_ring__add_events(struct bpf_ring *ring, struct evlist *evlist __maybe_unused,
			 const struct record_opts *opts __maybe_unused, pid_t own_tgid __maybe_unused)
{
	if (ring->mode != BPF_RING_YES)
		return 0;
	pr_err("--bpf-ring=yes: %s.\n", ring->reason);
	return -EOPNOTSUPP;
}

int bpf_ring__map(struct bpf_ring *ring __maybe_unused, struct channel *channel __maybe_unused,
		  struct evlist *evlist __maybe_unused, unsigned int pages __maybe_unused)
{
	return 0;
}

void bpf_ring__sync(struct evlist *evlist __maybe_unused)
{
}

u64 bpf_ring__lost(const struct evsel *evsel __maybe_unused)
{
	return 0;
}

void bpf_ring__exit(struct bpf_ring *ring __maybe_unused)
{
}
#endif
