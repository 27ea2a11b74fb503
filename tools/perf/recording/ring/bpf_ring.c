// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <linux/kernel.h>
#include "util/debug.h"
#include "util/evsel.h"
#include "bpf_ring.h"
#include "channel.h"

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

bool bpf_ring__excludes_own(struct evsel *evsel)
{
	const char *name = evsel__name(evsel);

	return strstr(name, "syscalls:") ||
	       (evsel__channel(evsel) == CHANNEL_BPF_STREAM && strncmp(name, "sched:", 6));
}

#if defined(HAVE_BPF_SKEL) && defined(__x86_64__)
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/perf_event.h>
#include <linux/time64.h>
#include <linux/string.h>
#include <linux/zalloc.h>
#include <bpf/btf.h>
#include <symbol/kallsyms.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include "util/callchain.h"
#include "util/cgroup.h"
#include "util/cpumap.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/record.h"
#include "util/target.h"
#include "util/time-utils.h"
#include "recording/lib/bpf_attach.h"
#include "recording/lib/compat.h"
#include "recording/lib/evsel.h"
#include "bpf_programs.h"

/* The fields of a sample, in the order in which the programs write them */
#define SAMPLE_FORMAT (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |	\
		       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |	\
		       PERF_SAMPLE_RAW)
#define SAMPLE_FORMAT_CGROUP (SAMPLE_FORMAT | PERF_SAMPLE_CGROUP)

/* Where all mount and pid namespaces begin (PROC_PID_INIT_INO) */
#define INIT_PID_NS_INO 0xEFFFFFFC

/*
 * Selection of events
 */

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

static bool is_preempt_rt(void)
{
	struct utsname name;

	return !uname(&name) && strstr(name.version, "PREEMPT_RT");
}

/* Samples have the cgroup of this controller. */
static bool is_perf_event_v1(void)
{
	char line[64];
	bool found = false;
	FILE *file = fopen("/proc/cgroups", "r");

	/* name, hierarchy (0: v2) ... */
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstarts(line, "perf_event\t") && line[strlen("perf_event\t")] != '0';
	if (file)
		fclose(file);
	return found;
}

static bool has_cpus(const struct target *target)
{
	return target->system_wide || target->cpu_list;
}

/* Do programs find this function in the kernel? */
static bool kernel_has(const char *function)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool found = btf && btf__find_by_name_kind(btf, function, BTF_KIND_FUNC) > 0;

	btf__free(btf);
	return found;
}

/* Linux 6.18 has an int there, 7.3 an unsigned long with other fields. */
static bool has_wide_count(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "__preempt_count", BTF_KIND_VAR) : 0;
	bool wide = id > 0 && btf__resolve_size(btf, id) == sizeof(__u64);

	btf__free(btf);
	return wide;
}

/* Return: why no event of this recording can be written by BPF, or NULL. */
static const char *unsuitable_recording(const struct record_opts *opts)
{
	const struct target *target = &opts->target;

	if (target->per_thread)
		return "each thread has a ring of its own (--per-thread)";
	if (opts->use_clockid && opts->clockid != CLOCK_MONOTONIC)
		return "the programs have no clock but CLOCK_MONOTONIC";
	if (!is_initial_pid_namespace())
		return "perf is in a PID namespace";
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return "the kernel has no BTF (/sys/kernel/btf/vmlinux)";
	if (opts->record_cgroup && is_perf_event_v1())
		return "the programs have no cgroups but those of v2 (--all-cgroups)";
	if (is_preempt_rt())
		return "the kernel is PREEMPT_RT: it may preempt the programs";
	if (bpf_attach__is_preemptible() && !kernel_has("bpf_preempt_disable"))
		return "the kernel may preempt the programs";
	if (!has_cpus(target) && !kernel_has("bpf_rdonly_cast"))
		return "the kernel is too old to record tasks so (Linux 6.2)";
	return NULL;
}

/* Return: why BPF cannot write @evsel, whatever its attributes will be, or NULL. */
static const char *unsuitable_options(struct evsel *evsel)
{
	struct ring_filter filter;

	if (callchain_param.enabled)
		return "its samples have call graphs";
	if (!list_empty(&evsel->bpf_filters))
		return "it has a filter of samples";
	if (evsel->filter && bpf_events__know(evsel) && bpf_events__filter(evsel, &filter))
		return "the programs cannot evaluate its filter";
	if (evsel->core.nr_members > 1 || evsel->core.leader != &evsel->core)
		return "it is in a group";
	return NULL;
}

