// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writers of the kernel's ring that interrupt each other between any two instructions
 * tags: fast
 *
 * A writer is stopped at each of its instruction boundaries, and others run there to their end, as
 * interrupts do on the same CPU: one; three, one after the other; one there and one at a later
 * boundary; one that is itself interrupted by an NMI, at each of its own boundaries. After each
 * such run everything is looked at: records, heads, counters, wake-ups. It is done for each mode of
 * the ring, with room and without, with and without a wake-up due, a LOST record pending.
 *
 * Where there are two boundaries to choose, all pairs are tried in a streaming ring and in one that
 * overwrites itself if there is room and nothing is due; else every eleventh pair, so that each
 * boundary has its turn. With --all it is always all, which takes ten times as long.
 *
 * Prints TAP.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <linux/poll.h>

#include "shim/nested_writer.h"
#include "shim/tap.h"

#define MAX_INTERRUPTS	4
#define PENDING_LOST	3
#define FIRST_NUMBER	1000
#define WATERMARK	1024
#define STRIDE		11

static bool run_all_pairs;

/* How full the ring is, and what is due, when the writer begins. */
struct scene {
	const char	*name;
	unsigned int	flags;		/* further RING_* */
	bool		in_full;
	bool		streaming_only, overwrite_only;
	bool		lost_pending;
	bool		room_for_one;	/* for the first that takes it */
	bool		full;
	bool		nested_full;	/* no room behind the first, until it is published */
	int		wakeup_due;	/* with the first or second record; 0: with none */
};

static const struct scene scenes[] = {
	{ "with room", .in_full = true },
	{ "wake-up due", .wakeup_due = 1 },
	{ "wake-up due with the second record", .wakeup_due = 2 },
	{ "LOST pending", .lost_pending = true, .flags = RING_WITH_ID },
	{ "room for one", .streaming_only = true, .room_for_one = true },
	{ "full", .streaming_only = true, .full = true },
	{ "full of what is not published", .overwrite_only = true, .nested_full = true },
};

/* What decides, beside the instruction that it is at, which way a writer takes. */
struct deciding {
	unsigned long	nest, lost, until_wakeup, until_tail, not_published;
};

struct known_path {
	struct deciding		 deciding;
	struct stepper_path	 path;
};

#define MAX_PATHS	32

/* All runs of one mode and scene. */
static struct {
	const struct stepped_mode *mode;
	const struct scene	*scene;
	struct ring		*ring;
	struct stepped_state	state;

	struct writer		task, interrupt[MAX_INTERRUPTS], nmi;
	struct stepper_path	path;			/* of the task alone */
	struct stepper_path	rest;			/* behind an interrupt */
	struct known_path	paths[MAX_PATHS];	/* of an interrupt */
	unsigned int		nr_paths;

	unsigned int		i, j;			/* where the run was interrupted */
	u64			published;		/* last seen */
	bool			taken_up_again;		/* nest went from 0 to 1 */
	unsigned int		nest;			/* last seen */
	unsigned long		runs[4];
	unsigned long		refused;		/* for what is not published */
} on;

/* Instructions before which somebody was interrupted. */
#define MAX_SEEN	4096
static struct seen {
	const void	*ip[MAX_SEEN];
	unsigned int	nr;
} seen, seen_published, seen_not_nested, seen_overlooked;

static void see(struct seen *set, const void *ip)
{
	for (unsigned int i = 0; i < set->nr; i++)
		if (set->ip[i] == ip)
			return;
	if (set->nr < MAX_SEEN)
		set->ip[set->nr++] = ip;
}

static unsigned int seen_in(const struct seen *set, const char *function)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < set->nr; i++)
		nr += !strcmp(stepper__function(set->ip[i]), function);
	return nr;
}

static bool is_backward(void)
{
	return on.mode->flags & RING_BACKWARD;
}

static bool is_streaming(void)
{
	return on.mode->flags & RING_STREAMING;
}

static unsigned long head(void)
{
	return local_read(&on.ring->rb->head);
}

/*
 * Looking at it
 */

