// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test nested writers that interrupt each other between any two instructions.
 * tags: fast parallel
 *
 * A writer is stopped at each of its instruction boundaries, where others run to their end, as
 * interrupts do on the same CPU: one; three in a row; one there and one at a later boundary; one
 * that is itself interrupted by an NMI at each of its own boundaries. After each run, records,
 * heads, counters and wake-ups are checked. This is repeated for each mode of the ring, with and
 * without free space, a wake-up due, or a LOST record pending.
 *
 * Pairs of boundaries are tested exhaustively for one streaming and one overwrite mode with free
 * space and nothing pending, otherwise every STRIDE-th pair, so that each boundary is still
 * covered. With --all every pair is tested, which takes ten times as long.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <linux/poll.h>

#include "shim/nested_writer.h"
#include "shim/expect.h"

#define MAX_INTERRUPTS	4
#define PENDING_LOST	3
#define FIRST_NUMBER	1000
#define WATERMARK	1024
#define STRIDE		11

static bool all_pairs;

/* The state of the ring when the first writer begins. */
struct scenario {
	const char	*name;
	unsigned int	flags;		/* further RING_* */
	bool		exhaustive;	/* test all pairs, in modes that say the same */
	bool		streaming_only, overwrite_only;
	bool		lost_pending;
	bool		space_for_one;	/* for the first writer that reserves it */
	bool		full;
	bool		nested_full;	/* unpublished records leave no space for nested ones */
	int		wakeup_due;	/* with the first or second record; 0: with none */
};

static const struct scenario scenarios[] = {
	{ "free space", .exhaustive = true },
	{ "wake-up due", .wakeup_due = 1 },
	{ "wake-up due with the second record", .wakeup_due = 2 },
	{ "LOST pending", .lost_pending = true, .flags = RING_WITH_ID },
	{ "space for one record", .streaming_only = true, .space_for_one = true },
	{ "full", .streaming_only = true, .full = true },
	{ "full of unpublished records", .overwrite_only = true, .nested_full = true },
};

/* Ring state that, with the instruction it starts at, determines the path of a writer. */
struct path_key {
	unsigned long	nest, lost, until_wakeup, until_tail, not_published;
};

struct known_path {
	struct path_key		 key;
	struct step_path	 path;
};

#define MAX_PATHS	32

/* All runs of one mode and scenario. */
static struct {
	const struct writer_mode *mode;
	const struct scenario	*scenario;
	struct ring		*ring;
	struct ring_backup	state;

	struct writer		task, interrupt[MAX_INTERRUPTS], nmi;
	struct step_path	path;			/* of the task alone */
	struct step_path	rest;			/* after an interrupt */
	struct known_path	paths[MAX_PATHS];	/* of an interrupt */
	unsigned int		nr_paths;

	unsigned int		i, j;			/* boundaries of the interrupts */
	u64			published;		/* last data_head seen */
	unsigned int		nest;			/* last value seen */
	bool			published_again;	/* the task set nest from 0 to 1 */
	unsigned long		runs[4];
	unsigned long		refused;		/* because of unpublished records */
} run;

/* Sets of instructions before which a writer was interrupted. */
#define MAX_IPS	4096
static struct ip_set {
	const void	*ip[MAX_IPS];
	unsigned int	nr;
} all_ips,		/* in all runs */
	nested_ips,		/* after data_head was stored, while nest > 0 */
	not_nested_ips,	/* after nest was cleared, before head was compared */
	compared_ips;		/* after head was compared: the interrupt publishes */

static void add_ip(struct ip_set *set, const void *ip)
{
	for (unsigned int i = 0; i < set->nr; i++)
		if (set->ip[i] == ip)
			return;
	if (set->nr < MAX_IPS)
		set->ip[set->nr++] = ip;
}

static unsigned int count_in(const struct ip_set *set, const char *function)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < set->nr; i++)
		nr += !strcmp(step__function(set->ip[i]), function);
	return nr;
}

