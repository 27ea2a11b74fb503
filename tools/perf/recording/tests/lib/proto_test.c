// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the encoder of protocol buffers, and the table that numbers values, both of --to-perfetto.
 *
 * tags: fast parallel
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/perfetto/intern.h"
#include "util/perfetto/proto.h"
#include "perf/tests/tap.h"

static void check_bytes(struct proto *proto, const char *expected, size_t len, const char *name)
{
	check(!proto->failed && proto->len == len && !memcmp(proto->data, expected, len), name);
	proto__exit(proto);
}

static void test_numbers(void)
{
	struct proto proto = { 0 };

	proto__number(&proto, 1, 0);
	proto__number(&proto, 1, 127);
	proto__number(&proto, 15, 300);
	proto__number(&proto, 16, 1);
	check_bytes(&proto, "\x08\x00\x08\x7f\x78\xac\x02\x80\x01\x01", 10,
		    "numbers and tags of one and two bytes");
	proto__number(&proto, 2, (s64)-1);
	check_bytes(&proto, "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11,
		    "a negative number has 10 bytes");
}

static void test_texts(void)
{
	struct proto proto = { 0 };

	proto__text(&proto, 1, "a\xff\xc3\xa4", SIZE_MAX);
	check_bytes(&proto, "\x0a\x06\x61\xef\xbf\xbd\xc3\xa4", 8,
		    "a byte that is no UTF-8 is replaced");
	proto__text(&proto, 1, "abc", 2);
	proto__text(&proto, 1, "", SIZE_MAX);
	check_bytes(&proto, "\x0a\x02\x61\x62\x0a\x00", 6, "a text ends at its size, or is empty");
}

static void test_hex(void)
{
	struct proto proto = { 0 };

	proto__hex(&proto, 3, (const unsigned char *)"\x00\x7f\xa9", 3);
	proto__hex(&proto, 3, NULL, 0);
	check_bytes(&proto, "\x1a\x06\x30\x30\x37\x66\x61\x39\x1a\x00", 10,
		    "bytes become hexadecimal digits");
}

/* A message of @len bytes inside two others, between two numbers */
static void test_nested(size_t len, const char *name)
{
	unsigned char length[3] = { len };
	size_t outer, inner, i, prefix = len < 128 ? 1 : len < 16384 ? 2 : 3;
	struct proto proto = { 0 };
	bool ok;

	for (i = 0; i + 1 < prefix; i++)
		length[i] = (len >> 7 * i & 0x7f) | 0x80;
	length[i] = len >> 7 * i;
	proto__number(&proto, 1, 1);
	outer = proto__begin(&proto, 2);
	inner = proto__begin(&proto, 3);
	for (i = 0; i < len / 2; i++)
		proto__number(&proto, 1, i & 0x7f);
	proto__end(&proto, inner);
	proto__end(&proto, outer);
	proto__number(&proto, 4, 4);
	/* 1: 1, tag and length of the outer one; tag and length of the inner one; its numbers */
	inner = proto.len - 2 - len;
	ok = !memcmp(proto.data + inner - prefix, length, prefix) &&
	     proto.data[inner - prefix - 1] == (3 << 3 | 2) && proto.data[2] == (2 << 3 | 2);
	for (i = 0; i < len / 2; i++)
		ok &= proto.data[inner + 2 * i] == 1 << 3 &&
		      proto.data[inner + 2 * i + 1] == (i & 0x7f);
	ok &= !memcmp(proto.data + proto.len - 2, "\x20\x04", 2);
	check(ok, name);
	proto__exit(&proto);
}

static void test_intern(void)
{
	struct intern intern = { 0 };
	bool is_new, ok = true;
	u64 id, i;

	for (i = 1; i <= 1009; i++)
		ok &= intern__id(&intern, 1, &i, sizeof(i), &is_new) == i && is_new;
	for (i = 1; i <= 1009; i++)
		ok &= intern__id(&intern, 1, &i, sizeof(i), &is_new) == i && !is_new;
	check(ok, "a value has the same number each time");
	i = 1;
	id = intern__id(&intern, 2, &i, sizeof(i), &is_new);
	check(id == 1010 && is_new, "values of another kind are others");
	id = intern__id(&intern, 2, "", 0, &is_new);
	check(id == 1011 && is_new && intern.bytes > 1010 * sizeof(i),
	      "an empty value has a number");
	intern__clear(&intern);
	id = intern__id(&intern, 1, &i, sizeof(i), &is_new);
	check(id == 1012 && is_new, "numbers are not used again after a table is cleared");
	intern__clear(&intern);
}

int main(void)
{
	test_numbers();
	test_texts();
	test_hex();
	test_nested(0, "an empty message");
	test_nested(126, "a message whose length has one byte");
	test_nested(128, "a message whose length has two bytes");
	test_nested(16384, "a message whose length has three bytes");
	test_intern();
	return tap_end();
}
