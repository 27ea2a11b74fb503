// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test snapshots of one ring: intact records, no gaps, each record once, exact counts of the rest
 * tags: fast parallel
 *
 * To simulate concurrent writers, the tests copy some bytes again after writing more records: a
 * slow copy reads each byte at some moment between its beginning and its end, and so does this one.
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

/* The fixture of most tests, set up by begin() */
static struct {
	enum perf_overwrite_kind kind;
	struct ring_writer	 writer;
	struct perf_overwrite	*ring;
	struct perf_snapshot	*snapshot;
	struct perf_snapshot_records records;
	u64			 first, last;
} on;

/* Stub: pretend that the kernel supports data_reserved. */
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

/* Return whether the snapshot has the records @first to @last, and counts @overwritten bytes. */
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
 * No concurrent writers
 */

static void test_empty(void)
{
	begin();
	take();
	check(reads_nothing(on.snapshot, 0), "an empty ring has no records");
	check(!perf_snapshot__read_event(on.snapshot), "an empty ring has no events");
	end();
}

static void test_part(void)
{
	begin();
	write_records(3, 40);
	take();
	check(reads(on.snapshot, 0, 2, 0), "all records of a ring that is not full");
	take();
	check(reads_nothing(on.snapshot, 0), "nothing new in a second snapshot");
	write_records(1, 48);
	take();
	check(reads(on.snapshot, 3, 3, 0), "new records in a third snapshot");
	end();
}

static void test_exact_fit(void)
{
	begin();
	write_records(128, 32);
	take();
	check(reads(on.snapshot, 0, 127, 0), "all records of a ring that is exactly full");
	end();

	begin();
	write_records(128, 32);
	write_records(1, 24);
	take();
	check(reads(on.snapshot, 1, 128, 32), "a truncated record is dropped and counted");
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
	check(reads(on.snapshot, 1, 1, 0), "a record almost as large as the ring");
	end();

	begin_at(65536, 65536 - 16);
	write_records(1, RECORD_MAX);
	take();
	check(reads(on.snapshot, 0, 0, 0), "the largest possible record");
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
	check(!event && nr == SIZE / 40, "events are read oldest first");
	check(size == (on.kind == PERF_OVERWRITE_SIZED ? 40 - TRAILER : 40),
	      "events have no trailer");
	check(!perf_snapshot__read_event(on.snapshot), "NULL after the last event");
	check(reads(on.snapshot, 300 - SIZE / 40, 299, (300 - SIZE / 40) * 40),
	      "all records at once after reading events");
	end();
}

/* The smallest records that a kernel writes, such as PERF_RECORD_SWITCH without a sample id */
static void test_header_only(void)
{
	static const u16 sizes[] = { 40, sizeof(struct perf_event_header), 40 };
	const size_t trailer_size = on.kind == PERF_OVERWRITE_SIZED ? TRAILER : 0;
	struct {
		struct perf_event_header header;
		struct perf_event_trailer trailer;
	} small = { .header = { .type = PERF_RECORD_SWITCH } };
	union perf_event *event;
	bool ok = true;
	size_t i;

	begin();
	write_records(1, 40 + trailer_size);
	small.header.size = small.trailer.size = sizeof(small.header) + trailer_size;
	small.trailer.offset_lo = ring_writer__reserve(&on.writer, small.header.size);
	ring_writer__put(&on.writer, small.trailer.offset_lo, small.header.size, 0, &small,
			 small.header.size);
	write_records(1, 40 + trailer_size);
	take();
	for (i = 0; i < 3; i++) {
		event = perf_snapshot__read_event(on.snapshot);
		ok &= event && event->header.size == sizes[i];
	}
	perf_snapshot__records(on.snapshot, &on.records);
	check(ok && on.records.nr == 3 && !on.records.malformed,
	      "a record that consists of its header");
	end();
}

/* Records cross the end of the ring, and the wrap of the position in trailers and data_head. */
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
			printf("# fails from position %#llx on\n", (unsigned long long)from[i]);
		end();
	}
	check(ok, "any first position");
}

