// SPDX-License-Identifier: GPL-2.0-only
/*
 * Snapshots of one ring: whole records, newest without a hole, each once, the rest counted
 * tags: fast
 *
 * A copy is made to see writers at work by taking bytes of it again after they went on: a copy that
 * takes time sees each byte as it was at some moment between its begin and its end, and so do
 * these.
 *
 * Prints KTAP. The seed is fixed; SHADOW_TEST_SEED=n tries another one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event_trailer.h>
#include <internal/overwrite.h>
#include <internal/snapshot.h>
#include <perf/event.h>

#include "ring_writer.h"
#include "tap.h"

#define SIZE	4096
#define TRAILER	sizeof(struct perf_event_trailer)

/* What most tests need, made anew for each. */
static struct {
	enum perf_overwrite_kind kind;
	struct ring_writer	 writer;
	struct perf_overwrite	*ring;
	struct perf_snapshot	*snapshot;
	struct perf_snapshot_records records;
	u64			 first, last;
} on;

/* No kernel here is ours. */
int perf_overwrite__probe(void)
{
	return PERF_OVERWRITE_SIZED;
}

static void begin_at(size_t size, u64 position)
{
	ring_writer__init(&on.writer, on.kind, size, position);
	on.ring = ring_writer__reader(&on.writer);
	on.snapshot = perf_snapshot__new(on.ring);
	if (!on.snapshot)
		abort();
}

static void begin(void)
{
	begin_at(SIZE, 0);
}

static void end(void)
{
	perf_snapshot__delete(on.snapshot);
	perf_overwrite__delete(on.ring);
	ring_writer__exit(&on.writer);
}

static void write_records(unsigned int nr, size_t size)
{
	while (nr--)
		ring_writer__write(&on.writer, size);
	ring_writer__publish(&on.writer);
}

static void take_into(struct perf_snapshot *snapshot)
{
	perf_snapshot__copy(snapshot);
	snapshot->write_limit = perf_overwrite__reserved(on.ring);
	perf_snapshot__settle(snapshot);
}

static void take(void)
{
	take_into(on.snapshot);
}

/* Whether the records @first to @last are there, and so many bytes were overwritten. */
static bool reads(struct perf_snapshot *snapshot, u64 first, u64 last, u64 overwritten)
{
	perf_snapshot__records(snapshot, &on.records);
	return records_are_numbered(&on.records, on.kind, &on.first, &on.last) &&
	       !on.records.malformed && on.records.overwritten == overwritten &&
	       on.records.nr == last - first + 1 && on.first == first && on.last == last;
}

static bool reads_nothing(struct perf_snapshot *snapshot, u64 overwritten)
{
	perf_snapshot__records(snapshot, &on.records);
	return !on.records.nr && !on.records.bytes && !on.records.newest &&
	       !on.records.malformed && on.records.overwritten == overwritten;
}

/*
 * Nobody writes meanwhile
 */

static void test_empty(void)
{
	begin();
	take();
	check(reads_nothing(on.snapshot, 0), "an empty ring gives nothing");
	check(!perf_snapshot__read_event(on.snapshot), "and no event");
	end();
}

static void test_part(void)
{
	begin();
	write_records(3, 40);
	take();
	check(reads(on.snapshot, 0, 2, 0), "a ring that is not full gives what there is");
	take();
	check(reads_nothing(on.snapshot, 0), "and nothing a second time");
	write_records(1, 48);
	take();
	check(reads(on.snapshot, 3, 3, 0), "but what is new");
	end();
}

static void test_exact_fit(void)
{
	begin();
	write_records(128, 32);
	take();
	check(reads(on.snapshot, 0, 127, 0), "a ring that is exactly full gives all of it");
	end();

	begin();
	write_records(128, 32);
	write_records(1, 24);
	take();
	check(reads(on.snapshot, 1, 128, 32), "what is cut off is left out, and counted");
	end();
}

static void test_whole_ring_record(void)
{
	begin();
	write_records(1, SIZE);
	take();
	check(reads(on.snapshot, 0, 0, 0), "a record as large as the ring");
	write_records(1, SIZE - 8);
	take();
	check(reads(on.snapshot, 1, 1, 0), "or almost");
	end();

	begin_at(65536, 65536 - 16);
	write_records(1, RECORD_MAX);
	take();
	check(reads(on.snapshot, 0, 0, 0), "the largest record there is");
	end();
}