static bool is_backward(void)
{
	return run.mode->flags & RING_BACKWARD;
}

static bool is_streaming(void)
{
	return run.mode->flags & RING_STREAMING;
}

static unsigned long head(void)
{
	return local_read(&run.ring->rb->head);
}

/*
 * Checks
 */

/* Report a failed check, at most ten times for each test. */
static bool require(bool met, const char *format, ...)
{
	va_list args;

	if (met || tap_complaints++ >= 10)
		return met;
	printf("# %s, %s, boundaries %u, %u (%s): ", run.mode->name, run.scenario->name, run.i,
	       run.j, run.i < run.path.nr ? step__function(run.path.ip[run.i]) : "-");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	return met;
}

/* Check the record of @writer. Return it, or NULL if there is none. */
static const struct ring_record *check_writer(const struct writer *writer,
					      const struct ring_records *records)
{
	const struct ring_record *found = NULL;
	u64 begin;

	for (size_t i = 0; i < records->nr; i++) {
		if (records->record[i].type != PERF_RECORD_SAMPLE ||
		    records->record[i].number != writer->number)
			continue;
		require(!found, "record %llu is there twice", writer->number);
		found = &records->record[i];
	}
	if (writer->lost) {
		require(!found, "record %llu was lost and is there", writer->number);
		return NULL;
	}
	if (!require(found, "record %llu is missing", writer->number))
		return NULL;
	begin = is_backward() ? found->position - found->size : found->position;
	require(found->size == writer->size, "record %llu has %u bytes", writer->number,
		found->size);
	require(begin >= writer->head_before && begin + found->size <= writer->head_after,
		"record %llu is outside of its writer's reservation", writer->number);
	return found;
}

static void check_order(const struct writer *writer, const struct ring_records *records)
{
	const struct ring_record *mine, *other;

	if (!writer->interrupted)
		return;
	mine = check_writer(writer, records);
	other = check_writer(writer->interrupted, records);
	if (mine && other)
		require((mine->position > other->position) == writer->reserved_after,
			"records %llu and %llu are in the wrong order", other->number,
			mine->number);
}

/* Read all records from position @begin run. */
static void read_records(unsigned long begin, struct ring_records *records)
{
	unsigned char bytes[WRITER_RING_SIZE];
	size_t len = head() - begin;

	records->nr = 0;
	records->error = NULL;
	if (!require(len <= sizeof(bytes), "head moved by %zu", len))
		return;
	ring_copy(run.ring, bytes, begin, len);
	ring_walk_up(run.ring, bytes, len, is_backward() ? head() : begin, false, records);
	require(!records->error, "%s", records->error);
}

/* Read the same records backward by their trailers, and compare. */
static void check_trailers(unsigned long begin, const struct ring_records *records)
{
	static struct ring_records found;
	unsigned char bytes[WRITER_RING_SIZE];
	size_t len = head() - begin;

	if (len > sizeof(bytes))
		return;
	found.nr = 0;
	found.error = NULL;
	ring_copy(run.ring, bytes, begin, len);
	ring_walk_trailers(run.ring, bytes, len, head(), &found);
	require(!found.error && found.nr == records->nr &&
		(!found.nr || !memcmp(found.record, records->record,
				      found.nr * sizeof(*found.record))),
		"walking back by trailers finds %zu records of %zu: %s", found.nr, records->nr,
		found.error ?: "they differ");
}

static u64 sum_of_lost(const struct ring_records *records)
{
	u64 lost = 0;

	for (size_t i = 0; i < records->nr; i++)
		if (records->record[i].type == PERF_RECORD_LOST)
			lost += records->record[i].lost;
	return lost;
}

static unsigned int samples(const struct ring_records *records)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < records->nr; i++)
		nr += records->record[i].type == PERF_RECORD_SAMPLE;
	return nr;
}

