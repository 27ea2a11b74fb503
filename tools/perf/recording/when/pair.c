// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include "perf-sys.h"
#include "recording/lib/bpf_attach.h"
#include "condition.h"
#include "pair.h"
#include "setup.h"
#include "tracepoint.h"
#include "util/bpf_skel/duration_pair.skel.h"	/* needs durations.h */

/**
 * struct when_pair
 * @skel:	the programs of this condition
 * @begin, @end: its events
 * @links:	of the programs at @begin and @end
 * @thread_links: of the programs that follow threads, if there is no field
 * @programs:	at @begin and @end
 */
struct when_pair {
	struct duration_pair_bpf	*skel;
	struct when_tracepoint		 begin;
	struct when_tracepoint		 end;
	struct bpf_program		*programs[2];
	struct bpf_link			*links[2];
	struct bpf_link			*thread_links[3];
};

/* perf probe may put a probe of a call behind the instructions that set up the stack [bytes]. */
#define MAX_PROLOGUE	64

/*
 * Are the events the call and the return of one function? Only then the stack pointers of both tell
 * which return belongs to which call.
 */
static bool is_call(const struct when_tracepoint *begin, const struct when_tracepoint *end)
{
	return end->is_return && begin->kind == TRACEPOINT_PROBE && !begin->is_return &&
	       !strcmp(begin->place, end->place) && begin->offset >= end->offset &&
	       begin->offset - end->offset < MAX_PROLOGUE;
}

static void fill_constants(struct when_pair *pair, const struct when_condition *condition,
			   unsigned int index, const struct when_setup *setup)
{
	struct duration_constants *constants = (void *)&pair->skel->rodata->constants;

	memset(constants->min_ns, 0xff, sizeof(constants->min_ns));
	constants->min_ns[DURATION_PAIR] = setup->measures ? 0 : condition->judged.threshold_ns;
	constants->own_tgid = setup->own_tgid;
	constants->measures = setup->measures;
	constants->nr_conditions = 1;
	constants->conditions[0] = condition->judged;
	constants->first_condition = index;
	constants->calls = is_call(&pair->begin, &pair->end);
	constants->begin_field = pair->begin.field;
	constants->end_field = pair->end.field;
}

/* Programs that the kernel preempts miss the calls of other tasks. */
static bool must_not_be_raw(const struct when_tracepoint *event)
{
	return bpf_attach__is_preemptible() && !strcmp(event->system, "raw_syscalls");
}

/* Choose the program for an event. @number: 0 for the first event, 1 for the second one. */
static void choose(struct when_pair *pair, int number, const struct when_tracepoint *event)
{
	const struct duration_pair_bpf *skel = pair->skel;
	struct bpf_program *raw[] = { skel->progs.begin_raw, skel->progs.end_raw };
	struct bpf_program *record[] = { skel->progs.begin_record, skel->progs.end_record };
	struct bpf_program *probe[] = { skel->progs.begin_probe, skel->progs.end_probe };

	if (event->kind == TRACEPOINT_PROBE)
		pair->programs[number] = probe[number];
	else if (event->kind == TRACEPOINT_RECORD || event->field.size || must_not_be_raw(event))
		pair->programs[number] = record[number];
	else
		pair->programs[number] = raw[number];
}

static int select_programs(struct when_pair *pair)
{
	const struct duration_pair_bpf *skel = pair->skel;
	struct bpf_program *program;
	bool load;

	choose(pair, 0, &pair->begin);
	choose(pair, 1, &pair->end);
	bpf_object__for_each_program(program, skel->obj) {
		load = program == skel->progs.check_open || program == pair->programs[0] ||
		       program == pair->programs[1];
		if (program == skel->progs.on_exit || program == skel->progs.on_free ||
		    program == skel->progs.on_exec)
			load = !pair->end.field.size;
		bpf_program__set_autoload(program, load);
	}
	return 0;
}

static int follow_threads(struct when_pair *pair)
{
	struct bpf_program *programs[] = {
		pair->skel->progs.on_exit, pair->skel->progs.on_free, pair->skel->progs.on_exec,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(programs) && !pair->end.field.size; i++) {
		pair->thread_links[i] = bpf_program__attach(programs[i]);
		if (!pair->thread_links[i])
			return -errno;
	}
	return 0;
}