static void test_events(void)
{
	union perf_event *event;
	u64 first, last;
	unsigned int nr = 0;
	size_t size = 0;

	begin();
	write_records(300, 40);
	take();
	while ((event = perf_snapshot__read_event(on.snapshot))) {
		const struct perf_snapshot_records one = {
			.data = event, .bytes = event->header.size, .nr = 1, .newest = event,
		};

		if (!records_are_numbered(&one, on.kind, &first, &last) ||
		    first != 300 - SIZE / 40 + nr)
			break;
		nr++;
		size = event->header.size;
	}
	check(!event && nr == SIZE / 40, "one by one, oldest first");
	check(size == (on.kind == PERF_OVERWRITE_SIZED ? 40 - TRAILER : 40), "without a trailer");
	check(!perf_snapshot__read_event(on.snapshot), "until there is none");
	check(reads(on.snapshot, 300 - SIZE / 40, 299, (300 - SIZE / 40) * 40),
	      "and all of them once more");
	end();
}

/* Records lie over the end of the ring, and over the places where a stamp or a position wraps. */
static void test_positions(void)
{
	static const u64 from[] = {
		8, 2048, SIZE - 8, 1ULL << 32, (1ULL << 48) - 24, (1ULL << 48) - 2000,
		(1ULL << 63) - 800, -8ULL, -1000ULL, -4096ULL,
	};
	bool ok = true;
	size_t i;

	for (i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		begin_at(SIZE, from[i]);
		write_records(1, 40);
		take();
		ok &= reads(on.snapshot, 0, 0, 0);
		write_records(50, 72);
		take();
		ok &= reads(on.snapshot, 1, 50, 0);
		write_records(151, 72);
		take();
		ok &= reads(on.snapshot, 51 + 151 - 56, 51 + 150, (151 - 56) * 72);
		if (!ok)
			printf("# begins at %#llx\n", (unsigned long long)from[i]);
		end();
	}
	check(ok, "begins anywhere");
}

/*
 * Taken more than once
 */

static void test_extended(void)
{
	begin();
	write_records(10, 40);
	take();
	write_records(20, 40);
	take();
	take();
	check(reads(on.snapshot, 0, 29, 0), "what is not read is extended");
	write_records(10, 40);
	take();
	check(reads(on.snapshot, 30, 39, 0), "what is read begins anew");

	write_records(70, 40);
	take();
	write_records(70, 40);
	take();
	check(reads(on.snapshot, 78, 179, 140 * 40 - 102 * 40),
	      "what no longer fits of the older part is counted");

	write_records(50, 40);
	take();
	write_records(200, 40);
	take();
	check(reads(on.snapshot, 430 - 102, 429, 250 * 40 - 102 * 40),
	      "all of it, if the ring went round");
	end();
}

static void test_two_copied_again(void)
{
	struct perf_snapshot *other;

	begin();
	other = perf_snapshot__new(on.ring);
	write_records(3, 40);
	take();
	write_records(4, 40);
	take_into(other);
	write_records(5, 40);
	perf_snapshot__copy(on.snapshot);
	write_records(6, 40);
	take();
	check(reads(on.snapshot, 7, 17, 3 * 40), "also if it is copied twice");
	perf_snapshot__delete(other);
	end();
}

static void test_two(void)
{
	struct perf_snapshot *other;
	bool ok = true;
	u64 n;

	begin();
	other = perf_snapshot__new(on.ring);
	for (n = 0; n < 40; n += 4) {
		write_records(2, 400);
		take();
		write_records(2, 400);
		take_into(other);
		ok &= reads(other, n + 2, n + 3, 0) && reads(on.snapshot, n, n + 1, 0);
	}
	check(ok, "two of one ring, in turn");

	write_records(3, 400);
	take_into(other);
	write_records(4, 400);
	take();
	write_records(5, 400);
	take_into(other);
	check(reads(other, 47, 51, 1200), "one that does not join what it held drops and counts");
	check(reads(on.snapshot, 43, 46, 0), "the other one has what is between");
	perf_snapshot__delete(other);
	end();
}

