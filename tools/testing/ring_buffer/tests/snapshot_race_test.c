// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test readers that take snapshots at every instruction of nested writers.
 * tags: fast parallel long
 *
 * A writer is single-stepped: alone, interrupted at each of its instruction boundaries by a second
 * writer, which is stepped too, and that one by an NMI. Every state of control page and data area
 * that a reader on another CPU could see is saved. Then each snapshot is taken that starts in one
 * state and ends in the same or a later one, with a copy mixed from both, and must return exactly
 * these records:
 *
 *   sized, backward	Read data_head, copy, read data_reserved: the records in
 *			[data_reserved - size, data_head). Done by the reader in shim/ring.c, and by
 *			libperf's.
 *   backward		Also as on a stock kernel, which has no data_reserved: copy, wait until all
 *			writers have ended, read data_head again. Done by libperf's reader.
 *   streaming		The records below data_head.
 *
 * x86 makes stores visible in program order, so no other states are possible.
 *
 * NMIs come at a sample of the boundaries only, and so do interrupts in streaming rings. With NIGHT
 * in the environment the sample is larger; --more takes a still larger one, and minutes.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "shim/libperf_reader.h"
#include "shim/nested_writer.h"
#include "shim/expect.h"

#define FIRST_NUMBER	1000
#define MAX_MOMENTS	128
#define WORDS		(WRITER_RING_SIZE / sizeof(u64))

/* Distances between the sampled boundaries. Primes, so that all combinations come up. */
static struct {
	unsigned int	streaming;	/* of the task, in a streaming ring */
	unsigned int	outer, inner;	/* of the task and of the interrupt, for an NMI */
} stride = { 13, 53, 29 };

/* The state of the ring that a reader sees at one time. */
struct moment {
	u64		data_head, data_reserved[4];
	u64		words[WORDS];
};

static struct moments {
	struct moment	moment[MAX_MOMENTS];
	unsigned int	nr;
} now,		/* of this run */
	alone,	/* of the task without interrupts */
	single;	/* of the task with one interrupt */

static struct {
	const struct writer_mode *mode;
	struct ring		*ring;
	struct ring_backup	state;
	struct writer		task, interrupt, nmi;
	struct step_path	task_path, interrupt_path;
	/* The number of moments up to each boundary, including the one at it. */
	unsigned int		task_moments[STEP_MAX], interrupt_moments[STEP_MAX];

	struct ring_records	expected;	/* all records, oldest first */
	size_t			nr_old;		/* those written before the run */
	unsigned int		i, j;		/* boundaries of task and interrupt */
	unsigned long		steps, runs, snapshots, accepted, dropped;
} run;

static bool is_backward(void)
{
	return run.mode->flags & RING_BACKWARD;
}

static u64 position_of(u64 data_head)
{
	return is_backward() ? -data_head : data_head;
}

static u64 begin_of(const struct ring_record *record)
{
	return is_backward() ? record->position - record->size : record->position;
}

static bool require(bool met, const char *format, ...)
{
	va_list args;

	if (met || tap_complaints++ >= 10)
		return met;
	printf("# %s, boundaries %u, %u: ", run.mode->name, run.i, run.j);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	return met;
}

/*
 * Saving what a reader could see
 */

static void save_moment(void)
{
	const struct perf_event_mmap_page *user = run.ring->user;
	struct moment *last = now.nr ? &now.moment[now.nr - 1] : NULL;

	if (last && last->data_head == user->data_head &&
	    !memcmp(last->data_reserved, user->data_reserved, sizeof(last->data_reserved)) &&
	    !memcmp(last->words, run.ring->data, WRITER_RING_SIZE))
		return;
	if (now.nr == MAX_MOMENTS)
		abort();
	last = &now.moment[now.nr++];
	last->data_head = user->data_head;
	memcpy(last->data_reserved, user->data_reserved, sizeof(last->data_reserved));
	memcpy(last->words, run.ring->data, WRITER_RING_SIZE);
}

static void save_step(void *counts, unsigned int i, const void *ip)
{
	run.steps++;
	save_moment();
	if (counts && i < STEP_MAX)
		((unsigned int *)counts)[i] = now.nr;
}

/* Start with the first @nr moments of a run that was the same up to there. */
static void restore_moments(const struct moments *before, unsigned int nr)
{
	memcpy(now.moment, before->moment, nr * sizeof(*now.moment));
	now.nr = nr;
}

/*
 * The records that a reader has to find
 */

static void learn_old_records(void)
{
	struct ring_snapshot all;

	run.expected.nr = 0;
	if (!(run.mode->flags & RING_STREAMING)) {
		ring_snapshot(run.ring, 0, &all);
		run.expected = all.records;		/* ownership moves to @expected */
		require(!run.expected.error && run.expected.nr > 30, "the ring is not full");
	}
	run.nr_old = run.expected.nr;
}

static void learn_new_records(void)
{
	unsigned char bytes[WRITER_RING_SIZE];
	u64 begin = local_read(&run.state.rb.head), head = ring_head(run.ring);

	run.expected.nr = run.nr_old;
	ring_copy(run.ring, bytes, begin, head - begin);
	ring_walk_up(run.ring, bytes, head - begin, is_backward() ? head : begin, false,
		     &run.expected);
	require(!run.expected.error, "after the run: %s", run.expected.error);
}