static void check_idle(void)
{
	const struct perf_buffer *rb = run.ring->rb;

	require(!rb->nest, "nest is %u", rb->nest);
	require(!shim.preempt && !shim.rcu && !shim.pagefault, "depths are %d, %d, %d",
		shim.preempt, shim.rcu, shim.pagefault);
	require(ring_head(run.ring) == head(), "data_head is %llu, head %lu", ring_head(run.ring),
		head());
	if (!is_streaming())
		require(ring_reserved(run.ring) == head(), "data_reserved is %llu, head %lu",
			ring_reserved(run.ring), head());
}

/* A wake-up must be queued, possibly twice, if and only if one is due. */
static void check_wakeups(void)
{
	const struct perf_buffer *rb = run.ring->rb, *before = &run.state.rb;
	unsigned long wakeup = local_read(&before->wakeup);
	unsigned long queued = run.ring->event.pending_irq.queued;
	bool due = head() - wakeup > rb->watermark;

	require(local_read(&rb->wakeup) == wakeup + due * rb->watermark,
		"rb->wakeup is %lu, head %lu, before %lu", local_read(&rb->wakeup), head(), wakeup);
	if (due)
		require(queued && run.ring->event.pending_wakeup &&
			atomic_read(&rb->poll) == (EPOLLIN | EPOLLRDNORM),
			"no wake-up was queued");
	else
		require(!queued, "%lu unexpected wake-ups", queued);
}

static void consume_all(void)
{
	run.ring->user->data_tail = run.ring->user->data_head;
}

/* Check lost counts: those of LOST records, and the rest by freeing the ring and writing one. */
static void check_lost(const struct writer *const *writers, unsigned int nr,
		       const struct ring_records *records)
{
	static struct ring_records next;
	unsigned long lost = 0, begin, left = local_read(&run.ring->rb->lost);
	const struct ring_record *lost_record, *record;

	for (unsigned int i = 0; i < nr; i++)
		lost += writers[i]->lost;
	require(run.ring->event.lost_samples.counter == lost, "%ld counted as lost, not %lu",
		run.ring->event.lost_samples.counter, lost);
	if (!run.scenario->space_for_one && !run.scenario->full && !run.scenario->nested_full)
		require(!lost, "%lu lost while there is free space", lost);
	if (run.scenario->lost_pending)
		lost += PENDING_LOST;
	require(sum_of_lost(records) + left == lost,
		"LOST records count %llu, rb->lost is %lu, expected are %lu",
		sum_of_lost(records), left, lost);
	if (run.scenario->space_for_one || run.scenario->full)
		require(left == lost && samples(records) == run.scenario->space_for_one,
			"%u records written without free space", samples(records));
	if (run.scenario->nested_full)
		run.refused += left;
	if (!left)
		return;

	consume_all();
	begin = head();
	require(!ring_write(run.ring, 64, FIRST_NUMBER + 99), "no space in an empty ring");
	read_records(begin, &next);
	if (!require(next.nr == 2, "%zu records instead of LOST and sample", next.nr))
		return;
	/* Lower address than the sample; in a backward ring that means newer. */
	lost_record = &next.record[is_backward()];
	record = &next.record[!is_backward()];
	require(lost_record->type == PERF_RECORD_LOST && lost_record->lost == left &&
		record->number == FIRST_NUMBER + 99 && !local_read(&run.ring->rb->lost),
		"no LOST record of %lu", left);
	check_idle();
}

static void check_run(void)
{
	static struct ring_records records;
	const struct writer *writers[MAX_INTERRUPTS + 2];
	unsigned long begin = local_read(&run.state.rb.head);
	unsigned int nr = 0, nr_lost = 0;

	writers[nr++] = &run.task;
	for (unsigned int i = 0; i < MAX_INTERRUPTS; i++)
		if (run.interrupt[i].ended)
			writers[nr++] = &run.interrupt[i];
	if (run.nmi.ended)
		writers[nr++] = &run.nmi;

	check_idle();
	check_wakeups();
	read_records(begin, &records);
	for (unsigned int i = 0; i < nr; i++) {
		check_writer(writers[i], &records);
		check_order(writers[i], &records);
		nr_lost += writers[i]->lost;
	}
	require(samples(&records) + nr_lost == nr, "%u records of %u", samples(&records) + nr_lost,
		nr);
	if (run.mode->flags & RING_SIZED)
		check_trailers(begin, &records);
	check_lost(writers, nr, &records);
}

