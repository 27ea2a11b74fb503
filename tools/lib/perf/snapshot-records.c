// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <linux/perf_event.h>
#include <internal/snapshot-records.h>
#include <internal/trailer.h>

/* The kernel's are made of u64s. */
static bool is_record_size(size_t size, size_t least)
{
	return size >= least && size % sizeof(u64) == 0;
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

/* What the header at @data says, or 0 if there is no room for one, or it makes no sense. */
static size_t size_at(const void *data, size_t len)
{
	struct perf_event_header header;

	if (len < sizeof(header))
		return 0;
	memcpy(&header, data, sizeof(header));
	return is_record_size(header.size, sizeof(header)) ? header.size : 0;
}

/* Each record is reversed, then all: the records change places, their words do not. */
void perf_records__turn(void *data, size_t len, struct perf_walk *walk)
{
	size_t left = len, size;

	*walk = (struct perf_walk){ .newest = size_at(data, len) };
	while ((size = size_at(data + walk->bytes, left)) && size <= left) {
		reverse_words(data + walk->bytes, size);
		walk->bytes += size;
		walk->nr++;
		left -= size;
	}
	walk->cut = size > left;
	reverse_words(data, walk->bytes);
}

/*
 * Sized
 */

static bool is_at(const struct perf_event_trailer *trailer, u64 position)
{
	return is_record_size(trailer->size,
			      sizeof(struct perf_event_header) + sizeof(*trailer)) &&
	       perf_trailer__offset(trailer) ==
		       ((position - trailer->size) & PERF_TRAILER_OFFSET_MASK);
}

/* A record ends at @end that does not begin in the @len bytes before. */
static bool is_cut(const void *end, size_t len, u64 position)
{
	struct perf_event_trailer trailer;

	if (len < sizeof(trailer))
		return false;
	memcpy(&trailer, end - sizeof(trailer), sizeof(trailer));
	return trailer.size > len && is_at(&trailer, position);
}

static void walk_back(const void *end, size_t len, u64 position, struct perf_walk *walk)
{
	struct perf_event_trailer trailer;
	size_t left = len, size;

	while ((size = perf_trailer__read(end, left, &trailer)) && is_at(&trailer, position)) {
		if (!walk->nr++)
			walk->newest = size - sizeof(trailer);
		walk->bytes += size;
		end -= size;
		position -= size;
		left -= size;
	}
	walk->cut = is_cut(end, left, position);
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