/*
 * Return: why @evsel, which is in the table, cannot be written by BPF, or NULL. The marker decides
 * for all events whether children are recorded.
 */
static const char *unsuitable_event(const struct bpf_ring *ring, struct evsel *evsel,
				    const struct record_opts *opts, struct bpf_event_kind *kind)
{
	const struct perf_event_attr *attr = &evsel->core.attr;
	const char *reason = unsuitable_options(evsel);

	if (reason)
		return reason;
	if (ring->drained && evsel__channel(evsel) != CHANNEL_STREAM)
		return "it shares the ring of an AUX area";
	if (!ring->drained && evsel__channel(evsel) != CHANNEL_OVERWRITE)
		return "other events are in overwrite mode, and it is not";
	if (!perf_cpu_map__equal(evsel->core.cpus, evsel->evlist->core.user_requested_cpus))
		return "it has CPUs of its own";
	if (attr->exclude_kernel)
		return "it is limited to user space, where perf finds no tracepoint";
	if (ring->marker && attr->inherit == opts->no_inherit)
		return opts->no_inherit ? "it follows children, and other events do not (-i)" :
					  "it does not follow children (no-inherit)";
	if (attr->freq || attr->sample_period != 1 ||
	    attr->sample_type != (ring->has_cgroup ? SAMPLE_FORMAT_CGROUP : SAMPLE_FORMAT))
		return "its samples have other fields, or another period";
	if (!bpf_events__find(evsel, kind))
		return "this kernel has another format for it";
	return NULL;
}

void bpf_ring__choose_clock(struct bpf_ring *ring, struct evlist *evlist, struct record_opts *opts)
{
	bool known = false, overwrite = false;
	struct timespec resolution;
	struct evsel *evsel;

	ring->has_cgroup = opts->record_cgroup;
	ring->reason = ring->mode == BPF_RING_NO ? "--bpf-ring=no" : unsuitable_recording(opts);
	if (ring->reason)
		return;
	evlist__for_each_entry(evlist, evsel) {
		if (unsuitable_options(evsel) || !bpf_events__know(evsel))
			continue;
		known = true;
		overwrite |= evsel__will_overwrite(evsel, opts);
	}
	ring->drained = !overwrite;
	if (ring->drained && opts->no_buffering)
		ring->reason = "--no-buffering wakes a reader at each event";
	if (!known || ring->reason || opts->use_clockid)
		return;
	clock_getres(CLOCK_MONOTONIC, &resolution);
	opts->use_clockid = true;
	opts->clockid = CLOCK_MONOTONIC;
	opts->clockid_res_ns = resolution.tv_sec * NSEC_PER_SEC + resolution.tv_nsec;
}

/*
 * Loading
 */

static void free_events(struct bpf_ring *ring)
{
	while (ring->nr)
		zfree(&ring->events[--ring->nr].lost);
	zfree(&ring->events);
}

/* Leave all events to perf's rings. */
static void give_up(struct bpf_ring *ring, struct evlist *evlist, const char *reason)
{
	struct evsel *evsel;

	ring->reason = reason;
	evlist__for_each_entry(evlist, evsel) {
		evsel->priv = NULL;
		evsel->disabled = false;
	}
	bpf_programs__delete(ring->programs);
	ring->programs = NULL;
	ring->marker = 0;
	free_events(ring);
}

/* Return: the number of @evsel's cgroup, a new one if no event has it; 0 without cgroup. */
static int cgroup_number(struct evlist *evlist, const struct evsel *evsel)
{
	struct bpf_written_event *event;
	struct evsel *other;
	int nr = 0;

	if (!evsel->cgrp)
		return 0;
	for_each_written(evlist, other, event) {
		if (other->cgrp == evsel->cgrp)
			return event->cgroup;
		nr = max(nr, event->cgroup);
	}
	return nr + 1;
}

