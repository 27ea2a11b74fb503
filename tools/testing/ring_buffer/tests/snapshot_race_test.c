// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readers of the kernel's ring that come at every step of a writer
 * tags: fast
 *
 * A writer is stepped, alone, interrupted at each of its instruction boundaries by another one that
 * is stepped too, and that by an NMI. Each state of control page and data area that a reader on
 * another CPU can find is kept. Then all snapshots are taken that begin in one state and end in the
 * same or a later one, the copy being of both, and must contain the records that they promise:
 *
 *   sized, backward	data_head, copy, data_reserved: whatever ends at data_head or below and
 *			begins at data_reserved - size or above, and nothing else; by the reader
 *			in shim/, and by libperf's
 *   backward		the same as on a stock kernel, without data_reserved: copy, all writers
 *			end, data_head again; by libperf's
 *   streaming		whatever is below data_head
 *
 * x86 stores become visible in the order of the program, so these are all states that there are.
 *
 * Of the places for an NMI it takes a sample, of those in streaming rings too; with --more a larger
 * one, which takes minutes. Prints TAP.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "shim/libperf_reader.h"
#include "shim/nested_writer.h"
#include "shim/tap.h"

#define FIRST_NUMBER	1000
#define MAX_MOMENTS	128
#define WORDS		(STEPPED_SIZE / sizeof(u64))

/* Every so many boundaries; primes, so that each has its turn with some other. */
static struct {
	unsigned int	streaming;	/* of the task, in a streaming ring */
	unsigned int	outer, inner;	/* of the task and of the interrupt, for an NMI */
} stride = { 7, 17, 13 };

/* What a reader can see at one time. */
struct moment {
	u64		data_head, data_reserved;
	u64		words[WORDS];
};

static struct moments {
	struct moment	moment[MAX_MOMENTS];
	unsigned int	nr;
} now,		/* of this run */
  alone,	/* of the task without interrupts */
  single;	/* of the task with one */

static struct {
	const struct stepped_mode *mode;
	struct ring		*ring;
	struct stepped_state	state;
	struct writer		task, interrupt, nmi;
	struct stepper_path	task_path, interrupt_path;
	/* How many moments there were at each boundary, that included. */
	unsigned int		task_moments[STEPPER_MAX], interrupt_moments[STEPPER_MAX];

	struct ring_records	truth;		/* all records, oldest first */
	size_t			nr_old;		/* those of before the run */
	unsigned int		i, j;
	unsigned long		steps, runs, snapshots, accepted, given_up;
} on;

static bool is_backward(void)
{
	return on.mode->flags & RING_BACKWARD;
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
	printf("# %s, boundaries %u, %u: ", on.mode->name, on.i, on.j);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	return met;
}

/*
 * Seeing
 */

static void see(void)
{
	const struct perf_event_mmap_page *user = on.ring->user;
	struct moment *last = now.nr ? &now.moment[now.nr - 1] : NULL;

	if (last && last->data_head == user->data_head &&
	    last->data_reserved == user->data_reserved &&
	    !memcmp(last->words, on.ring->data, STEPPED_SIZE))
		return;
	if (now.nr == MAX_MOMENTS)
		abort();
	last = &now.moment[now.nr++];
	last->data_head = user->data_head;
	last->data_reserved = user->data_reserved;
	memcpy(last->words, on.ring->data, STEPPED_SIZE);
}

static void see_step(void *counts, unsigned int i, const void *ip)
{
	on.steps++;
	see();
	if (counts && i < STEPPER_MAX)
		((unsigned int *)counts)[i] = now.nr;
}

/* Goes on from what was seen in another run up to the same place. */
static void saw(const struct moments *before, unsigned int nr)
{
	memcpy(now.moment, before->moment, nr * sizeof(*now.moment));
	now.nr = nr;
}

/*
 * What there is to be read
 */

static void learn_old_records(void)
{
	struct ring_snapshot all;

	on.truth.nr = 0;
	if (!(on.mode->flags & RING_STREAMING)) {
		ring_snapshot(on.ring, 0, &all);
		on.truth = all.records;		/* now ours */
		require(!on.truth.error && on.truth.nr > 30, "the ring is not full of records");
	}
	on.nr_old = on.truth.nr;
}

static void learn_new_records(void)
{
	unsigned char bytes[STEPPED_SIZE];
	u64 begin = local_read(&on.state.rb.head), head = ring_head(on.ring);

	on.truth.nr = on.nr_old;
	ring_copy(on.ring, bytes, begin, head - begin);
	ring_walk_up(on.ring, bytes, head - begin, is_backward() ? head : begin, false, &on.truth);
	require(!on.truth.error, "after the run: %s", on.truth.error);
}