/*
 * Repeated takes
 */

static void test_extended(void)
{
	begin();
	write_records(10, 40);
	take();
	write_records(20, 40);
	take();
	take();
	check(reads(on.snapshot, 0, 29, 0), "a take extends a snapshot that was not read");
	write_records(10, 40);
	take();
	check(reads(on.snapshot, 30, 39, 0), "a take restarts a snapshot that was read");

	write_records(70, 40);
	take();
	write_records(70, 40);
	take();
	check(reads(on.snapshot, 78, 179, 140 * 40 - 102 * 40),
	      "old records that no longer fit are counted");

	write_records(50, 40);
	take();
	write_records(200, 40);
	take();
	check(reads(on.snapshot, 430 - 102, 429, 250 * 40 - 102 * 40),
	      "all old records are counted if the ring wrapped");
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
	check(reads(on.snapshot, 7, 17, 3 * 40),
	      "records taken by another snapshot are counted if copied twice");
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
	check(ok, "two snapshots of one ring, in turn");

	write_records(3, 400);
	take_into(other);
	write_records(4, 400);
	take();
	write_records(5, 400);
	take_into(other);
	check(reads(other, 47, 51, 1200),
	      "old records that do not adjoin the new ones are counted");
	check(reads(on.snapshot, 43, 46, 0), "the other snapshot has the records in between");
	perf_snapshot__delete(other);
	end();
}

static void test_peek(void)
{
	struct perf_snapshot *peeked;

	begin();
	write_records(10, 400);
	take();
	check(reads(on.snapshot, 0, 9, 0), "records before the peek");
	write_records(12, 400);
	ring_writer__write(&on.writer, 400);	/* not yet published */
	peeked = perf_overwrite__peek(on.ring);
	check(peeked && reads(peeked, 13, 21, 3 * 400),
	      "a peek returns what was not taken, without what may be overwritten");
	perf_snapshot__delete(peeked);
	ring_writer__publish(&on.writer);
	take();
	check(reads(on.snapshot, 13, 22, 3 * 400), "a peek takes nothing");
	end();
}

/*
 * Concurrent writers
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
	check(reads(on.snapshot, 75, 199, 75 * 32),
	      "bytes that writers may have overwritten are discarded");
	end();

	begin();
	write_records(200, 32);
	settle_at(all + SIZE);
	check(reads_nothing(on.snapshot, all), "nothing is left if writers have wrapped");
	write_records(1, 32);
	settle_at(all + 32 + (1ULL << 40));
	check(reads_nothing(on.snapshot, 32), "nothing is left if writers have wrapped many times");
	settle_at(all);
	check(reads_nothing(on.snapshot, 0),
	      "nothing is left if the write limit is below the head");
	end();

	begin();
	write_records(10, 32);
	settle_at(10 * 32 + SIZE - 320);
	check(reads(on.snapshot, 0, 9, 0),
	      "writers do not reach records in a ring that is not full");
	write_records(100, 32);
	settle_at(110 * 32 + SIZE - 320);
	check(reads(on.snapshot, 100, 109, 100 * 32 - 320),
	      "records are discarded only as far as writers can reach");
	end();
}

static void test_overtaken_extended(void)
{
	begin();
	write_records(100, 32);
	take();
	write_records(20, 32);
	settle_at(120 * 32 + SIZE - 20 * 32);
	check(reads(on.snapshot, 0, 119, 0), "records held before are kept");

	write_records(10, 32);
	take();
	write_records(20, 32);
	settle_at(150 * 32 + SIZE - 19 * 32);
	check(reads(on.snapshot, 131, 149, 11 * 32),
	      "records held before that no longer adjoin are dropped");
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
	take();
	check(reads(on.snapshot, 210 - 128, 209, 82 * 32), "a second copy before settling");
	end();
}

/*
 * Corrupted rings
 */