/* Return: 0, or -ENOMEM. */
static int mark_events(struct bpf_ring *ring, struct evlist *evlist,
		       const struct record_opts *opts)
{
	struct bpf_event_kind kind;
	struct bpf_written_event *event;
	const char *reason;
	struct evsel *evsel;
	int nr_filters = 0, cgroup;

	ring->events = calloc(evlist->core.nr_entries, sizeof(*ring->events));
	if (!ring->events)
		return -ENOMEM;
	evlist__for_each_entry(evlist, evsel) {
		if (!bpf_events__know(evsel))
			continue;
		reason = unsuitable_event(ring, evsel, opts, &kind);
		if (!reason && evsel->filter && nr_filters == NR_RING_FILTERS - 1)
			reason = "other events have so many filters";
		cgroup = cgroup_number(evlist, evsel);
		if (!reason && cgroup > NR_RING_CGROUPS)
			reason = "other events are bound to so many cgroups";
		pr_debug("%s is written by %s%s\n", evsel__name(evsel), reason ? "perf: " : "BPF",
			 reason ?: "");
		if (reason) {
			ring->reason = reason;
			continue;
		}
		event = &ring->events[ring->nr++];
		event->kind = kind;
		event->cgroup = cgroup;
		if (evsel->filter)
			event->filter = ++nr_filters;
		event->lost = calloc(cpu__max_cpu().cpu, sizeof(*event->lost));
		if (!event->lost)
			return -ENOMEM;
		evsel->priv = event;
		evsel->disabled = opts->target.initial_delay != 0;
	}
	return 0;
}

static bool is_same(const struct bpf_event_kind *a, const struct bpf_event_kind *b)
{
	return a->program == b->program && a->call == b->call;
}

/* An event that is recorded twice needs two records. */
static bool has_twins(const struct bpf_ring *ring)
{
	int i, k;

	for (i = 0; i < ring->nr; i++) {
		for (k = 0; k < i; k++) {
			if (is_same(&ring->events[i].kind, &ring->events[k].kind))
				return true;
		}
	}
	return false;
}

static int refuse(const struct bpf_ring *ring)
{
	if (ring->mode != BPF_RING_YES) {
		if (ring->reason)
			pr_debug("No event is written by BPF: %s.\n", ring->reason);
		return 0;
	}
	pr_err("--bpf-ring=yes: no event can be written by BPF: %s.\n",
	       ring->reason ?: "there is none that the programs know");
	return -EOPNOTSUPP;
}

static void select_programs(struct bpf_ring *ring, struct evlist *evlist)
{
	const struct bpf_event_kind *kind;
	struct bpf_written_event *event;
	struct ring_filter filter;
	struct evsel *evsel;

	for_each_written(evlist, evsel, event) {
		kind = &event->kind;
		if (event->filter && !bpf_events__filter(evsel, &filter))
			bpf_programs__filter(ring->programs, kind->program, event->filter, &filter);
		if (event->cgroup)
			bpf_programs__add_cgroup(ring->programs, event->cgroup, evsel->cgrp->fd);
		bpf_programs__select(ring->programs, kind->program, kind->variant);
		if (kind->call >= 0)
			bpf_programs__select_calls(ring->programs, kind->program);
		if (bpf_ring__excludes_own(evsel))
			bpf_programs__exclude_own(ring->programs, kind->program);
	}
}

static bool can_pin(const struct bpf_ring *ring)
{
	return bpf_pins__is_open(&ring->pins) && !ring->drained;
}

/* Return: NULL, or why the programs cannot write the events. */
static const char *load(struct bpf_ring *ring, struct evlist *evlist,
			const struct record_opts *opts, pid_t own_tgid)
{
	const struct bpf_ring_setup setup = {
		.data_bytes = channels__ring_bytes(opts->mmap_pages), .nr_cpus = cpu__max_cpu().cpu,
		.drained = ring->drained, .has_cgroup = ring->has_cgroup, .own_tgid = own_tgid,
		.marker = ring->marker,
		.awaits_exec = ring->marker &&
			       target__enable_on_exec((struct target *)&opts->target),
		.preemptible = bpf_attach__is_preemptible(),
		.wide_count = has_wide_count(),
		.passes_state = bpf_attach__passes_state(),
		.pins = can_pin(ring) ? &ring->pins : NULL,
	};

	if (has_twins(ring))
		return "an event is recorded twice";
	ring->programs = bpf_programs__new();
	if (!ring->programs)
		return "memory is short";
	select_programs(ring, evlist);
	switch (-bpf_programs__load(ring->programs, &setup)) {
	case 0:
		return NULL;
	case EPERM:
		return "this user may not load BPF programs";
	case EBADF:
		return "its cgroup is not in the hierarchy of cgroup2";
	case ESTALE:
		ring->refused = true;
		return "other programs are pinned";
	case E2BIG:
		return "the rings are too large for BPF arrays of this kernel";
	default:
		return "this kernel, or a security module, refuses the programs (-vv prints why)";
	}
}

