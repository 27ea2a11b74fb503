// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/kernel.h>
#include "util/debug.h"
#include "recording/lib/bpf_attach.h"
#include "condition.h"
#include "constants.h"
#include "iterate.h"
#include "pair.h"
#include "programs.h"
#include "util/bpf_skel/durations.skel.h"	/* needs durations.h */

/* Programs of frequent tracepoints */
#define MAX_FREQUENT		7

/**
 * struct when_programs
 * @skel:	the programs of all kinds but DURATION_PAIR, and the map for reports
 * @pairs:	those of conditions of DURATION_PAIR, @nr_pairs of them
 * @reports:	reader of their ring buffer
 * @report, @arg: see when_programs__new()
 * @places:	arrays of struct when_chain that programs are in, @nr_places of them
 */
struct when_programs {
	struct durations_bpf	*skel;
	struct when_pair	*pairs[DURATION_MAX_CONDITIONS];
	unsigned int		 nr_pairs;
	struct ring_buffer	*reports;
	when_report_fn		 report;
	void			*arg;
	int			 places[MAX_FREQUENT];
	unsigned int		 nr_places;
};

static int print_debug(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_DEBUG ? 0 : veprintf(2, verbose, format, args);
}

static int take_report(void *arg, void *data, size_t size)
{
	struct when_programs *programs = arg;
	struct duration_report report = { 0 };

	memcpy(&report, data, min(size, sizeof(report)));
	programs->report(programs->arg, &report);
	return 0;
}

/* Load only what the conditions need: each program costs time at its tracepoint. */
static void select_programs(struct durations_bpf *skel, const struct duration_constants *constants)
{
	const __u64 *min_ns = constants->min_ns;
	const bool delay = min_ns[DURATION_SCHED_DELAY] != (u64)-1;
	const bool call = min_ns[DURATION_SYSCALL] != (u64)-1;
	const bool irq = min_ns[DURATION_IRQ] != (u64)-1;
	const bool softirq = min_ns[DURATION_SOFTIRQ] != (u64)-1;
	const bool switches = delay || min_ns[DURATION_ON_CPU] != (u64)-1 ||
			      min_ns[DURATION_OFF_CPU] != (u64)-1;
	const bool tasks = switches || call;
	const bool preemptible = bpf_attach__is_preemptible();
	const struct {
		struct bpf_program	*program;
		bool			 load;
	} programs[] = {
		{ skel->progs.on_newtask,	tasks },
		{ skel->progs.on_free,		tasks },
		{ skel->progs.follow_existing,	tasks },
		{ skel->progs.check_open,	tasks },
		{ skel->progs.on_switch,	switches },
		{ skel->progs.on_wakeup,	delay },
		{ skel->progs.on_wakeup_new,	delay },
		{ skel->progs.on_sys_enter,	call && !preemptible },
		{ skel->progs.on_sys_exit,	call && !preemptible },
		{ skel->progs.at_sys_enter,	call && preemptible },
		{ skel->progs.at_sys_exit,	call && preemptible },
		{ skel->progs.on_exit,		call },
		{ skel->progs.on_irq_entry,	irq },
		{ skel->progs.on_irq_exit,	irq },
		{ skel->progs.on_softirq_entry,	softirq },
		{ skel->progs.on_softirq_exit,	softirq },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(programs); i++)
		bpf_program__set_autoload(programs[i].program, programs[i].load);
}

/* Put a program where it runs after another one. Return: did that succeed? */
static bool place(struct when_programs *programs, struct bpf_program *program,
		  const char *tracepoint, const struct when_setup *setup)
{
	int map = setup->chain->next(setup->chain->arg, tracepoint), fd = bpf_program__fd(program);
	const __u32 zero = 0;

	if (map < 0 || bpf_map_update_elem(map, &zero, &fd, BPF_ANY))
		return false;
	programs->places[programs->nr_places++] = map;
	if (!strcmp(tracepoint, "sys_enter"))
		programs->skel->bss->words.time_is_passed = 1;
	pr_debug("%s runs after the program that writes %s\n", bpf_program__name(program),
		 tracepoint);
	return true;
}

static struct bpf_link *attach_one(struct bpf_program *program, const char *tracepoint)
{
	if (bpf_program__type(program) == BPF_PROG_TYPE_TRACEPOINT)
		return bpf_attach__by_perf(program, "raw_syscalls", tracepoint);
	return bpf_program__attach(program);
}

