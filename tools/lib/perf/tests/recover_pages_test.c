// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test recovery from images whose pages are in any order, as in a dump of a machine's memory
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include <stdlib.h>
#include <linux/kernel.h>
#include <perf/event.h>

#include "image.h"
#include "tap.h"

#define PAGES	16
#define SIZE	(PAGES * IMAGE_PAGE)
#define ROUNDS	50

static struct ring_writer a, b;
static struct image image;
static struct recovered got[IMAGE_IDS];
static struct perf_recovery_stats stats;
static size_t sizes[ROUNDS];		/* minimum size of the records in each round [bytes] */

/* Stub: pretend that the kernel supports data_reserved. */
int perf_overwrite__probe(void)
{
	return PERF_OVERWRITE_SIZED;
}

static void begin(struct ring_writer *writer, u64 position, u64 id)
{
	ring_writer__init(writer, PERF_OVERWRITE_SIZED, SIZE, position);
	writer->id = id;
}

static void end(struct ring_writer *writer)
{
	ring_writer__exit(writer);
	image__exit(&image);
}

/*
 * Write records of @size to @size + @more bytes until at least @bytes are written. Return the
 * number of the oldest complete record.
 */
static u64 fill(struct ring_writer *writer, size_t size, size_t more, size_t bytes)
{
	static u64 positions[1 << 15];
	u64 from = writer->reserved, first = writer->next, i;

	while (writer->reserved - from < bytes) {
		size_t extra = random_number() % (more + 1) / 8 * 8;
		u64 position = ring_writer__write(writer, size + extra);

		positions[(writer->next - 1) % ARRAY_SIZE(positions)] = position;
	}
	for (i = first; writer->reserved - positions[i % ARRAY_SIZE(positions)] > SIZE; i++)
		;
	return i;
}

/*
 * Return whether all records were recovered, perhaps except the oldest: it may cross pages after an
 * overwritten record, or lie where the next record would be written.
 */
static bool is_all(const struct ring_writer *writer, u64 oldest, const struct recovered *of)
{
	return of->nr && of->first >= oldest && of->first <= oldest + 1 &&
	       of->last == writer->next - 1 && !of->holes;
}

static bool recovered(void)
{
	return image__recover(&image, got, &stats);
}

static void test_shuffled(void)
{
	bool ok = true;
	size_t i;

	for (i = 0; i < ROUNDS; i++) {
		size_t skip = i % 3 ? random_number() % 9000 : 0;
		u64 oldest;

		begin(&a, i % 2 ? 0 : (1ull << 48) - SIZE, 1);
		oldest = fill(&a, sizes[i], 40, 3 * SIZE + random_number() % SIZE);
		image__append_random(&image, skip);
		image__append_ring(&image, &a);
		image__append_random(&image, 20 * IMAGE_PAGE);
		image__shuffle(&image, skip);
		ok &= recovered() && is_all(&a, oldest, got) && stats.rings == 1 && !stats.gaps;
		end(&a);
	}
	check(ok, "all records of pages in any order, at any alignment");
}

static void test_two_rings(void)
{
	bool ok = true;
	size_t i;

	for (i = 0; i < ROUNDS; i++) {
		u64 in_a, in_b;

		begin(&a, 0, 1);
		begin(&b, 0, 2);
		/* Records of equal sizes cross pages at the same positions in both rings. */
		in_a = fill(&a, sizes[i], 0, 3 * SIZE);
		in_b = fill(&b, sizes[i], 0, 3 * SIZE + i % 2 * SIZE / 2);
		image__append_ring(&image, &a);
		image__append_ring(&image, &b);
		image__shuffle(&image, 0);
		ok &= recovered() && is_all(&a, in_a, &got[0]) && is_all(&b, in_b, &got[1]) &&
		      stats.rings == 2;
		end(&a);
		end(&b);
	}
	check(ok, "two rings at the same positions with their pages mixed");
}

/*
 * Half of the pages of each ring are missing: where a record of one ring continues, the image has
 * the page of the other ring.
 */