/* Of many alike the first few are enough. */
static bool require(bool met, const char *format, ...)
{
	va_list args;

	if (met || tap_complaints++ >= 10)
		return met;
	printf("# %s, %s, boundaries %u, %u (%s): ", on.mode->name, on.scene->name, on.i, on.j,
	       on.i < on.path.nr ? stepper__function(on.path.ip[on.i]) : "-");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	return met;
}

/* Its one record, or NULL; and whether that is where it must be. */
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
	require(begin >= writer->from && begin + found->size <= writer->to,
		"record %llu is not where its writer was", writer->number);
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
		require((mine->position > other->position) == writer->is_behind,
			"records %llu and %llu are in the wrong order", other->number,
			mine->number);
}

/* All that was written since @begin. */
static void read_records(unsigned long begin, struct ring_records *records)
{
	unsigned char bytes[STEPPED_SIZE];
	size_t len = head() - begin;

	records->nr = 0;
	records->error = NULL;
	if (!require(len <= sizeof(bytes), "head moved by %zu", len))
		return;
	ring_copy(on.ring, bytes, begin, len);
	ring_walk_up(on.ring, bytes, len, is_backward() ? head() : begin, false, records);
	require(!records->error, "%s", records->error);
}

/* The same from their ends. */
static void check_trailers(unsigned long begin, const struct ring_records *records)
{
	static struct ring_records found;
	unsigned char bytes[STEPPED_SIZE];
	size_t len = head() - begin;

	if (len > sizeof(bytes))
		return;
	found.nr = 0;
	found.error = NULL;
	ring_copy(on.ring, bytes, begin, len);
	ring_walk_trailers(on.ring, bytes, len, head(), &found);
	require(!found.error && found.nr == records->nr &&
		(!found.nr || !memcmp(found.record, records->record,
				      found.nr * sizeof(*found.record))),
		"read from the end, %zu records of %zu: %s", found.nr, records->nr,
		found.error ?: "others");
}

static u64 lost_said(const struct ring_records *records)
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
	const struct perf_buffer *rb = on.ring->rb;

	require(!rb->nest, "nest is %u", rb->nest);
	require(!shim.preempt && !shim.rcu && !shim.pagefault, "depths are %d, %d, %d",
		shim.preempt, shim.rcu, shim.pagefault);
	require(ring_head(on.ring) == head(), "data_head is %llu, head %lu", ring_head(on.ring),
		head());
	if (!is_streaming())
		require(on.ring->user->data_reserved == head(), "data_reserved is %llu, head %lu",
			on.ring->user->data_reserved, head());
}

/* Exactly one was due, or none; there may be a second one that nobody needs. */
static void check_wakeups(void)
{
	const struct perf_buffer *rb = on.ring->rb, *before = &on.state.rb;
	unsigned long wakeup = local_read(&before->wakeup);
	unsigned long queued = on.ring->event.pending_irq.queued;
	bool due = head() - wakeup > rb->watermark;

	require(local_read(&rb->wakeup) == wakeup + due * rb->watermark,
		"wake-up is at %lu, head %lu, before %lu", local_read(&rb->wakeup), head(), wakeup);
	if (due)
		require(queued && on.ring->event.pending_wakeup &&
			atomic_read(&rb->poll) == (EPOLLIN | EPOLLRDNORM),
			"no wake-up was sent");
	else
		require(!queued, "%lu wake-ups too many", queued);
}

static void consume_all(void)
{
	on.ring->user->data_tail = on.ring->user->data_head;
}