/*
 * Writers go on
 */

static void settle_at(u64 position)
{
	perf_snapshot__copy(on.snapshot);
	on.snapshot->write_limit = position;
	perf_snapshot__settle(on.snapshot);
}

static void test_overtaken(void)
{
	const u64 all = 200 * 32;

	begin();
	write_records(200, 32);
	settle_at(all + 80);
	check(reads(on.snapshot, 75, 199, 75 * 32), "what writers may have reached is given up");
	end();

	begin();
	write_records(200, 32);
	settle_at(all + SIZE);
	check(reads_nothing(on.snapshot, all), "writers that went round leave nothing");
	write_records(1, 32);
	settle_at(all + 32 + (1ULL << 40));
	check(reads_nothing(on.snapshot, 32), "nor do those that went round many times");
	settle_at(all);
	check(reads_nothing(on.snapshot, 0), "nor does an end before the head");
	end();

	begin();
	write_records(10, 32);
	settle_at(10 * 32 + SIZE - 320);
	check(reads(on.snapshot, 0, 9, 0), "there is room in front of a part of a ring");
	write_records(100, 32);
	settle_at(110 * 32 + SIZE - 320);
	check(reads(on.snapshot, 100, 109, 100 * 32 - 320), "as much as that");
	end();
}

static void test_overtaken_extended(void)
{
	begin();
	write_records(100, 32);
	take();
	write_records(20, 32);
	settle_at(120 * 32 + SIZE - 20 * 32);
	check(reads(on.snapshot, 0, 119, 0), "writers do not reach what was held before");

	write_records(10, 32);
	take();
	write_records(20, 32);
	settle_at(150 * 32 + SIZE - 19 * 32);
	check(reads(on.snapshot, 131, 149, 11 * 32), "what does not join any more is dropped");
	end();
}

static void test_copied_again(void)
{
	begin();
	write_records(100, 32);
	take();
	write_records(50, 32);
	perf_snapshot__copy(on.snapshot);
	write_records(60, 32);
	perf_snapshot__copy(on.snapshot);
	on.snapshot->write_limit = perf_overwrite__reserved(on.ring);
	perf_snapshot__settle(on.snapshot);
	check(reads(on.snapshot, 210 - 128, 209, 82 * 32), "a copy that is made again");
	end();
}

/*
 * Memory that somebody else has written to
 */

/* Five records, of which the second is damaged: the three newest are left. */
static void check_damaged(size_t offset, const void *src, size_t len, const char *what)
{
	u64 position;

	begin();
	write_records(1, 64);
	position = ring_writer__write(&on.writer, 64);
	write_records(3, 64);
	ring_writer__put(&on.writer, position, 64, offset, src, len);
	take();
	perf_snapshot__records(on.snapshot, &on.records);
	check(on.records.malformed == 128 && !on.records.overwritten &&
	      records_are_numbered(&on.records, on.kind, &on.first, &on.last) &&
	      on.first == 2 && on.last == 4, what);
	end();
}

static void check_damaged_size(u16 size)
{
	const size_t in_header = offsetof(struct perf_event_header, size);
	char what[64];

	snprintf(what, sizeof(what), "a size of %u in a header", size);
	check_damaged(in_header, &size, sizeof(size), what);
	if (on.kind != PERF_OVERWRITE_SIZED)
		return;
	snprintf(what, sizeof(what), "a size of %u in a trailer", size);
	check_damaged(64 - sizeof(size), &size, sizeof(size), what);
}

static void test_damaged(void)
{
	static const u16 sizes[] = { 0, 4, 7, 60, 68, 1000, 65535 };
	const u32 low = 72;
	const u16 high = 1;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		check_damaged_size(sizes[i]);
	if (on.kind != PERF_OVERWRITE_SIZED)
		return;
	check_damaged(64 - TRAILER, &low, sizeof(low), "a wrong position");
	check_damaged(64 - TRAILER + sizeof(low), &high, sizeof(high), "in its high part");
}