/*
 * Attach the programs of frequent tracepoints. Another program that is attached there costs more
 * than it does itself: they run after those that write the events, if these are recorded.
 */
static int attach_frequent(struct when_programs *programs, const struct when_setup *setup)
{
	struct durations_bpf *skel = programs->skel;
	const struct {
		struct bpf_program	*program;
		struct bpf_link		**link;
		const char		*tracepoint;
	} frequent[] = {
		{ skel->progs.on_switch,	&skel->links.on_switch,	   "sched_switch" },
		{ skel->progs.on_wakeup,	&skel->links.on_wakeup,	   "sched_wakeup" },
		{ skel->progs.on_wakeup_new,	&skel->links.on_wakeup_new, "sched_wakeup_new" },
		{ skel->progs.on_sys_enter,	&skel->links.on_sys_enter, "sys_enter" },
		{ skel->progs.at_sys_enter,	&skel->links.at_sys_enter, "sys_enter" },
		{ skel->progs.on_sys_exit,	&skel->links.on_sys_exit,  "sys_exit" },
		{ skel->progs.at_sys_exit,	&skel->links.at_sys_exit,  "sys_exit" },
	};
	size_t i;

	_Static_assert(ARRAY_SIZE(frequent) == MAX_FREQUENT, "each may have a place");
	for (i = 0; i < ARRAY_SIZE(frequent); i++) {
		bpf_program__set_autoattach(frequent[i].program, false);
		if (!bpf_program__autoload(frequent[i].program) ||
		    place(programs, frequent[i].program, frequent[i].tracepoint, setup))
			continue;
		*frequent[i].link = attach_one(frequent[i].program, frequent[i].tracepoint);
		if (!*frequent[i].link)
			return -errno;
	}
	return 0;
}

/* A task that is created meanwhile is followed already. */
static int attach(struct when_programs *programs, const struct when_setup *setup)
{
	struct durations_bpf *skel = programs->skel;
	int err = attach_frequent(programs, setup) ?: durations_bpf__attach(skel);

	if (!err && skel->links.follow_existing)
		err = bpf_link__iterate(skel->links.follow_existing);
	return err;
}

static const char *explain(int err)
{
	switch (err) {
	case -EPERM:
		return "run as root, or with CAP_BPF and CAP_PERFMON";
	case -ESRCH:
	case -ENOENT:
		return "this kernel has no BTF, or lacks a tracepoint (CONFIG_DEBUG_INFO_BTF)";
	case -ENOMEM:
		return "not enough memory";
	default:
		return "this kernel, or a security module, refuses the programs; -vv prints why";
	}
}

static int load_pairs(struct when_programs *programs, const struct when_condition *conditions,
		      unsigned int nr, const struct when_setup *setup, char *reason, size_t size)
{
	const struct when_pair_maps maps = {
		.reports_fd = bpf_map__fd(programs->skel->maps.reports),
		.distributions_fd = bpf_map__fd(programs->skel->maps.distributions),
	};
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i++) {
		if (conditions[i].judged.kind != DURATION_PAIR)
			continue;
		err = when_pair__new(&programs->pairs[programs->nr_pairs], conditions + i, i, setup,
				     &maps, reason, size);
		programs->nr_pairs += !err;
	}
	return err;
}

/* Let the program that runs before that of sys_enter pass its time. */
static int share_time(struct durations_bpf *skel, const struct when_chain *chain)
{
	int map = chain->pass_time(chain->arg);

	return map < 0 ? 0 : bpf_map__reuse_fd(skel->maps.enter_time, map);
}

static int load(struct when_programs *programs, const struct when_condition *conditions,
		unsigned int nr, const struct when_setup *setup)
{
	struct durations_bpf *skel = durations_bpf__open();
	struct duration_constants *constants;
	int err;

	if (!skel)
		return -errno;
	programs->skel = skel;
	constants = (void *)&skel->rodata->constants;
	when_constants__fill(constants, conditions, nr, setup);
	constants->passes_state = bpf_attach__passes_state();
	select_programs(skel, constants);
	err = bpf_map__set_max_entries(skel->maps.turns, setup->nr_cpus) ?:
	      bpf_map__set_max_entries(skel->maps.clocks, setup->nr_cpus);
	if (!err && setup->measures)
		err = bpf_map__set_max_entries(skel->maps.distributions, nr);
	if (!err && constants->min_ns[DURATION_SYSCALL] != (u64)-1)
		err = share_time(skel, setup->chain);
	err = err ?: durations_bpf__load(skel);
	if (err)
		return err;
	programs->reports = ring_buffer__new(bpf_map__fd(skel->maps.reports), take_report, programs,
					     NULL);
	return programs->reports ? attach(programs, setup) : -errno;
}