/* What was lost is said, at last when there is room again. */
static void check_lost(const struct writer *const *writers, unsigned int nr,
		       const struct ring_records *records)
{
	static struct ring_records next;
	unsigned long lost = 0, begin, left = local_read(&on.ring->rb->lost);
	const struct ring_record *said, *record;

	for (unsigned int i = 0; i < nr; i++)
		lost += writers[i]->lost;
	require(on.ring->event.lost_samples.counter == lost, "%ld counted as lost, not %lu",
		on.ring->event.lost_samples.counter, lost);
	if (!on.scene->room_for_one && !on.scene->full && !on.scene->nested_full)
		require(!lost, "%lu lost where there is room", lost);
	if (on.scene->lost_pending)
		lost += PENDING_LOST;
	require(lost_said(records) + left == lost, "%llu said to be lost, %lu left, of %lu",
		lost_said(records), left, lost);
	if (on.scene->room_for_one || on.scene->full)
		require(left == lost && samples(records) == on.scene->room_for_one,
			"%u records taken where there is no room", samples(records));
	if (on.scene->nested_full)
		on.refused += left;
	if (!left)
		return;

	consume_all();
	begin = head();
	require(!ring_write(on.ring, 64, FIRST_NUMBER + 99), "no room in an empty ring");
	read_records(begin, &next);
	if (!require(next.nr == 2, "%zu records with the one that says what was lost", next.nr))
		return;
	/* It lies before the record, which in a backward ring is after it. */
	said = &next.record[is_backward()];
	record = &next.record[!is_backward()];
	require(said->type == PERF_RECORD_LOST && said->lost == left &&
		record->number == FIRST_NUMBER + 99 && !local_read(&on.ring->rb->lost),
		"no LOST record of %lu", left);
	check_idle();
}

static void check_run(void)
{
	static struct ring_records records;
	const struct writer *writers[MAX_INTERRUPTS + 2];
	unsigned long begin = local_read(&on.state.rb.head);
	unsigned int nr = 0, nr_lost = 0;

	writers[nr++] = &on.task;
	for (unsigned int i = 0; i < MAX_INTERRUPTS; i++)
		if (on.interrupt[i].ended)
			writers[nr++] = &on.interrupt[i];
	if (on.nmi.ended)
		writers[nr++] = &on.nmi;

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
	if (on.mode->flags & RING_SIZED)
		check_trailers(begin, &records);
	check_lost(writers, nr, &records);
}

/*
 * Running it
 */

static void set_scene(void)
{
	struct ring *ring = on.ring;
	unsigned long due;

	ring->rb->watermark = WATERMARK;
	due = head() - WATERMARK;
	if (on.scene->wakeup_due == 2)
		due += on.task.size;
	else if (!on.scene->wakeup_due)
		due += WATERMARK / 2;
	local_set(&ring->rb->wakeup, due);
	if (on.scene->lost_pending)
		local_set(&ring->rb->lost, PENDING_LOST);
	if (on.scene->room_for_one || on.scene->full) {
		unsigned long room = on.scene->full ? 8 : on.task.size + 8;

		ring->user->data_tail = is_backward() ? -(head() + room) : head() + room;
	}
	if (on.scene->nested_full)
		ring->rb->published = head() + on.task.size + 8 - ring->size;
	ring->event.pending_wakeup = 0;
	ring->event.pending_irq.queued = 0;
	atomic_set(&ring->rb->poll, 0);
}

static void prepare(void)
{
	stepped__restore(on.ring, &on.state);
	on.task.ended = on.nmi.ended = false;
	for (unsigned int i = 0; i < MAX_INTERRUPTS; i++)
		on.interrupt[i].ended = false;
	on.published = ring_head(on.ring);
	on.taken_up_again = false;
	on.i = on.j = 0;
}

/* What must be so between any two instructions. */
static void watch(void *unused, unsigned int i, const void *ip)
{
	u64 published = ring_head(on.ring);
	unsigned int nest = on.ring->rb->nest;

	require(published >= on.published && published <= head(),
		"data_head went from %llu to %llu, head %lu", on.published, published, head());
	if (!on.nest && nest && writer__has_room(&on.task))
		on.taken_up_again = true;
	on.published = published;
	on.nest = nest;
}

/* An interrupt publishes if nobody else will, and only then. */
static void check_published(u64 before, unsigned int nest)
{
	u64 now = ring_head(on.ring);

	if (nest)
		require(now == before, "data_head went from %llu to %llu in a nested writer",
			before, now);
	else
		require(now == head(), "data_head is %llu, head %lu", now, head());
	require(on.ring->rb->nest == nest, "nest went from %u to %u", nest, on.ring->rb->nest);
}

static void interrupt(struct writer *writer, struct writer *interrupted)
{
	unsigned int nest = on.ring->rb->nest;
	u64 published = ring_head(on.ring);

	writer__run(writer, interrupted);
	check_published(published, nest);
}