static void test_halves(void)
{
	bool ok = true;
	size_t i, n;

	for (i = 0; i < ROUNDS; i++) {
		u64 crossing = 0, position, nr = 0;

		begin(&a, 0, 1);
		begin(&b, 0, 2);
		fill(&a, sizes[i], 0, SIZE / 2);
		fill(&b, sizes[i], 0, SIZE / 2);
		for (n = 0; n < PAGES / 2; n++)
			image__append(&image, (n % 2 ? a : b).data + n * IMAGE_PAGE, IMAGE_PAGE);
		for (position = 0; position < SIZE / 2 - sizes[i]; position += sizes[i], nr++)
			crossing += position % IMAGE_PAGE + sizes[i] > IMAGE_PAGE;
		ok &= recovered() && got[0].nr + got[1].nr <= nr - crossing + 1 &&
		      got[0].nr + got[1].nr >= nr - crossing - 1;
		end(&a);
		end(&b);
	}
	check(ok, "nothing is joined of two rings, though the positions fit and the pages follow");
}

static void test_copies(void)
{
	bool ok = true;
	size_t i;

	for (i = 0; i < ROUNDS; i++) {
		u64 oldest;

		begin(&a, 0, 1);
		oldest = fill(&a, sizes[i], 40, 3 * SIZE);
		image__append_ring(&image, &a);
		fill(&a, sizes[i], 40, SIZE / 2);
		image__append_ring(&image, &a);
		image__append_ring(&image, &a);
		image__shuffle(&image, 0);
		ok &= recovered() && got[0].last == a.next - 1 && got[0].first <= oldest + 1 &&
		      got[0].holes <= 1 && stats.copies > got[0].nr / 2;
		end(&a);
	}
	check(ok, "two copies of a ring and an older one: each record once");
}

/*
 * An older copy of the ring ends before a record that crosses pages; in its place the copy has an
 * older record of the same size.
 */
static void test_stale(void)
{
	struct image old = { 0 };
	u64 position, oldest;
	bool ok;

	begin(&a, 0, 1);
	for (oldest = 0; a.reserved % IMAGE_PAGE != IMAGE_PAGE - 40;)
		ring_writer__write(&a, 88);
	/* Fill the ring until the next record has the same place; one record fits the rest. */
	position = ring_writer__write(&a, 88);
	while (a.reserved != position + SIZE - 4000)
		ring_writer__write(&a, a.reserved + 88 > position + SIZE - 4000 - 32 ?
				       position + SIZE - 4000 - a.reserved : 88);
	ring_writer__write(&a, 4000);
	image__append_ring(&old, &a);
	oldest = a.next;
	ring_writer__write(&a, 88);
	while (a.reserved % IMAGE_PAGE < 1000)
		ring_writer__write(&a, 88);

	image__append_ring(&image, &a);
	image__append(&image, old.data, old.size);
	image__shuffle(&image, 0);
	ok = recovered() && stats.doubtful >= 1 && got[0].last == a.next - 1;
	check(ok && got[0].holes >= 1, "a record with two different first halves is not returned");

	image__exit(&image);
	image__append_ring(&image, &a);
	image__shuffle(&image, 0);
	check(recovered() && !got[0].holes && got[0].last == a.next - 1 && got[0].first < oldest,
	      "a record with one first half is joined");
	image__exit(&old);
	end(&a);
}

/*
 * The second half of a record lies behind its first half, in a newer copy of that page: newer
 * records replaced its beginning, and not yet its trailer.
 */
static void test_overwritten(void)
{
	bool ok = true;
	size_t i;

	for (i = 0; i < 10; i++) {
		struct image old = { 0 };

		begin(&a, 0, 1);
		fill(&a, 120, 0, IMAGE_PAGE / 2);
		ring_writer__write(&a, IMAGE_PAGE);
		fill(&a, 120, 0, IMAGE_PAGE / 2);
		image__append(&old, a.data, IMAGE_PAGE);
		fill(&a, 120, 0, SIZE - a.reserved + IMAGE_PAGE + 120 * i);
		image__append(&image, old.data, IMAGE_PAGE);
		image__append(&image, a.data + IMAGE_PAGE, IMAGE_PAGE);
		ok &= recovered() && got[0].nr == 34 && stats.doubtful == 1;
		image__exit(&old);
		end(&a);
	}
	check(ok, "a record whose second half was overwritten in part is not returned");
}

/*
 * The newest record has its halves in pages that lie apart, and a writer has stored only the header
 * of the next one, over a record of the same size.
 */