int when_programs__new(struct when_programs **pprograms, const struct when_condition *conditions,
		       unsigned int nr, const struct when_setup *setup, when_report_fn report,
		       void *arg, char *reason, size_t size)
{
	struct when_programs *programs = calloc(1, sizeof(*programs));
	libbpf_print_fn_t print = libbpf_set_print(print_debug);
	int err = -ENOMEM;

	*reason = '\0';
	if (programs) {
		programs->report = report;
		programs->arg = arg;
		err = load(programs, conditions, nr, setup) ?:
		      load_pairs(programs, conditions, nr, setup, reason, size);
	}
	libbpf_set_print(print);
	if (err) {
		if (!*reason)
			snprintf(reason, size, "%s (%s)", explain(err), strerror(-err));
		when_programs__delete(programs);
		programs = NULL;
	}
	*pprograms = programs;
	return err;
}

int when_programs__fd(const struct when_programs *programs)
{
	return ring_buffer__epoll_fd(programs->reports);
}

int when_programs__read(struct when_programs *programs)
{
	int nr = ring_buffer__consume(programs->reports);

	return min(nr, 0);
}

int when_programs__check(struct when_programs *programs, u64 now, u64 *next)
{
	struct bpf_link *link = programs->skel->links.check_open;
	unsigned int i;
	int err = 0;
	u64 other;

	*next = 0;
	if (link)
		err = when__iterate(link, &programs->skel->bss->words, now, next);
	for (i = 0; i < programs->nr_pairs && !err; i++) {
		err = when_pair__check(programs->pairs[i], now, &other);
		if (other && (!*next || other < *next))
			*next = other;
	}
	return err;
}

void when_programs__set_cgroup(struct when_programs *programs, unsigned int condition, u64 id)
{
	unsigned int i;

	programs->skel->bss->words.cgroups[condition] = id;
	for (i = 0; i < programs->nr_pairs; i++) {
		if (when_pair__index(programs->pairs[i]) == condition)
			when_pair__words(programs->pairs[i])->cgroups[0] = id;
	}
}

void when_programs__be_quiet(struct when_programs *programs, u64 until)
{
	unsigned int i;

	programs->skel->bss->words.quiet_until = until;
	for (i = 0; i < programs->nr_pairs; i++)
		when_pair__words(programs->pairs[i])->quiet_until = until;
}

void when_programs__count(struct when_programs *programs)
{
	unsigned int i;

	programs->skel->bss->words.counting = 1;
	for (i = 0; i < programs->nr_pairs; i++)
		when_pair__words(programs->pairs[i])->counting = 1;
}

int when_programs__read_distribution(struct when_programs *programs, unsigned int condition,
				     struct duration_distribution *distribution)
{
	int fd = bpf_map__fd(programs->skel->maps.distributions);

	return bpf_map_lookup_elem(fd, &condition, distribution) ? -errno : 0;
}

static void add_figures(struct when_figures *figures, const struct duration_words *words)
{
	figures->ignored += words->nr_ignored;
	figures->unreported += words->nr_unreported;
}

void when_programs__figures(struct when_programs *programs, struct when_figures *figures)
{
	unsigned int i;

	*figures = (struct when_figures){ 0 };
	add_figures(figures, &programs->skel->bss->words);
	memcpy(figures->quiet, programs->skel->bss->words.nr_quiet, sizeof(figures->quiet));
	for (i = 0; i < programs->nr_pairs; i++) {
		add_figures(figures, when_pair__words(programs->pairs[i]));
		figures->quiet[when_pair__index(programs->pairs[i])] +=
			when_pair__words(programs->pairs[i])->nr_quiet[0];
		figures->missed += when_pair__misses(programs->pairs[i]);
	}
}

void when_programs__delete(struct when_programs *programs)
{
	const __u32 zero = 0;
	unsigned int i;

	if (!programs)
		return;
	for (i = 0; i < programs->nr_places; i++)
		bpf_map_delete_elem(programs->places[i], &zero);
	for (i = 0; i < programs->nr_pairs; i++)
		when_pair__delete(programs->pairs[i]);
	ring_buffer__free(programs->reports);
	durations_bpf__destroy(programs->skel);
	free(programs);
}