static void test_damaged_where_cut(u16 size)
{
	const struct perf_event_header header = { .size = size };
	const struct perf_event_trailer trailer = { .offset_lo = 1, .size = size };
	u64 position;

	begin();
	write_records(285, 72);
	position = (on.writer.reserved - SIZE) / 72 * 72;
	if (on.kind == PERF_OVERWRITE_SIZED)
		ring_writer__put(&on.writer, position, 72, 64, &trailer, sizeof(trailer));
	else
		ring_writer__put(&on.writer, position, 72, 0, &header, sizeof(header));
	take();
	perf_snapshot__records(on.snapshot, &on.records);
	check(records_are_numbered(&on.records, on.kind, &on.first, &on.last) &&
	      on.records.nr == 56 && on.records.malformed == 64 &&
	      on.records.overwritten == on.writer.reserved - SIZE,
	      "nonsense where a record is cut off is told from one");
	end();
}

/* Records are read in place, hence none where no u64 is. */
static void test_misplaced(void)
{
	begin_at(SIZE, 4);
	write_records(20, 40);
	take();
	perf_snapshot__records(on.snapshot, &on.records);
	check(!on.records.nr && on.records.malformed && !perf_snapshot__read_event(on.snapshot),
	      "records at odd places");
	end();
}

/* A control page that says anything gives records or nothing. */
static void test_head(void)
{
	static const u64 heads[] = { 1, 7, 100, SIZE + 4, 1ULL << 40, -1ULL, -100ULL, 1ULL << 63 };
	bool ok = true;
	size_t i;

	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		begin();
		write_records(90, 40);
		on.writer.page->data_head = heads[i];
		take();
		perf_snapshot__records(on.snapshot, &on.records);
		ok &= on.records.overwritten + on.records.malformed + on.records.bytes +
		      (on.kind == PERF_OVERWRITE_SIZED ? on.records.nr * TRAILER : 0) ==
		      perf_overwrite__head(on.ring);
		end();
	}
	check(ok, "any head");
}

static bool is_refused(void *base, size_t size, enum perf_overwrite_kind kind, int expected)
{
	return !perf_overwrite__new(base, size, -1, kind) && errno == expected;
}

static void test_new(void)
{
	enum perf_overwrite_kind other = on.kind == PERF_OVERWRITE_SIZED ?
					 PERF_OVERWRITE_BACKWARD : PERF_OVERWRITE_SIZED;
	struct perf_event_attr attr = { 0 };

	begin();
	check(is_refused(on.writer.page, 0, on.kind, EINVAL) &&
	      is_refused(on.writer.page, SIZE / 2, on.kind, EINVAL) &&
	      is_refused(on.writer.page, 3 * SIZE, on.kind, EINVAL), "no size of a ring");
	check(is_refused(on.writer.page, SIZE, other, EOPNOTSUPP), "a ring of the other kind");
	if (on.kind == PERF_OVERWRITE_SIZED) {
		on.writer.page->cap_data_reserved = false;
		check(is_refused(on.writer.page, SIZE, on.kind, EOPNOTSUPP),
		      "one of which it is not told how far it is reserved");
	}
	end();

	perf_overwrite__config(&attr, on.kind);
	check(perf_overwrite__is_configured(&attr), "an attribute asks for it");
	perf_overwrite__config(&attr, other);
	check(!attr.write_backward == !!(attr.sample_type & PERF_SAMPLE_SIZE_AT_END),
	      "and then for the other");
}

/*
 * All together
 */

static size_t some(size_t below)
{
	return (size_t)random() % below;
}

static size_t some_size(size_t max_words)
{
	return RECORD_MIN + sizeof(u64) * some(max_words);
}

/* Takes some stretches of the copy again: what a slow copy would have seen. */
static void copy_again(const struct perf_snapshot *snapshot)
{
	const size_t size = on.writer.size, len = snapshot->copy_head - snapshot->copy_low;
	size_t offset = perf_overwrite__offset(on.ring, snapshot->copy_low, snapshot->copy_head);
	unsigned char *shadow = snapshot->shadow;
	size_t times = some(4), from, to;

	while (times-- && len) {
		from = some(len);
		to = from + some(len - from) + 1;
		for (; from < to; from++)
			shadow[(offset + from) % size] = on.writer.data[(offset + from) % size];
	}
}