/*
 * Runs
 */

static void set_up_scenario(void)
{
	struct ring *ring = run.ring;
	unsigned long due;

	ring->rb->watermark = WATERMARK;
	due = head() - WATERMARK;
	if (run.scenario->wakeup_due == 2)
		due += run.task.size;
	else if (!run.scenario->wakeup_due)
		due += WATERMARK / 2;
	local_set(&ring->rb->wakeup, due);
	if (run.scenario->lost_pending)
		local_set(&ring->rb->lost, PENDING_LOST);
	if (run.scenario->space_for_one || run.scenario->full) {
		unsigned long space = run.scenario->full ? 8 : run.task.size + 8;

		ring->user->data_tail = is_backward() ? -(head() + space) : head() + space;
	}
	if (run.scenario->nested_full)
		ring->rb->published = head() + run.task.size + 8 - ring->size;
	ring->event.pending_wakeup = 0;
	ring->event.pending_irq.queued = 0;
	atomic_set(&ring->rb->poll, 0);
}

static void prepare(void)
{
	ring_backup__restore(run.ring, &run.state);
	run.task.ended = run.nmi.ended = false;
	for (unsigned int i = 0; i < MAX_INTERRUPTS; i++)
		run.interrupt[i].ended = false;
	run.published = ring_head(run.ring);
	run.published_again = false;
	run.i = run.j = 0;
}

/* Check the invariants that hold between any two instructions. */
static void check_step(void *unused, unsigned int i, const void *ip)
{
	u64 published = ring_head(run.ring);
	unsigned int nest = run.ring->rb->nest;

	require(published >= run.published && published <= head(),
		"data_head went from %llu to %llu, head %lu", run.published, published, head());
	if (!run.nest && nest && writer__has_reserved(&run.task))
		run.published_again = true;
	run.published = published;
	run.nest = nest;
}

/* An interrupt must publish its record if it is the outermost writer, and only then. */
static void check_published(u64 before, unsigned int nest)
{
	u64 now = ring_head(run.ring);

	if (nest)
		require(now == before, "data_head went from %llu to %llu in a nested writer",
			before, now);
	else
		require(now == head(), "data_head is %llu, head %lu", now, head());
	require(run.ring->rb->nest == nest, "nest went from %u to %u", nest, run.ring->rb->nest);
}

static void interrupt(struct writer *writer, struct writer *interrupted)
{
	unsigned int nest = run.ring->rb->nest;
	u64 published = ring_head(run.ring);

	writer__run(writer, interrupted);
	check_published(published, nest);
}

/* The boundary that the interrupt came at, in terms of the end of perf_output_end(). */
static struct {
	bool		published;	/* data_head was stored */
	bool		not_nested;	/* nest was cleared */
	const void	*ip;
} boundary;

static void interrupt_once(void *trace_rest, unsigned int i, const void *ip)
{
	add_ip(&all_ips, ip);
	boundary.published = writer__has_reserved(&run.task) && ring_head(run.ring) == head();
	boundary.not_nested = !run.ring->rb->nest;
	boundary.ip = ip;
	interrupt(&run.interrupt[0], &run.task);
	if (*(bool *)trace_rest) {
		run.published = ring_head(run.ring);
		run.nest = run.ring->rb->nest;
		step__then_trace(&run.rest, check_step, NULL);
	}
}

static void classify_boundary(void)
{
	if (!boundary.published)
		return;
	if (!run.published_again)
		add_ip(&compared_ips, boundary.ip);
	else if (boundary.not_nested)
		add_ip(&not_nested_ips, boundary.ip);
	else
		add_ip(&nested_ips, boundary.ip);
}