/* A probe's programs run on all CPUs, whatever CPU the event is opened on. */
static struct bpf_link *attach_probe(struct bpf_program *program, u32 id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = id,
		.sample_period = 1,
	};
	int fd = sys_perf_event_open(&attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;

	if (fd < 0)
		return NULL;
	link = bpf_program__attach_perf_event(program, fd);
	if (!link)
		close(fd);
	return link;
}

static int attach_event(struct when_pair *pair, int number, const struct when_tracepoint *event)
{
	struct bpf_program *program = pair->programs[number];
	struct bpf_link *link;

	if (event->kind == TRACEPOINT_PROBE)
		link = attach_probe(program, event->id);
	else if (bpf_program__type(program) == BPF_PROG_TYPE_TRACEPOINT)
		link = bpf_program__attach_tracepoint(program, event->system, event->name);
	else
		link = bpf_program__attach_raw_tracepoint(program, event->name);
	pair->links[number] = link;
	return link ? 0 : -errno;
}

/* The end first: a beginning without its end would be a duration that never ends. */
static int load(struct when_pair *pair, const struct when_condition *condition, unsigned int index,
		const struct when_setup *setup, const struct when_pair_maps *maps)
{
	int err;

	pair->skel = duration_pair_bpf__open();
	if (!pair->skel)
		return -errno;
	fill_constants(pair, condition, index, setup);
	err = select_programs(pair) ?:
	      bpf_map__reuse_fd(pair->skel->maps.reports, maps->reports_fd) ?:
	      bpf_map__reuse_fd(pair->skel->maps.distributions, maps->distributions_fd) ?:
	      duration_pair_bpf__load(pair->skel);
	return err ?: follow_threads(pair) ?: attach_event(pair, 1, &pair->end) ?:
	       attach_event(pair, 0, &pair->begin);
}

int when_pair__new(struct when_pair **ppair, const struct when_condition *condition,
		   unsigned int index, const struct when_setup *setup,
		   const struct when_pair_maps *maps, char *reason, size_t size)
{
	struct when_pair *pair = calloc(1, sizeof(*pair));
	int err = pair ? 0 : -ENOMEM;

	*ppair = NULL;
	*reason = '\0';
	if (!err)
		err = when_tracepoint__find(&pair->begin, condition->begin, condition->field,
					    reason, size);
	if (!err)
		err = when_tracepoint__find(&pair->end, condition->end, condition->field, reason,
					    size);
	if (!err)
		err = load(pair, condition, index, setup, maps);
	if (!err) {
		*ppair = pair;
		return 0;
	}
	if (!*reason)
		snprintf(reason, size, "cannot attach programs to the events: %s", strerror(-err));
	when_pair__delete(pair);
	return err;
}

int when_pair__check(struct when_pair *pair, u64 now, u64 *next)
{
	struct duration_words *words = &pair->skel->bss->words;
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err;

	words->now = now;
	words->next = 0;
	err = bpf_prog_test_run_opts(bpf_program__fd(pair->skel->progs.check_open), &opts);
	*next = words->next;
	return err;
}

unsigned int when_pair__index(const struct when_pair *pair)
{
	return pair->skel->rodata->constants.first_condition;
}

struct duration_words *when_pair__words(struct when_pair *pair)
{
	return &pair->skel->bss->words;
}

u64 when_pair__misses(const struct when_pair *pair)
{
	u64 misses = 0;
	int i;

	for (i = 0; i < 2; i++) {
		struct bpf_prog_info info = { 0 };
		__u32 len = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(pair->programs[i]), &info, &len))
			misses += info.recursion_misses;
	}
	return misses;
}

void when_pair__delete(struct when_pair *pair)
{
	size_t i;

	if (!pair)
		return;
	bpf_link__destroy(pair->links[0]);
	bpf_link__destroy(pair->links[1]);
	for (i = 0; i < ARRAY_SIZE(pair->thread_links); i++)
		bpf_link__destroy(pair->thread_links[i]);
	duration_pair_bpf__destroy(pair->skel);
	free(pair);
}