/* Return: a number that no other recording has. The PID namespace is the initial one. */
static __u64 make_marker(void)
{
	return rdclock() ^ (__u64)getpid() << 40;
}

static int add_events(struct bpf_ring *ring, struct evlist *evlist, const struct record_opts *opts,
		      pid_t own_tgid)
{
	const char *reason;

	if (ring->reason)
		return refuse(ring);
	if (!has_cpus(&opts->target))
		ring->marker = make_marker();
	reason = mark_events(ring, evlist, opts) ? "memory is short" : NULL;
	if (!reason && !ring->nr) {
		give_up(ring, evlist, ring->reason);
		return refuse(ring);
	}
	reason = reason ?: load(ring, evlist, opts, own_tgid);
	if (!reason)
		return 0;
	give_up(ring, evlist, reason);
	return refuse(ring);
}

/*
 * Pins
 */

static int open_pins(struct bpf_ring *ring, const struct target *target)
{
	int err;

	if (!ring->pin)
		return 0;
	if (!has_cpus(target)) {
		pr_err("Cannot pin events of tasks: the event that marks these tasks ends with perf. Select CPUs "
		       "(-a, -C), or leave out --pin.\n");
		return -EINVAL;
	}
	err = bpf_pins__open(&ring->pins, ring->pin, true);
	return err == -EOPNOTSUPP ? 0 : err;
}

/* Nothing can be pinned by this recorder. Another one may have left something. */
static int leave_pins(struct bpf_ring *ring)
{
	const char *reason = ring->drained ? "no event of this one is in overwrite mode" :
			     ring->reason ?: "no event of this one can be written by BPF";

	if (ring->pins.complete)
		return bpf_pins__refuse(&ring->pins, reason);
	pr_warning("Cannot pin events of this recorder: %s.\n", reason);
	bpf_pins__remove(&ring->pins);
	return 0;
}

int bpf_ring__add_events(struct bpf_ring *ring, struct evlist *evlist,
			 const struct record_opts *opts, pid_t own_tgid)
{
	int err = open_pins(ring, &opts->target) ?: add_events(ring, evlist, opts, own_tgid);

	if (ring->refused)
		return -ESTALE;
	if (err || !bpf_pins__is_open(&ring->pins) || (ring->programs && can_pin(ring)))
		return err;
	return leave_pins(ring);
}

bool bpf_ring__pinned(const struct bpf_ring *ring)
{
	return ring->programs && can_pin(ring);
}

bool bpf_ring__adopted(const struct bpf_ring *ring)
{
	return ring->programs && bpf_programs__adopted(ring->programs);
}

static int explain_pins(const struct bpf_ring *ring, int err)
{
	if (err)
		pr_err("Cannot pin events in %s: %s. Leave out --pin.\n", ring->pins.path,
		       strerror(-err));
	return err;
}

