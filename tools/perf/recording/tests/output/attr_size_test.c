// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the published sizes of struct perf_event_attr: which size each field
 * needs, and what is copied from a record whose attribute has another size.
 *
 * tags: fast parallel
 * Prints KTAP. Needs no privilege, and of perf two headers only:
 *
 *   cc -Wall -Wextra -Werror -I tools/include/uapi -I tools/perf -I tools/lib \
 *      -o attr_size_test tools/perf/recording/tests/output/attr_size_test.c
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util/attr-size.h"
#include "perf/tests/tap.h"

/* The published sizes; the struct of the headers ends with one of them. */
static const size_t sizes[] = { 64, 72, 80, 96, 104, 112, 120, 128, 136, 144 };

static void check_size(const struct perf_event_attr *attr, size_t expected,
		       const char *what)
{
	size_t size = perf_event_attr__published_size(attr);
	char name[96];

	snprintf(name, sizeof(name), "%s needs %zu bytes", what, expected);
	check(size == expected, name);
	if (size != expected)
		printf("# got %zu bytes\n", size);
}

/* Set one field in an attribute that is otherwise zero. */
#define FIELD(_field, _value, _expected)				\
do {									\
	struct perf_event_attr attr = { ._field = (_value) };		\
									\
	check_size(&attr, _expected, #_field " = " #_value);		\
} while (0)

static void test_fields(void)
{
	/* Fields of all kernels since 2.6.31. */
	FIELD(type, 1, 64);
	FIELD(config, UINT64_MAX, 64);
	FIELD(sample_period, 4000, 64);
	FIELD(sample_type, UINT64_MAX, 64);
	FIELD(read_format, 1, 64);
	FIELD(disabled, 1, 64);
	FIELD(sigtrap, 1, 64);
	FIELD(wakeup_events, 1, 64);
	FIELD(bp_type, 1, 64);
	FIELD(bp_addr, 1, 64);
	FIELD(config1, 1ULL << 63, 64);

	/* Lowest and highest byte of the fields that each version has added. */
	FIELD(bp_len, 1, 72);
	FIELD(config2, 1ULL << 63, 72);
	FIELD(branch_sample_type, 1, 80);
	FIELD(branch_sample_type, 1ULL << 63, 80);
	FIELD(sample_regs_user, 1, 96);
	FIELD(sample_regs_user, 1ULL << 63, 96);
	FIELD(sample_stack_user, 1, 96);
	FIELD(clockid, 1, 96);
	FIELD(clockid, -1, 96);
	FIELD(sample_regs_intr, 1, 104);
	FIELD(sample_regs_intr, 1ULL << 63, 104);
	FIELD(aux_watermark, 1, 112);
	FIELD(sample_max_stack, 1, 112);
	FIELD(sample_max_stack, 0x8000, 112);
	FIELD(__reserved_2, 0x8000, 112);
	FIELD(aux_sample_size, 1, 120);
	FIELD(sig_data, 1, 128);
	FIELD(sig_data, 1ULL << 63, 128);
	FIELD(config3, 1, 136);
	FIELD(config3, 1ULL << 63, 136);
#ifdef PERF_ATTR_SIZE_VER9
	FIELD(config4, 1, 144);
	FIELD(config4, 1ULL << 63, 144);
#endif
}

static void test_whole(void)
{
	struct perf_event_attr attr = {};
	bool published = false;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		published |= sizes[i] == sizeof(attr);
	check(published, "the struct ends with a published size");

	check_size(&attr, 64, "a zero attribute");

	attr.size = sizeof(attr);
	check_size(&attr, 64, "a zero attribute whose size field is its full size");

	attr.size = UINT32_MAX;
	check_size(&attr, 64, "a zero attribute whose size field is out of range");

	memset(&attr, 0xff, sizeof(attr));
	check_size(&attr, sizeof(attr), "an attribute of ones");
}

/* Set each byte: the size must cover it, and the next smaller size must not. */
static void test_bytes(void)
{
	unsigned int bad = 0;
	size_t i, at;

	for (i = 0, at = 0; at < sizeof(struct perf_event_attr); at++) {
		struct perf_event_attr attr = {};

		((unsigned char *)&attr)[at] = 0x10;
		if (at == sizes[i])
			i++;
		if (perf_event_attr__published_size(&attr) != sizes[i]) {
			printf("# byte %zu: %zu instead of %zu\n", at,
			       perf_event_attr__published_size(&attr), sizes[i]);
			bad++;
		}
	}
	check(!bad, "each byte needs the smallest size that covers it");
}

static void test_resized(void)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr), .config = 7, .config3 = 11,
	};
	struct perf_event_attr resized = perf_event_attr__resized(&attr, 64);

	check(resized.size == 64 && attr.size == sizeof(attr),
	      "resizing changes the copy, not the attribute");
	resized.size = attr.size;
	check(!memcmp(&resized, &attr, sizeof(attr)),
	      "resizing changes nothing but the size");
}

static void test_copy(void)
{
	/* An attribute with ids behind it, as in PERF_RECORD_HEADER_ATTR. */
	union {
		struct perf_event_attr	attr;
		uint64_t		words[24];
	} record;
	struct perf_event_attr attr, expected;
	size_t size;
	unsigned int bad = 0;

	for (size = 64; size <= 160; size += 8) {
		size_t known = size < sizeof(attr) ? size : sizeof(attr);

		memset(&record, 0xee, sizeof(record));
		record.attr.size = size;
		memset(&expected, 0, sizeof(expected));
		memcpy(&expected, &record, known);
		expected.size = known;

		memset(&attr, 0x55, sizeof(attr));
		if (perf_event_attr__copy(&attr, &record.attr, size) ||
		    memcmp(&attr, &expected, sizeof(attr))) {
			printf("# wrong at size %zu\n", size);
			bad++;
		}
	}
	check(!bad, "attributes of 64 to 160 bytes are copied without the ids behind them");

	memset(&record, 0xee, sizeof(record));
	record.attr.size = 0;
	check(!perf_event_attr__copy(&attr, &record.attr, sizeof(record)) &&
	      attr.size == 0 && attr.config1 && !attr.config2,
	      "an attribute without a size has the first published one");

	memset(&attr, 0x55, sizeof(attr));
	expected = attr;
	record.attr.size = 72;
	check(perf_event_attr__copy(&attr, &record.attr, 71) == -EINVAL,
	      "a truncated attribute is refused");
	record.attr.size = UINT32_MAX;
	check(perf_event_attr__copy(&attr, &record.attr, sizeof(record)) == -EINVAL,
	      "an attribute larger than its record is refused");
	record.attr.size = 63;
	check(perf_event_attr__copy(&attr, &record.attr, sizeof(record)) == -EINVAL,
	      "an attribute smaller than the first published size is refused");
	record.attr.size = 0;
	check(perf_event_attr__copy(&attr, &record.attr, 63) == -EINVAL,
	      "a record too short for any attribute is refused");
	check(!memcmp(&attr, &expected, sizeof(attr)),
	      "a refused attribute leaves the destination unchanged");
}

int main(void)
{
	test_whole();
	test_fields();
	test_bytes();
	test_resized();
	test_copy();
	return tap_end();
}