/* Corrupt the second of five records: the three newest are left. */
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
	check_damaged(64 - TRAILER, &low, sizeof(low), "a wrong position in a trailer");
	check_damaged(64 - TRAILER + sizeof(low), &high, sizeof(high),
		      "a wrong high part of a position");
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
	      "invalid bytes in place of a truncated record are malformed");
	end();
}

/* Records are read in place, so they must be aligned to 8 bytes. */
static void test_misplaced(void)
{
	begin_at(SIZE, 4);
	write_records(20, 40);
	take();
	perf_snapshot__records(on.snapshot, &on.records);
	check(!on.records.nr && on.records.malformed && !perf_snapshot__read_event(on.snapshot),
	      "misaligned records are rejected");
	end();
}

/* Whatever the control page contains, all bytes are accounted for. */
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
	check(ok, "any value of data_head");
}

static bool is_refused(void *base, size_t size, enum perf_overwrite_kind kind, int expected)
{
	return !perf_overwrite__new(base, size, -1, kind) && errno == expected;
}

static void test_new(void)
{
	enum perf_overwrite_kind other = on.kind == PERF_OVERWRITE_SIZED ?
					 PERF_OVERWRITE_BACKWARD : PERF_OVERWRITE_SIZED;
	struct perf_overwrite huge = { .kind = on.kind, .size = 1UL << (8 * sizeof(long) - 2) };
	struct perf_event_attr attr = { 0 };
	struct perf_overwrite *ring;

	begin();
	ring = perf_overwrite__new(on.writer.page, SIZE, 17, on.kind);
	check(ring && ring->fd == 17 && ring->size == SIZE && !ring->taken &&
	      ring->has_data_reserved, "a reader of a new ring");
	perf_overwrite__delete(ring);
	check(is_refused(on.writer.page, 0, on.kind, EINVAL) &&
	      is_refused(on.writer.page, SIZE / 2, on.kind, EINVAL) &&
	      is_refused(on.writer.page, 3 * SIZE, on.kind, EINVAL),
	      "EINVAL if the size is invalid");
	check(is_refused(on.writer.page, SIZE, other, EOPNOTSUPP),
	      "EOPNOTSUPP for a ring of the other kind");
	if (on.kind == PERF_OVERWRITE_SIZED) {
		on.writer.page->cap_data_reserved = false;
		check(is_refused(on.writer.page, SIZE, on.kind, EOPNOTSUPP),
		      "EOPNOTSUPP for a ring without data_reserved");
	}
	end();

	check(!perf_snapshot__new(&huge) && errno == ENOMEM && !perf_overwrite__peek(&huge),
	      "ENOMEM if there is no memory for a snapshot");
	perf_overwrite__config(&attr, on.kind);
	check(perf_overwrite__is_configured(&attr), "an attribute configured for this kind");
	perf_overwrite__config(&attr, other);
	check(!attr.write_backward == !!(attr.sample_type & PERF_SAMPLE_SIZE_AT_END),
	      "an attribute reconfigured for the other kind");
}

/*
 * Random runs
 */

static size_t some(size_t below)
{
	return (size_t)random() % below;
}

static size_t some_size(size_t max_words)
{
	return RECORD_MIN + sizeof(u64) * some(max_words);
}

/* Copy some parts of the snapshot again, as a slow copy would have read them. */
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

/* Return the number of the first record that is not in the snapshot. */
static u64 take_while_written(struct perf_snapshot *snapshot, size_t max_words, bool reserved)
{
	u64 end;
	size_t n;

	/* An active writer: its record is stored, but not yet published. */
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
 * Take snapshots at random moments of a continuous writer: before, during and after a record that
 * is published late. Read each at once, or extend it by the next. All snapshots together must
 * contain each number once, except the records that were overwritten, whose bytes must be counted
 * exactly.
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
		/* If nothing was overwritten, the snapshot starts where the previous one ended. */
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
					 "random run, %zu bytes, records of up to %zu words%s",
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
	test_header_only();
	test_positions();
	test_extended();
	test_two();
	test_peek();
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