/* Between reading head, publishing, nest = 0 and comparing: where it was, seen from the result. */
static struct {
	bool		published, not_nested;
	const void	*ip;
} place;

static void interrupt_once(void *watched, unsigned int i, const void *ip)
{
	see(&seen, ip);
	place.published = writer__has_room(&on.task) && ring_head(on.ring) == head();
	place.not_nested = !on.ring->rb->nest;
	place.ip = ip;
	interrupt(&on.interrupt[0], &on.task);
	if (*(bool *)watched) {
		on.published = ring_head(on.ring);
		on.nest = on.ring->rb->nest;
		stepper__then_trace(&on.rest, watch, NULL);
	}
}

static void judge_place(void)
{
	if (!place.published)
		return;
	if (!on.taken_up_again)
		see(&seen_overlooked, place.ip);
	else if (place.not_nested)
		see(&seen_not_nested, place.ip);
	else
		see(&seen_published, place.ip);
}

static void interrupt_thrice(void *unused, unsigned int i, const void *ip)
{
	interrupt(&on.interrupt[0], &on.task);
	interrupt(&on.interrupt[1], &on.task);
	interrupt(&on.interrupt[2], &on.task);
}

static void interrupt_again(void *unused, unsigned int i, const void *ip)
{
	see(&seen, ip);
	interrupt(&on.interrupt[3], &on.task);
	if (place.published) {		/* it may have been between nest = 0 and nest = 1 */
		on.published = ring_head(on.ring);
		on.nest = on.ring->rb->nest;
		stepper__then_trace(NULL, watch, NULL);
	}
}

static void interrupt_before(void *unused, unsigned int i, const void *ip)
{
	interrupt(&on.interrupt[0], &on.task);
	stepper__then_stop(&on.rest, on.j, interrupt_again, NULL);
}

static void interrupt_by_nmi(void *unused, unsigned int i, const void *ip)
{
	see(&seen, ip);
	interrupt(&on.nmi, &on.interrupt[0]);
}

static void learn_path(void *path, unsigned int i, const void *ip)
{
	writer__begin(&on.interrupt[0], &on.task);
	stepper__trace(path, on.interrupt[0].fn, &on.interrupt[0], NULL, NULL);
	writer__end(&on.interrupt[0]);
}

static struct deciding current;

static void look(void *unused, unsigned int i, const void *ip)
{
	const struct perf_buffer *rb = on.ring->rb;

	current = (struct deciding){
		.nest = rb->nest,
		.lost = local_read(&rb->lost),
		.until_wakeup = head() - local_read(&rb->wakeup),
		.until_tail = head() - (is_backward() ? -1 : 1) * on.ring->user->data_tail,
		.not_published = head() - rb->published,
	};
}

static void run(unsigned int i, unsigned int j, stepper_at at, void *ctx)
{
	prepare();
	on.i = i;
	on.j = j;
	writer__begin(&on.task, NULL);
	require(stepper__stop(&on.path, i, on.task.fn, &on.task, at, ctx), "was not reached");
	writer__end(&on.task);
}

/* The way that an interrupt takes at boundary @i. */
static const struct stepper_path *interrupt_path(unsigned int i)
{
	struct known_path *known = on.paths;

	run(i, 0, look, NULL);
	for (unsigned int n = 0; n < on.nr_paths; n++, known++)
		if (!memcmp(&known->deciding, &current, sizeof(current)))
			return &known->path;
	if (on.nr_paths == MAX_PATHS)
		abort();
	on.nr_paths++;
	known->deciding = current;
	run(i, 0, learn_path, &known->path);
	return &known->path;
}

static void stop_interrupt(void *path, unsigned int i, const void *ip)
{
	unsigned int nest = on.ring->rb->nest;
	u64 published = ring_head(on.ring);

	writer__begin(&on.interrupt[0], &on.task);
	require(stepper__stop(path, on.j, on.interrupt[0].fn, &on.interrupt[0], interrupt_by_nmi,
			      NULL), "was not reached");
	writer__end(&on.interrupt[0]);
	check_published(published, nest);
}