/* The records in [@begin, @end) are what there is; libperf's have no position, and no trailer. */
static void expect(const struct ring_records *found, u64 begin, u64 end, bool by_libperf)
{
	unsigned int trailer = by_libperf && on.mode->flags & RING_SIZED ?
			       sizeof(struct perf_event_trailer) : 0;
	const struct ring_record *is = found->record, *must;
	size_t left = found->nr;

	on.snapshots++;
	on.accepted += left;
	if (!require(!found->error, "%s", found->error))
		return;
	for (must = on.truth.record; must < on.truth.record + on.truth.nr; must++) {
		if (begin_of(must) < begin || begin_of(must) + must->size > end)
			continue;
		if (!require(left, "record %llu is missing", must->number))
			return;
		if (!require(is->number == must->number && is->type == must->type &&
			     is->size + trailer == must->size &&
			     (by_libperf || is->position == must->position),
			     "record %llu instead of %llu", is->number, must->number))
			return;
		is++;
		left--;
	}
	require(!left, "%zu records too many, the first is %llu", left, left ? is->number : 0);
}

/*
 * Readers. Each sees data_head of one moment, a copy, and the rest of a later one.
 */

static void snapshot_reserved(const struct moment *from, const struct moment *to, u64 *copy)
{
	struct perf_event_mmap_page user = {
		.data_head = from->data_head,
		.data_reserved = to->data_reserved,
	};
	struct ring seen = *on.ring;
	struct ring_snapshot snapshot;
	u64 head = position_of(from->data_head);
	u64 newest = max(head, to->data_reserved);

	seen.user = &user;
	seen.data = (unsigned char *)copy;
	ring_snapshot(&seen, 0, &snapshot);
	expect(&snapshot.records, newest - STEPPED_SIZE, head, false);
	on.given_up += snapshot.given_up;
	ring_snapshot_free(&snapshot);
}

/* @end: what writers are known not to have passed */
static void snapshot_libperf(const struct moment *from, u64 end, u64 *copy)
{
	static struct ring_records records;
	struct libperf_found found;
	struct ring plain = *on.ring;

	found = libperf_read(!is_backward(), from->data_head, end, copy, STEPPED_SIZE);
	require(!found.malformed, "libperf found %zu bytes that are no records", found.malformed);

	plain.flags &= ~(RING_BACKWARD | RING_SIZED);
	records.nr = 0;
	records.error = NULL;
	ring_walk_up(&plain, found.data, found.bytes, 0, false, &records);
	expect(&records, end - STEPPED_SIZE, position_of(from->data_head), true);
}

static void read_stream(const struct moment *from, u64 *copy)
{
	static struct ring_records records;
	unsigned char bytes[STEPPED_SIZE];
	u64 tail = local_read(&on.state.rb.head), head = position_of(from->data_head);
	struct ring seen = *on.ring;

	seen.data = (unsigned char *)copy;
	records.nr = 0;
	records.error = NULL;
	ring_copy(&seen, bytes, tail, head - tail);
	ring_walk_up(&seen, bytes, head - tail, is_backward() ? head : tail, false, &records);
	expect(&records, tail, head, false);
}

static void read_copy(const struct moment *from, const struct moment *to, u64 *copy)
{
	if (on.mode->flags & RING_STREAMING) {
		read_stream(from, copy);
		return;
	}
	snapshot_reserved(from, to, copy);
	snapshot_libperf(from, to->data_reserved, copy);
	/* As on a stock kernel: the grace period ends when all writers have. */
	if (is_backward())
		snapshot_libperf(from, position_of(now.moment[now.nr - 1].data_head), copy);
}

/* Below word @at of what differs the copy was made at @low, above at @high. */
static void read_split(const struct moment *from, const struct moment *to,
		       const struct moment *low, const struct moment *high, unsigned int at)
{
	u64 copy[WORDS];

	memcpy(copy, low->words, at * sizeof(u64));
	memcpy(copy + at, high->words + at, (WORDS - at) * sizeof(u64));
	read_copy(from, to, copy);
}