static void interrupt_three_times(void *unused, unsigned int i, const void *ip)
{
	interrupt(&run.interrupt[0], &run.task);
	interrupt(&run.interrupt[1], &run.task);
	interrupt(&run.interrupt[2], &run.task);
}

static void interrupt_again(void *unused, unsigned int i, const void *ip)
{
	add_ip(&all_ips, ip);
	interrupt(&run.interrupt[3], &run.task);
	if (boundary.published) {		/* possibly between nest = 0 and nest = 1 */
		run.published = ring_head(run.ring);
		run.nest = run.ring->rb->nest;
		step__then_trace(NULL, check_step, NULL);
	}
}

static void interrupt_before(void *unused, unsigned int i, const void *ip)
{
	interrupt(&run.interrupt[0], &run.task);
	step__then_stop(&run.rest, run.j, interrupt_again, NULL);
}

static void interrupt_by_nmi(void *unused, unsigned int i, const void *ip)
{
	add_ip(&all_ips, ip);
	interrupt(&run.nmi, &run.interrupt[0]);
}

static void learn_path(void *path, unsigned int i, const void *ip)
{
	writer__begin(&run.interrupt[0], &run.task);
	step__trace(path, run.interrupt[0].fn, &run.interrupt[0], NULL, NULL);
	writer__end(&run.interrupt[0]);
}

static struct path_key current;

static void get_path_key(void *unused, unsigned int i, const void *ip)
{
	const struct perf_buffer *rb = run.ring->rb;

	current = (struct path_key){
		.nest = rb->nest,
		.lost = local_read(&rb->lost),
		.until_wakeup = head() - local_read(&rb->wakeup),
		.until_tail = head() - (is_backward() ? -1 : 1) * run.ring->user->data_tail,
		.not_published = head() - rb->published,
	};
}

static void run_task(unsigned int i, unsigned int j, step_callback at, void *ctx)
{
	prepare();
	run.i = i;
	run.j = j;
	writer__begin(&run.task, NULL);
	require(step__stop(&run.path, i, run.task.fn, &run.task, at, ctx),
		"boundary was not reached");
	writer__end(&run.task);
}

/* Return the path that an interrupt takes at boundary @i. */
static const struct step_path *interrupt_path(unsigned int i)
{
	struct known_path *known = run.paths;

	run_task(i, 0, get_path_key, NULL);
	for (unsigned int n = 0; n < run.nr_paths; n++, known++)
		if (!memcmp(&known->key, &current, sizeof(current)))
			return &known->path;
	if (run.nr_paths == MAX_PATHS)
		abort();
	run.nr_paths++;
	known->key = current;
	run_task(i, 0, learn_path, &known->path);
	return &known->path;
}

static void stop_interrupt(void *path, unsigned int i, const void *ip)
{
	unsigned int nest = run.ring->rb->nest;
	u64 published = ring_head(run.ring);

	writer__begin(&run.interrupt[0], &run.task);
	require(step__stop(path, run.j, run.interrupt[0].fn, &run.interrupt[0], interrupt_by_nmi,
			   NULL), "boundary was not reached");
	writer__end(&run.interrupt[0]);
	check_published(published, nest);
}

static void run_and_check(unsigned int i, unsigned int j, step_callback at, void *ctx)
{
	run_task(i, j, at, ctx);
	check_run();
}

static void run_all_at(unsigned int i)
{
	bool exhaustive = all_pairs || (run.scenario->exhaustive && run.mode->exhaustive);
	unsigned int stride = exhaustive ? 1 : STRIDE;
	bool trace_rest = i % stride == 0;
	const struct step_path *path;

	run_and_check(i, 0, interrupt_once, &trace_rest);
	run.runs[0]++;
	if (trace_rest) {
		classify_boundary();
		for (unsigned int j = 1; j < run.rest.nr; j++, run.runs[1]++)
			run_and_check(i, j, interrupt_before, NULL);
	}
	run_and_check(i, 0, interrupt_three_times, NULL);
	run.runs[2]++;

	path = interrupt_path(i);
	for (unsigned int j = i % stride; j < path->nr; j += stride, run.runs[3]++)
		run_and_check(i, j, stop_interrupt, (void *)path);
}