int bpf_ring__commit(struct bpf_ring *ring, int fd)
{
	return explain_pins(ring, bpf_programs__commit(ring->programs, fd));
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

static int map_ring(struct bpf_ring *ring, struct channel *channel, int slot, struct evsel *owner,
		    struct perf_cpu cpu)
{
	int fd = bpf_programs__add_ring(ring->programs, cpu.cpu, max(cpu__get_node(cpu), 0));
	int err = fd < 0 ? fd : channel__add_foreign(channel, slot, owner, fd, cpu);

	if (err || !ring->drained)
		return err;
	fd = bpf_programs__add_doorbell(ring->programs, cpu.cpu);
	return fd < 0 ? fd : doorbell__map(&channel->rings[slot].doorbell, fd);
}

static int map_rings(struct bpf_ring *ring, struct channel *channel, struct evlist *evlist)
{
	struct evsel *owner = first_written(evlist);
	struct perf_cpu cpu;
	cpu_index_t i;
	int err;

	perf_cpu_map__for_each_cpu(cpu, i, evlist->core.all_cpus) {
		/*
		 * With -C, other CPUs have side-band events only: without a ring, nothing is
		 * written.
		 */
		if (cpu.cpu < 0 || !perf_cpu_map__has(owner->core.cpus, cpu))
			continue;
		err = map_ring(ring, channel, i, owner, cpu);
		if (err)
			return err;
	}
	return 0;
}

/* Take the start of the functions that the tracepoints are in, as far as they are known. */
static int note_function(void *arg, const char *name, char type, u64 start)
{
	struct event_ring_words *words = arg;
	size_t i;

	if (type != 't' && type != 'T')
		return 0;
	for (i = 0; i < ARRAY_SIZE(words->events); i++) {
		if (!words->events[i].ip && !strcmp(name, bpf_events__function(i)))
			words->events[i].ip = start;
	}
	return 0;
}

static struct ring_event_config *find_config(struct event_ring_words *words,
					     const struct bpf_event_kind *kind)
{
	if (kind->call < 0)
		return &words->events[kind->program];
	return kind->program == RING_EVENT_sys_enter ? &words->enter[kind->call] :
						       &words->exit[kind->call];
}

static unsigned int counter_of(const struct bpf_event_kind *kind)
{
	if (kind->call < 0)
		return kind->program;
	return NR_RING_EVENTS + kind->call +
	       (kind->program == RING_EVENT_sys_enter ? 0 : NR_RING_CALLS);
}

static int nr_configured(const struct ring_event_config *config, int nr)
{
	int i, sum = 0;

	for (i = 0; i < nr; i++)
		sum += config[i].id != 0;
	return sum;
}

/* Programs that are adopted must write the events of this recorder, and no others. */
static bool has_same_events(const struct bpf_ring *ring, struct evlist *evlist,
			    struct event_ring_words *words)
{
	struct bpf_written_event *event;
	struct evsel *evsel;

	for_each_written(evlist, evsel, event) {
		struct ring_event_config *config = find_config(words, &event->kind);

		if (!config->id || config->type != (u16)evsel->core.attr.config ||
		    config->filter != event->filter || config->cgroup != event->cgroup)
			return false;
	}
	return ring->nr == nr_configured(words->events, ARRAY_SIZE(words->events)) +
			   nr_configured(words->enter, ARRAY_SIZE(words->enter)) +
			   nr_configured(words->exit, ARRAY_SIZE(words->exit));
}

static void configure(struct bpf_written_event *event, struct evsel *evsel,
		      struct ring_event_config *config)
{
	config->id = evsel->core.id[0];
	config->type = evsel->core.attr.config;
	config->nr_args = event->kind.nr_args;
	config->filter = event->filter;
	config->cgroup = event->cgroup;
	config->counter = counter_of(&event->kind);
}

/* All samples of a CPU have the id of the first thread. */
static void replace_ids(struct evsel *evsel, u64 id)
{
	struct perf_cpu cpu;
	cpu_index_t i;

	perf_cpu_map__for_each_cpu(cpu, i, evsel->core.cpus)
		evsel__replace_id(evsel, i, RING_ID_ON_CPU(id, cpu.cpu));
}

static int attach(struct bpf_ring *ring, struct evlist *evlist)
{
	struct event_ring_words *words = bpf_programs__words(ring->programs);
	const bool adopted = bpf_programs__adopted(ring->programs);
	bool counted[NR_RING_EVENTS] = { false };
	struct bpf_written_event *event;
	struct ring_event_config *config;
	struct evsel *evsel;

	if (!adopted)
		kallsyms__parse("/proc/kallsyms", words, note_function);
	else if (!has_same_events(ring, evlist, words))
		return bpf_pins__refuse(&ring->pins, "it recorded other events");
	for_each_written(evlist, evsel, event) {
		config = find_config(words, &event->kind);
		if (!adopted)
			configure(event, evsel, config);
		replace_ids(evsel, config->id);
		event->config = config;
		event->programs = ring->programs;
		event->counts_misses = !counted[event->kind.program];
		counted[event->kind.program] = true;
	}
	return bpf_programs__attach(ring->programs);
}

static int map_and_attach(struct bpf_ring *ring, struct channel *channel, struct evlist *evlist)
{
	int err = map_rings(ring, channel, evlist);

	if (!bpf_programs__adopted(ring->programs))
		return err ?: attach(ring, evlist);
	if (err == -EINVAL)
		return bpf_pins__refuse(&ring->pins, "a ring has another layout");
	if (err == -ENOENT || (!err && !bpf_programs__have_all_rings(ring->programs)))
		return bpf_pins__refuse(&ring->pins, "it recorded other CPUs");
	return err ?: attach(ring, evlist);
}

int bpf_ring__map(struct bpf_ring *ring, struct channels *channels, struct evlist *evlist,
		  unsigned int pages)
{
	struct channel *channel =
		&channels->channel[ring->drained ? CHANNEL_BPF_STREAM : CHANNEL_BPF];
	int err;

	if (!ring->programs)
		return 0;
	channel->pages = channels__ring_bytes(pages) / page_size;
	err = map_and_attach(ring, channel, evlist);
	if (err && err != -ESTALE)
		pr_err("Cannot let BPF write events to %zu kB for each CPU: %s. Use a smaller -m, or "
		       "--bpf-ring=no.\n", channels__ring_bytes(pages) / 1024, strerror(-err));
	if (!err && bpf_ring__pinned(ring) && !bpf_ring__adopted(ring))
		err = explain_pins(ring, bpf_programs__pin(ring->programs));
	return err;
}

int bpf_ring__next(const struct bpf_ring *ring, const char *tracepoint)
{
	return ring->programs ? bpf_programs__next(ring->programs, tracepoint) : -1;
}

int bpf_ring__pass_time(struct bpf_ring *ring)
{
	return ring->programs ? bpf_programs__pass_time(ring->programs) : -1;
}

void bpf_ring__sync(struct evlist *evlist)
{
	struct bpf_written_event *event;
	struct evsel *evsel;

	for_each_written(evlist, evsel, event) {
		if (event->config)
			event->config->enabled = !evsel->disabled;
	}
}

u64 bpf_ring__lost(const struct evsel *evsel, int cpu_idx)
{
	const struct bpf_written_event *event = written_event(evsel);
	u64 misses = 0;

	if (!event->programs)
		return 0;
	if (!cpu_idx)
		bpf_programs__read_lost(event->programs, event->config->counter, event->lost);
	if (!cpu_idx && event->counts_misses)
		misses = bpf_programs__misses(event->programs, event->kind.program);
	return misses + event->lost[perf_cpu_map__cpu(evsel->core.cpus, cpu_idx).cpu];
}

void bpf_ring__exit(struct bpf_ring *ring)
{
	bpf_programs__delete(ring->programs);
	ring->programs = NULL;
	if (ring->saved || !ring->pins.complete)
		bpf_pins__remove(&ring->pins);
	bpf_pins__close(&ring->pins);
	free_events(ring);
}

#else /* no BPF skeletons, or another architecture */

void bpf_ring__choose_clock(struct bpf_ring *ring, struct evlist *evlist __maybe_unused,
			    struct record_opts *opts __maybe_unused)
{
	ring->reason = "this perf was built without the programs";
}

int bpf_ring__add_events(struct bpf_ring *ring, struct evlist *evlist __maybe_unused,
			 const struct record_opts *opts __maybe_unused,
			 pid_t own_tgid __maybe_unused)
{
	if (ring->pin)
		pr_warning("Cannot pin events: %s. Nothing outlives perf.\n", ring->reason);
	if (ring->mode != BPF_RING_YES)
		return 0;
	pr_err("--bpf-ring=yes: %s.\n", ring->reason);
	return -EOPNOTSUPP;
}

int bpf_ring__map(struct bpf_ring *ring __maybe_unused, struct channels *channels __maybe_unused,
		  struct evlist *evlist __maybe_unused, unsigned int pages __maybe_unused)
{
	return 0;
}

bool bpf_ring__pinned(const struct bpf_ring *ring __maybe_unused)
{
	return false;
}

bool bpf_ring__adopted(const struct bpf_ring *ring __maybe_unused)
{
	return false;
}

int bpf_ring__commit(struct bpf_ring *ring __maybe_unused, int fd __maybe_unused)
{
	return 0;
}

int bpf_ring__next(const struct bpf_ring *ring __maybe_unused,
		   const char *tracepoint __maybe_unused)
{
	return -1;
}

void bpf_ring__sync(struct evlist *evlist __maybe_unused)
{
}

u64 bpf_ring__lost(const struct evsel *evsel __maybe_unused, int cpu_idx __maybe_unused)
{
	return 0;
}

void bpf_ring__exit(struct bpf_ring *ring __maybe_unused)
{
}
#endif