static void test_unfinished(void)
{
	bool ok = true;
	size_t i;

	for (i = 0; i < PAGES - 1; i++) {
		u64 position, number[2] = { 0, 1 };
		size_t page;

		begin(&a, 64, 1);
		fill(&a, 128, 0, SIZE + (i + 1) * IMAGE_PAGE);
		position = ring_writer__reserve(&a, 128);
		ring_writer__put(&a, position, 128, 8, number, sizeof(number));
		for (page = PAGES; page--;)
			image__append(&image, a.data + page * IMAGE_PAGE, IMAGE_PAGE);
		ok &= recovered() && got[0].last == a.next - 1 && got[0].nr == SIZE / 128 - 1 &&
		      !got[0].holes;
		end(&a);
	}
	check(ok, "a record is not returned if its header may have been replaced");
}

/* The record that begins @first bytes before the end of page 0 has the id @id. */
static void write_crossing(size_t first, u64 id)
{
	size_t size = first == 40 ? 104 : 120;

	begin(&a, 0, 1);
	fill(&a, size, 0, IMAGE_PAGE - first);
	a.id = id;
	ring_writer__write(&a, 88);
	a.id = 1;
	fill(&a, size, 0, IMAGE_PAGE / 2);
}

/* The pages are apart, and the id of the record between them is in its first or second half. */
static void test_wrong_id(void)
{
	static const size_t first[] = { 16, 40 };
	static const u64 ids[] = { 2, 77 };
	bool whole = true, wrong = true;
	size_t i, j, cut;

	for (i = 0; i < ARRAY_SIZE(first); i++) {
		for (cut = 0; cut <= 8; cut += 8) {
			write_crossing(first[i], 1);
			image__append(&image, a.data + IMAGE_PAGE, IMAGE_PAGE);
			image__append(&image, a.data, IMAGE_PAGE - cut);
			whole &= recovered() && got[0].nr == a.next - !!cut && !stats.doubtful;
			end(&a);
		}
		for (j = 0; j < ARRAY_SIZE(ids); j++) {
			write_crossing(first[i], ids[j]);
			image__append(&image, a.data + IMAGE_PAGE, IMAGE_PAGE);
			image__append(&image, a.data, IMAGE_PAGE);
			wrong &= recovered() && got[0].nr == a.next - 1 && got[0].holes == 1 &&
				 !got[1].nr && stats.doubtful == 1;
			end(&a);
		}
	}
	check(whole, "a record is joined if the image has all of its first half");
	check(wrong, "a record with the id of another ring is not joined");
}

/* Nothing precedes the first record of the image, which is alone in its page. */
static void test_single(void)
{
	begin(&a, 0, 1);
	ring_writer__write(&a, 3000);
	ring_writer__write(&a, 3000);
	ring_writer__write(&a, 2 * IMAGE_PAGE - 6000);
	image__append(&image, a.data, 2 * IMAGE_PAGE);
	check(recovered() && got[0].nr == 3 && !stats.doubtful,
	      "a single record is confirmed by the one behind it");
	end(&a);
}

/* Two copies of a page: one has the records up to the middle, the other one those behind it. */
static void test_partial_copies(void)
{
	static const unsigned char zeros[IMAGE_PAGE / 2];

	begin(&a, 0, 1);
	fill(&a, 64, 0, IMAGE_PAGE);
	image__append(&image, a.data, IMAGE_PAGE / 2);
	image__append(&image, zeros, sizeof(zeros));
	image__append(&image, zeros, sizeof(zeros));
	image__append(&image, a.data + IMAGE_PAGE / 2, IMAGE_PAGE / 2);
	check(recovered() && got[0].nr == a.next && !stats.gaps && stats.rings == 1,
	      "records that follow each other in two copies of a page");
	end(&a);
}

int main(void)
{
	size_t i;

	random_seed(1);
	for (i = 0; i < ROUNDS; i++)
		sizes[i] = 32 + (i * 40 + random_number() % 32 * 8) % 1200;
	test_shuffled();
	test_two_rings();
	test_halves();
	test_copies();
	test_stale();
	test_overwritten();
	test_unfinished();
	test_wrong_id();
	test_single();
	test_partial_copies();
	return tap_end();
}