static void try(unsigned int i, unsigned int j, stepper_at at, void *ctx)
{
	run(i, j, at, ctx);
	check_run();
}

static void run_all_at(unsigned int i)
{
	unsigned int stride = run_all_pairs || (on.scene->in_full && on.mode->in_full) ? 1 : STRIDE;
	bool watched = i % stride == 0;
	const struct stepper_path *path;

	try(i, 0, interrupt_once, &watched);
	on.runs[0]++;
	if (watched) {
		judge_place();
		for (unsigned int j = 1; j < on.rest.nr; j++, on.runs[1]++)
			try(i, j, interrupt_before, NULL);
	}
	try(i, 0, interrupt_thrice, NULL);
	on.runs[2]++;

	path = interrupt_path(i);
	for (unsigned int j = i % stride; j < path->nr; j += stride, on.runs[3]++)
		try(i, j, stop_interrupt, (void *)path);
}

static void test_nesting(void)
{
	unsigned int flags = on.mode->flags | on.scene->flags;

	on.ring = stepped__new_ring(flags);
	writer__init(&on.task, on.ring, TASK, FIRST_NUMBER);
	for (unsigned int i = 0; i < MAX_INTERRUPTS; i++)
		writer__init(&on.interrupt[i], on.ring, INTERRUPT, FIRST_NUMBER + 1 + i);
	writer__init(&on.nmi, on.ring, NMI, FIRST_NUMBER + 50);
	set_scene();
	stepped__save(on.ring, &on.state);
	on.nr_paths = 0;
	on.refused = 0;
	memset(on.runs, 0, sizeof(on.runs));

	prepare();
	on.nest = 0;
	writer__begin(&on.task, NULL);
	stepper__trace(&on.path, on.task.fn, &on.task, watch, NULL);
	writer__end(&on.task);
	check_run();
	EXPECT(on.path.nr < STEPPER_MAX);
	EXPECT(!on.taken_up_again);

	for (unsigned int i = 0; i < on.path.nr; i++)
		run_all_at(i);
	EXPECT(!on.refused == !on.scene->nested_full);
	stepped__restore(on.ring, &on.state);
	ring_delete(on.ring);
}

/* The places that matter were among them. */
static void test_places(void)
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

	printf("# interrupted before %u different instructions:", seen.nr);
	for (unsigned int i = 0; i < ARRAY_SIZE(functions); i++) {
		printf(" %s %u", functions[i].function, seen_in(&seen, functions[i].function));
		EXPECT(seen_in(&seen, functions[i].function) >= functions[i].at_least);
	}
	printf("\n# published: seen by the compare, with nest > 0 at %u, with nest = 0 at %u;"
	       " left to the interrupt at %u\n", seen_published.nr, seen_not_nested.nr,
	       seen_overlooked.nr);
	EXPECT(seen_in(&seen_published, "perf_output_end"));
	EXPECT(seen_in(&seen_not_nested, "perf_output_end"));
	EXPECT(seen_in(&seen_overlooked, "perf_output_end"));
}

int main(int argc, char **argv)
{
	const char *reason = stepper__init();
	char name[200];

	run_all_pairs = argc > 1 && !strcmp(argv[1], "--all");
	if (reason) {
		printf("1..0 # SKIP %s\n", reason);
		return 0;
	}
	for (on.mode = stepped_modes; on.mode < stepped_modes + STEPPED_NR_MODES; on.mode++) {
		for (on.scene = scenes; on.scene < scenes + ARRAY_SIZE(scenes); on.scene++) {
			if (is_streaming() ? on.scene->overwrite_only : on.scene->streaming_only)
				continue;
			snprintf(name, sizeof(name), "%s, %s", on.mode->name, on.scene->name);
			TAP_RUN(test_nesting, name);
			printf("# %u boundaries; runs: %lu with an interrupt, %lu with two, "
			       "%lu with three, %lu with an NMI in it\n", on.path.nr, on.runs[0],
			       on.runs[1], on.runs[2], on.runs[3]);
		}
	}
	TAP_RUN(test_places, "the places that matter");
	return tap_end();
}
