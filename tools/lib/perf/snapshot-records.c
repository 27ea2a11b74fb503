// SPDX-License-Identifier: GPL-2.0-only
/* Walk the records of a ring from newest to oldest, and put them in the order they were written. */
#include <string.h>
#include <linux/perf_event.h>
#include <internal/snapshot-records.h>
#include <internal/trailer.h>

/* Sizes of kernel records are multiples of 8. */
static bool is_record_size(size_t size, size_t min_bytes)
{
	return size >= min_bytes && size % sizeof(u64) == 0;
}

/*
 * Backward
 */

static u64 get_word(const void *at)
{
	u64 word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static void reverse_words(void *data, size_t bytes)
{
	void *low = data, *high = data + bytes;

	while (high - low >= (ptrdiff_t)(2 * sizeof(u64))) {
		u64 first = get_word(low), last = get_word(high -= sizeof(u64));

		memcpy(low, &last, sizeof(last));
		memcpy(high, &first, sizeof(first));
		low += sizeof(u64);
	}
}

/* Return the size in the header at @data, or 0 if @len is too short or the size is invalid. */
static size_t size_at(const void *data, size_t len)
{
	struct perf_event_header header;

	if (len < sizeof(header))
		return 0;
	memcpy(&header, data, sizeof(header));
	return is_record_size(header.size, sizeof(header)) ? header.size : 0;
}

/*
 * Reverse the words of each record, then the words of all records together: this reverses the
 * order of the records, and restores the order of the words in each.
 */
void perf_records__reverse(void *data, size_t len, struct perf_walk *walk)
{
	size_t left = len, size;

	*walk = (struct perf_walk){ .newest = size_at(data, len) };
	while ((size = size_at(data + walk->bytes, left)) && size <= left) {
		reverse_words(data + walk->bytes, size);
		walk->bytes += size;
		walk->nr++;
		left -= size;
	}
	walk->truncated = size > left;
	reverse_words(data, walk->bytes);
}

/*
 * Sized
 */

/* Return whether @trailer is valid for a record that ends at @position. */
static bool is_valid(const struct perf_event_trailer *trailer, u64 position)
{
	return is_record_size(trailer->size,
			      sizeof(struct perf_event_header) + sizeof(*trailer)) &&
	       perf_trailer__offset(trailer) ==
		       ((position - trailer->size) & PERF_TRAILER_OFFSET_MASK);
}

/* Return whether a record ends at @end that begins before the @len bytes that are left. */
static bool is_truncated(const void *end, size_t len, u64 position)
{
	struct perf_event_trailer trailer;

	if (len < sizeof(trailer))
		return false;
	memcpy(&trailer, end - sizeof(trailer), sizeof(trailer));
	return trailer.size > len && is_valid(&trailer, position);
}

static void walk_back(const void *end, size_t len, u64 position, struct perf_walk *walk)
{
	struct perf_event_trailer trailer;
	size_t left = len, size;

	while ((size = perf_trailer__read(end, left, &trailer)) && is_valid(&trailer, position)) {
		if (!walk->nr++)
			walk->newest = size - sizeof(trailer);
		walk->bytes += size;
		end -= size;
		position -= size;
		left -= size;
	}
	walk->truncated = is_truncated(end, left, position);
}

void *perf_records__strip(void *end, size_t len, u64 position, struct perf_walk *walk)
{
	void *begin, *from, *to;

	*walk = (struct perf_walk){ 0 };
	walk_back(end, len, position, walk);

	begin = from = to = end - walk->bytes;
	while (from < end) {
		struct perf_event_header header;
		size_t size;

		memcpy(&header, from, sizeof(header));
		size = header.size;
		header.size -= sizeof(struct perf_event_trailer);
		memmove(to, from, header.size);
		memcpy(to, &header, sizeof(header));
		from += size;
		to += header.size;
	}
	return begin;
}
