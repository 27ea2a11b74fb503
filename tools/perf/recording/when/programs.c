// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/kernel.h>
#include "util/debug.h"
#include "programs.h"
#include "util/bpf_skel/durations.skel.h"	/* needs durations.h */

/**
 * struct when_programs
 * @skel:	the programs of all kinds but DURATION_PAIR
 * @reports:	reader of their ring buffer
 * @report, @arg: see when_programs__new()
 */
struct when_programs {
	struct durations_bpf	*skel;
	struct ring_buffer	*reports;
	when_report_fn		 report;
	void			*arg;
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
		{ skel->progs.on_sys_enter,	call },
		{ skel->progs.on_sys_exit,	call },
		{ skel->progs.on_irq_entry,	irq },
		{ skel->progs.on_irq_exit,	irq },
		{ skel->progs.on_softirq_entry,	softirq },
		{ skel->progs.on_softirq_exit,	softirq },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(programs); i++)
		bpf_program__set_autoload(programs[i].program, programs[i].load);
}

/* Let an iterator of tasks run over all tasks. Return: 0, or a negative errno. */
static int iterate(struct bpf_link *link)
{
	int fd = bpf_iter_create(bpf_link__fd(link));
	ssize_t len;
	char none;

	if (fd < 0)
		return -errno;
	do {
		len = read(fd, &none, sizeof(none));
	} while (len > 0 || (len < 0 && (errno == EINTR || errno == EAGAIN)));
	len = len < 0 ? -errno : 0;
	close(fd);
	return len;
}

/* A task that is created meanwhile is followed already. */
static int attach(struct durations_bpf *skel)
{
	int err = durations_bpf__attach(skel);

	if (!err && skel->links.follow_existing)
		err = iterate(skel->links.follow_existing);
	return err;
}

static const char *explain(int err)
{
	switch (err) {
	case -EPERM:
	case -EACCES:
		return "run as root, or with CAP_BPF and CAP_PERFMON";
	case -ESRCH:
	case -ENOENT:
		return "this kernel has no BTF, or lacks a tracepoint (CONFIG_DEBUG_INFO_BTF)";
	case -ENOMEM:
		return "not enough memory";
	default:
		return "this kernel refuses the BPF programs; -vv prints why";
	}
}

static int load(struct when_programs *programs, const struct duration_constants *constants, int nr_cpus)
{
	struct durations_bpf *skel = durations_bpf__open();
	int err;

	if (!skel)
		return -errno;
	programs->skel = skel;
	memcpy((void *)&skel->rodata->constants, constants, sizeof(*constants));
	select_programs(skel, constants);
	err = bpf_map__set_max_entries(skel->maps.turns, nr_cpus) ?: durations_bpf__load(skel);
	if (err)
		return err;
	programs->reports = ring_buffer__new(bpf_map__fd(skel->maps.reports), take_report, programs, NULL);
	return programs->reports ? attach(skel) : -errno;
}

int when_programs__new(struct when_programs **pprograms, const struct duration_constants *constants,
		       int nr_cpus, when_report_fn report, void *arg, const char **reason)
{
	struct when_programs *programs = calloc(1, sizeof(*programs));
	libbpf_print_fn_t print = libbpf_set_print(print_debug);
	int err = -ENOMEM;

	if (programs) {
		programs->report = report;
		programs->arg = arg;
		err = load(programs, constants, nr_cpus);
	}
	libbpf_set_print(print);
	if (err) {
		*reason = explain(err);
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
	struct duration_words *words = &programs->skel->bss->words;
	struct bpf_link *link = programs->skel->links.check_open;
	int err;

	*next = 0;
	if (!link)
		return 0;
	words->checked = words->now;
	words->now = now;
	words->next = 0;
	err = iterate(link);
	*next = words->next;
	return err;
}

struct duration_words *when_programs__words(struct when_programs *programs)
{
	return &programs->skel->bss->words;
}

void when_programs__delete(struct when_programs *programs)
{
	if (!programs)
		return;
	ring_buffer__free(programs->reports);
	durations_bpf__destroy(programs->skel);
	free(programs);
}