/*
 * Check that @found are the records in [@begin, @end). Records returned by libperf have neither
 * position nor trailer.
 */
static void check_records(const struct ring_records *found, u64 begin, u64 end, bool by_libperf)
{
	unsigned int trailer = by_libperf && run.mode->flags & RING_SIZED ?
			       sizeof(struct perf_event_trailer) : 0;
	const struct ring_record *is = found->record, *want;
	size_t left = found->nr;

	run.snapshots++;
	run.accepted += left;
	if (!require(!found->error, "%s", found->error))
		return;
	for (want = run.expected.record; want < run.expected.record + run.expected.nr; want++) {
		if (begin_of(want) < begin || begin_of(want) + want->size > end)
			continue;
		if (!require(left, "record %llu is missing", want->number))
			return;
		if (!require(is->number == want->number && is->type == want->type &&
			     is->size + trailer == want->size &&
			     (by_libperf || is->position == want->position),
			     "record %llu instead of %llu", is->number, want->number))
			return;
		is++;
		left--;
	}
	require(!left, "%zu unexpected records, first is %llu", left, left ? is->number : 0);
}

/*
 * Readers: data_head is read at the moment @from, data_reserved or the next data_head at @to.
 */

static u64 reserved_at(const struct moment *moment)
{
	u64 sum = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(moment->data_reserved); i++)
		sum += moment->data_reserved[i];
	return sum;
}

static void snapshot_reserved(const struct moment *from, const struct moment *to, u64 *copy)
{
	struct perf_event_mmap_page user = { .data_head = from->data_head };
	struct ring seen = *run.ring;
	struct ring_snapshot snapshot;
	u64 head = position_of(from->data_head);
	u64 newest = max(head, reserved_at(to));

	memcpy(user.data_reserved, to->data_reserved, sizeof(user.data_reserved));
	seen.user = &user;
	seen.data = (unsigned char *)copy;
	ring_snapshot(&seen, 0, &snapshot);
	check_records(&snapshot.records, newest - WRITER_RING_SIZE, head, false);
	run.dropped += snapshot.dropped;
	ring_snapshot_free(&snapshot);
}

/* @end: the position that no writer had reached when the copy was complete */
static void snapshot_libperf(const struct moment *from, u64 end, u64 *copy)
{
	static struct ring_records records;
	struct libperf_records found;
	struct ring plain = *run.ring;

	found = libperf_read(!is_backward(), from->data_head, end, copy, WRITER_RING_SIZE);
	require(!found.malformed, "libperf found %zu malformed bytes", found.malformed);

	plain.flags &= ~(RING_BACKWARD | RING_SIZED);
	records.nr = 0;
	records.error = NULL;
	ring_walk_up(&plain, found.data, found.bytes, 0, false, &records);
	check_records(&records, end - WRITER_RING_SIZE, position_of(from->data_head), true);
}

static void read_stream(const struct moment *from, u64 *copy)
{
	static struct ring_records records;
	unsigned char bytes[WRITER_RING_SIZE];
	u64 tail = local_read(&run.state.rb.head), head = position_of(from->data_head);
	struct ring seen = *run.ring;

	seen.data = (unsigned char *)copy;
	records.nr = 0;
	records.error = NULL;
	ring_copy(&seen, bytes, tail, head - tail);
	ring_walk_up(&seen, bytes, head - tail, is_backward() ? head : tail, false, &records);
	check_records(&records, tail, head, false);
}

static void read_copy(const struct moment *from, const struct moment *to, u64 *copy)
{
	if (run.mode->flags & RING_STREAMING) {
		read_stream(from, copy);
		return;
	}
	snapshot_reserved(from, to, copy);
	snapshot_libperf(from, reserved_at(to), copy);
	/* As on a stock kernel: the grace period waits for all writers. */
	if (is_backward())
		snapshot_libperf(from, position_of(now.moment[now.nr - 1].data_head), copy);
}

/* The copy has words below @at from moment @low, the others from moment @high. */
static void read_split(const struct moment *from, const struct moment *to,
		       const struct moment *low, const struct moment *high, unsigned int at)
{
	u64 copy[WORDS];

	memcpy(copy, low->words, at * sizeof(u64));
	memcpy(copy + at, high->words + at, (WORDS - at) * sizeof(u64));
	read_copy(from, to, copy);
}

/*
 * Read with a copy made at @from, one made at @to, and mixtures of both. @all: split the copy at
 * each word that differs, otherwise only at the middle one.
 */
static void read_between(const struct moment *from, const struct moment *to, bool all)
{
	unsigned int differ[WORDS], nr = 0;

	read_copy(from, to, (u64 *)from->words);
	if (from == to)
		return;
	read_copy(from, to, (u64 *)to->words);
	for (unsigned int at = 0; at < WORDS; at++)
		if (from->words[at] != to->words[at])
			differ[nr++] = at;
	for (unsigned int n = all ? 1 : nr / 2; n && n < nr; n++) {
		read_split(from, to, from, to, differ[n]);
		read_split(from, to, to, from, differ[n]);
		if (!all)
			break;
	}
}