/*
 * The copy as it was at the begin, as it was at the end, and the one half then, the other later:
 * @all: with each word that differs as the border, otherwise with the one in the middle.
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

/* All that end in one of the moments from @first on: the others were seen in another run. */
static void read_all(unsigned int first, bool all)
{
	learn_new_records();
	for (unsigned int to = first; to < now.nr; to++)
		for (unsigned int from = 0; from <= to; from++)
			read_between(&now.moment[from], &now.moment[to], all);
	require(now.moment[now.nr - 1].data_head == on.ring->user->data_head &&
		ring_head(on.ring) == local_read(&on.ring->rb->head), "data_head is not the head");
	on.runs++;
}

/*
 * Writers
 */

static void begin_run(unsigned int i, unsigned int j)
{
	stepped__restore(on.ring, &on.state);
	on.i = i;
	on.j = j;
	now.nr = 0;
}

static void run_alone(void)
{
	begin_run(0, 0);
	writer__begin(&on.task, NULL);
	stepper__trace(&on.task_path, on.task.fn, &on.task, see_step, on.task_moments);
	writer__end(&on.task);
	see();
	alone = now;
	read_all(0, true);
}

static void interrupt_stepped(void *unused, unsigned int i, const void *ip)
{
	writer__begin(&on.interrupt, &on.task);
	stepper__trace(&on.interrupt_path, on.interrupt.fn, &on.interrupt, see_step,
		       on.interrupt_moments);
	writer__end(&on.interrupt);
	see();
	stepper__then_trace(NULL, see_step, NULL);
}

static void nmi_stepped(void *unused, unsigned int i, const void *ip)
{
	writer__begin(&on.nmi, &on.interrupt);
	stepper__trace(NULL, on.nmi.fn, &on.nmi, see_step, NULL);
	writer__end(&on.nmi);
	see();
	stepper__then_trace(NULL, see_step, NULL);
}

static void interrupt_stopped(void *unused, unsigned int i, const void *ip)
{
	writer__begin(&on.interrupt, &on.task);
	require(stepper__stop(&on.interrupt_path, on.j, on.interrupt.fn, &on.interrupt,
			      nmi_stepped, NULL), "was not reached");
	writer__end(&on.interrupt);
	see();
	stepper__then_trace(NULL, see_step, NULL);
}

static void run_interrupted(unsigned int i, unsigned int j, stepper_at at,
			    const struct moments *before, unsigned int nr)
{
	begin_run(i, j);
	saw(before, nr);
	writer__begin(&on.task, NULL);
	require(stepper__stop(&on.task_path, i, on.task.fn, &on.task, at, NULL),
		"was not reached");
	writer__end(&on.task);
	see();
	read_all(nr, false);
}

static void run_all(void)
{
	unsigned int step = on.mode->flags & RING_STREAMING ? stride.streaming : 1;

	run_alone();
	for (unsigned int i = 0; i < on.task_path.nr; i += step) {
		run_interrupted(i, 0, interrupt_stepped, &alone, on.task_moments[i]);
		if (i % stride.outer)
			continue;
		single = now;
		for (unsigned int j = i % stride.inner; j < on.interrupt_path.nr; j += stride.inner)
			run_interrupted(i, j, interrupt_stopped, &single, on.interrupt_moments[j]);
	}
}

static void test_mode(void)
{
	on.ring = stepped__new_ring(on.mode->flags);
	writer__init(&on.task, on.ring, TASK, FIRST_NUMBER);
	writer__init(&on.interrupt, on.ring, INTERRUPT, FIRST_NUMBER + 1);
	writer__init(&on.nmi, on.ring, NMI, FIRST_NUMBER + 2);
	stepped__save(on.ring, &on.state);
	on.steps = on.runs = on.snapshots = on.accepted = on.given_up = 0;
	learn_old_records();
	run_all();
	EXPECT(on.snapshots && on.accepted);
	ring_records_free(&on.truth);
	ring_delete(on.ring);
}

int main(int argc, char **argv)
{
	const char *reason = stepper__init();

	if (argc > 1 && !strcmp(argv[1], "--more")) {
		stride.streaming = 1;
		stride.outer = 3;
		stride.inner = 5;
	}
	if (reason) {
		printf("1..0 # SKIP %s\n", reason);
		return 0;
	}
	for (on.mode = stepped_modes; on.mode < stepped_modes + STEPPED_NR_MODES; on.mode++) {
		if (!on.mode->flags)
			continue;	/* cannot be read while it is written */
		TAP_RUN(test_mode, on.mode->name);
		printf("# %lu runs, %lu steps, %lu snapshots of %lu records", on.runs, on.steps,
		       on.snapshots, on.accepted);
		if (!(on.mode->flags & RING_STREAMING))
			printf(", %lu bytes each given up", on.given_up / on.snapshots);
		printf("\n");
	}
	return tap_end();
}