static void test_nesting(void)
{
	unsigned int flags = run.mode->flags | run.scenario->flags;

	run.ring = writer_ring__new(flags);
	writer__init(&run.task, run.ring, TASK, FIRST_NUMBER);
	for (unsigned int i = 0; i < MAX_INTERRUPTS; i++)
		writer__init(&run.interrupt[i], run.ring, INTERRUPT, FIRST_NUMBER + 1 + i);
	writer__init(&run.nmi, run.ring, NMI, FIRST_NUMBER + 50);
	set_up_scenario();
	ring_backup__save(run.ring, &run.state);
	run.nr_paths = 0;
	run.refused = 0;
	memset(run.runs, 0, sizeof(run.runs));

	prepare();
	run.nest = 0;
	writer__begin(&run.task, NULL);
	step__trace(&run.path, run.task.fn, &run.task, check_step, NULL);
	writer__end(&run.task);
	check_run();
	EXPECT(run.path.nr < STEP_MAX);
	EXPECT(!run.published_again);

	for (unsigned int i = 0; i < run.path.nr; i++)
		run_all_at(i);
	EXPECT(!run.refused == !run.scenario->nested_full);
	ring_backup__restore(run.ring, &run.state);
	ring_delete(run.ring);
}

/* Check that the interrupts came at enough places of each function that matters. */
static void test_coverage(void)
{
	static const struct {
		const char	*function;
		unsigned int	at_least;
	} functions[] = {
		{ "perf_output_begin", 60 },
		{ "perf_output_end", 20 },
		{ "write_in_task", 15 },
		{ "write_in_interrupt", 15 },
	};

	printf("# interrupted before %u different instructions:", all_ips.nr);
	for (unsigned int i = 0; i < ARRAY_SIZE(functions); i++) {
		printf(" %s %u", functions[i].function, count_in(&all_ips, functions[i].function));
		EXPECT(count_in(&all_ips, functions[i].function) >= functions[i].at_least);
	}
	printf("\n# after data_head was stored: published again by the task at %u (nest > 0)"
	       " and %u (nest = 0), by the interrupt at %u\n", nested_ips.nr, not_nested_ips.nr,
	       compared_ips.nr);
	EXPECT(count_in(&nested_ips, "perf_output_end"));
	EXPECT(count_in(&not_nested_ips, "perf_output_end"));
	EXPECT(count_in(&compared_ips, "perf_output_end"));
}

int main(int argc, char **argv)
{
	const char *reason = step__init();
	char name[200];

	all_pairs = argc > 1 && !strcmp(argv[1], "--all");
	if (reason) {
		printf("1..0 # SKIP %s\n", reason);
		return 0;
	}
	for (run.mode = writer_modes; run.mode < writer_modes + WRITER_NR_MODES; run.mode++) {
		for (unsigned int i = 0; i < ARRAY_SIZE(scenarios); i++) {
			const struct scenario *s = &scenarios[i];

			if (is_streaming() ? s->overwrite_only : s->streaming_only)
				continue;
			run.scenario = s;
			snprintf(name, sizeof(name), "nested writers: %s, %s", run.mode->name,
				 s->name);
			TAP_RUN(test_nesting, name);
			printf("# %u boundaries; runs: %lu with one interrupt, %lu with two, "
			       "%lu with three, %lu with interrupt and NMI\n", run.path.nr,
			       run.runs[0], run.runs[1], run.runs[2], run.runs[3]);
		}
	}
	TAP_RUN(test_coverage, "coverage of instruction boundaries");
	return tap_end();
}