/* Take all snapshots that end at moment @first or later; earlier ones were part of another run. */
static void read_all(unsigned int first, bool all)
{
	learn_new_records();
	for (unsigned int to = first; to < now.nr; to++)
		for (unsigned int from = 0; from <= to; from++)
			read_between(&now.moment[from], &now.moment[to], all);
	require(now.moment[now.nr - 1].data_head == run.ring->user->data_head &&
		ring_head(run.ring) == local_read(&run.ring->rb->head),
		"data_head differs from the private head");
	run.runs++;
}

/*
 * Writers
 */

static void begin_run(unsigned int i, unsigned int j)
{
	ring_backup__restore(run.ring, &run.state);
	run.i = i;
	run.j = j;
	now.nr = 0;
}

static void run_alone(void)
{
	begin_run(0, 0);
	writer__begin(&run.task, NULL);
	step__trace(&run.task_path, run.task.fn, &run.task, save_step, run.task_moments);
	writer__end(&run.task);
	save_moment();
	alone = now;
	read_all(0, true);
}

static void interrupt_stepped(void *unused, unsigned int i, const void *ip)
{
	writer__begin(&run.interrupt, &run.task);
	step__trace(&run.interrupt_path, run.interrupt.fn, &run.interrupt, save_step,
		    run.interrupt_moments);
	writer__end(&run.interrupt);
	save_moment();
	step__then_trace(NULL, save_step, NULL);
}

static void nmi_stepped(void *unused, unsigned int i, const void *ip)
{
	writer__begin(&run.nmi, &run.interrupt);
	step__trace(NULL, run.nmi.fn, &run.nmi, save_step, NULL);
	writer__end(&run.nmi);
	save_moment();
	step__then_trace(NULL, save_step, NULL);
}

static void interrupt_stopped(void *unused, unsigned int i, const void *ip)
{
	writer__begin(&run.interrupt, &run.task);
	require(step__stop(&run.interrupt_path, run.j, run.interrupt.fn, &run.interrupt,
			   nmi_stepped, NULL), "boundary was not reached");
	writer__end(&run.interrupt);
	save_moment();
	step__then_trace(NULL, save_step, NULL);
}

static void run_interrupted(unsigned int i, unsigned int j, step_callback at,
			    const struct moments *before, unsigned int nr)
{
	begin_run(i, j);
	restore_moments(before, nr);
	writer__begin(&run.task, NULL);
	require(step__stop(&run.task_path, i, run.task.fn, &run.task, at, NULL),
		"boundary was not reached");
	writer__end(&run.task);
	save_moment();
	read_all(nr, false);
}

static void run_all(void)
{
	unsigned int step = run.mode->flags & RING_STREAMING ? stride.streaming : 1;

	run_alone();
	for (unsigned int i = 0; i < run.task_path.nr; i += step) {
		run_interrupted(i, 0, interrupt_stepped, &alone, run.task_moments[i]);
		if (i % stride.outer)
			continue;
		single = now;
		for (unsigned int j = i % stride.inner; j < run.interrupt_path.nr;
		     j += stride.inner)
			run_interrupted(i, j, interrupt_stopped, &single,
					run.interrupt_moments[j]);
	}
}

static void test_mode(void)
{
	run.ring = writer_ring__new(run.mode->flags);
	writer__init(&run.task, run.ring, TASK, FIRST_NUMBER);
	writer__init(&run.interrupt, run.ring, INTERRUPT, FIRST_NUMBER + 1);
	writer__init(&run.nmi, run.ring, NMI, FIRST_NUMBER + 2);
	ring_backup__save(run.ring, &run.state);
	run.steps = run.runs = run.snapshots = run.accepted = run.dropped = 0;
	learn_old_records();
	run_all();
	EXPECT(run.snapshots && run.accepted);
	ring_records_free(&run.expected);
	ring_delete(run.ring);
}

int main(int argc, char **argv)
{
	const char *reason = step__init();
	char name[100];

	if (argc > 1 && !strcmp(argv[1], "--more")) {
		stride.streaming = 1;
		stride.outer = 3;
		stride.inner = 5;
	} else if (getenv("NIGHT")) {
		stride.streaming = 7;
		stride.outer = 17;
		stride.inner = 13;
	}
	if (reason) {
		printf("1..0 # SKIP %s\n", reason);
		return 0;
	}
	for (run.mode = writer_modes; run.mode < writer_modes + WRITER_NR_MODES; run.mode++) {
		if (!run.mode->flags)
			continue;	/* forward overwrite: cannot be read during writes */
		snprintf(name, sizeof(name), "snapshots at every instruction: %s", run.mode->name);
		TAP_RUN(test_mode, name);
		printf("# %lu runs, %lu steps, %lu snapshots of %lu records", run.runs, run.steps,
		       run.snapshots, run.accepted);
		if (!(run.mode->flags & RING_STREAMING))
			printf(", %lu bytes dropped on average", run.dropped / run.snapshots);
		printf("\n");
	}
	return tap_end();
}