/* Returns the number of the first record that is not in it. */
static u64 take_while_written(struct perf_snapshot *snapshot, size_t max_words, bool reserved)
{
	u64 end;
	size_t n;

	/* A writer is under way: its bytes are there, data_head is not. */
	if (some(2))
		ring_writer__write(&on.writer, some_size(max_words));
	perf_snapshot__copy(snapshot);
	end = on.writer.next_published;
	for (n = some(8); n; n--) {
		ring_writer__write(&on.writer, some_size(max_words));
		copy_again(snapshot);
	}
	if (!reserved)
		ring_writer__publish(&on.writer);		/* the grace period */
	snapshot->write_limit = reserved ? perf_overwrite__reserved(on.ring) :
				   perf_overwrite__head(on.ring);
	perf_snapshot__settle(snapshot);
	return end;
}

/*
 * Snapshots at random moments of a writer that never stops, before, within and after a record that
 * is published late, each read at once or extended by the next. Taken together they must hold every
 * number once, but for what the ring could not hold, and that must be counted to the byte.
 */
static bool random_run(size_t size, size_t max_words, unsigned int rounds, bool reserved)
{
	u64 expected = 0, accounted, end_number;
	bool ok = true;

	begin_at(size, -(u64)some(2 * size) * sizeof(u64));
	accounted = on.ring->taken;
	while (rounds-- && ok) {
		size_t n;

		for (n = some(3 * size / (RECORD_MIN + max_words * 4)); n; n--)
			ring_writer__write(&on.writer, some_size(max_words));
		ring_writer__publish(&on.writer);
		end_number = take_while_written(on.snapshot, max_words, reserved);
		if (some(3))
			continue;

		perf_snapshot__records(on.snapshot, &on.records);
		accounted += on.records.overwritten + on.records.bytes;
		if (on.kind == PERF_OVERWRITE_SIZED)
			accounted += on.records.nr * TRAILER;
		ok = !on.records.malformed && accounted == on.ring->taken &&
		     records_are_numbered(&on.records, on.kind, &on.first, &on.last);
		if (ok && on.records.nr)
			ok = on.first >= expected && on.last == end_number - 1;
		/* Without a loss this snapshot starts where the previous one ended. */
		if (ok && !on.records.overwritten)
			ok = on.records.nr ? on.first == expected : end_number == expected;
		expected = end_number;
	}
	end();
	return ok;
}

static void test_random(void)
{
	static const size_t sizes[] = { 4096, 8192, 65536 };
	static const unsigned int rounds[] = { 2003, 1009, 101 };
	static const size_t words[] = { 2, 17, 500 };
	char what[96];
	size_t i, j;
	int reserved;

	for (i = 0; i < 3; i++) {
		for (j = 0; j < 3; j++) {
			for (reserved = on.kind == PERF_OVERWRITE_SIZED; reserved < 2; reserved++) {
				snprintf(what, sizeof(what),
					 "at random, %zu bytes, records of up to %zu words%s",
					 sizes[i], words[j], reserved ? "" : ", grace periods");
				check(random_run(sizes[i], words[j], rounds[i], reserved), what);
			}
		}
	}
}

static void test_kind(enum perf_overwrite_kind kind, const char *name)
{
	on.kind = kind;
	tap.context = name;
	test_empty();
	test_part();
	test_exact_fit();
	test_whole_ring_record();
	test_events();
	test_positions();
	test_extended();
	test_two();
	test_two_copied_again();
	test_overtaken();
	test_overtaken_extended();
	test_copied_again();
	test_damaged();
	test_damaged_where_cut(0);
	if (on.kind == PERF_OVERWRITE_SIZED)
		test_damaged_where_cut(72);
	test_misplaced();
	test_head();
	test_new();
	test_random();
}

int main(void)
{
	const char *seed = getenv("SHADOW_TEST_SEED");

	srandom(seed ? atoi(seed) : 1);
	test_kind(PERF_OVERWRITE_BACKWARD, "backward");
	test_kind(PERF_OVERWRITE_SIZED, "sized");
	return tap_end();
}
