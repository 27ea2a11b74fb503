// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "util/utf8.h"
#include "proto.h"

#define MAX_VARINT	10		/* bytes of 64 bits, 7 in each */

enum wire { WIRE_VARINT = 0, WIRE_BYTES = 2 };

void proto__exit(struct proto *proto)
{
	zfree(&proto->data);
	proto->len = proto->size = 0;
}

/* Return: whether @len more bytes can be written. */
static bool reserve(struct proto *proto, size_t len)
{
	size_t size = max_t(size_t, proto->size * 2, proto->len + len + 256);
	unsigned char *data;

	if (proto->failed)
		return false;
	if (proto->len + len <= proto->size)
		return true;
	data = realloc(proto->data, size);
	if (!data) {
		proto->failed = true;
		return false;
	}
	proto->data = data;
	proto->size = size;
	return true;
}

static size_t encode(unsigned char *to, u64 number)
{
	size_t len = 0;

	for (; number >= 0x80; number >>= 7)
		to[len++] = number | 0x80;
	to[len++] = number;
	return len;
}

static void write_tag(struct proto *proto, unsigned int field, enum wire wire)
{
	proto->len += encode(proto->data + proto->len, (u64)field << 3 | wire);
}

void proto__number(struct proto *proto, unsigned int field, u64 number)
{
	if (!reserve(proto, 2 * MAX_VARINT))
		return;
	write_tag(proto, field, WIRE_VARINT);
	proto->len += encode(proto->data + proto->len, number);
}

void proto__bytes(struct proto *proto, unsigned int field, const void *bytes, size_t len)
{
	if (!reserve(proto, 2 * MAX_VARINT + len))
		return;
	write_tag(proto, field, WIRE_BYTES);
	proto->len += encode(proto->data + proto->len, len);
	memcpy(proto->data + proto->len, bytes, len);
	proto->len += len;
}

void proto__text(struct proto *proto, unsigned int field, const char *text, size_t size)
{
	size_t begin = proto__begin(proto, field), len;

	for (; size && *text && reserve(proto, 4); text += len, size -= len) {
		len = utf8__len(text, size);
		if (len) {
			memcpy(proto->data + proto->len, text, len);
			proto->len += len;
		} else {
			memcpy(proto->data + proto->len, "\xef\xbf\xbd", 3);
			proto->len += 3;
			len = 1;
		}
	}
	proto__end(proto, begin);
}

void proto__hex(struct proto *proto, unsigned int field, const unsigned char *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	size_t begin = proto__begin(proto, field), i;

	if (reserve(proto, 2 * len)) {
		for (i = 0; i < len; i++) {
			proto->data[proto->len++] = digits[bytes[i] >> 4];
			proto->data[proto->len++] = digits[bytes[i] & 15];
		}
	}
	proto__end(proto, begin);
}

void proto__append(struct proto *proto, const struct proto *fields)
{
	if (!reserve(proto, fields->len))
		return;
	memcpy(proto->data + proto->len, fields->data, fields->len);
	proto->len += fields->len;
}

/* One byte is left for the length. */
size_t proto__begin(struct proto *proto, unsigned int field)
{
	if (!reserve(proto, MAX_VARINT + 1))
		return 0;
	write_tag(proto, field, WIRE_BYTES);
	return ++proto->len;
}

void proto__end(struct proto *proto, size_t begin)
{
	unsigned char length[MAX_VARINT];
	size_t len = proto->len - begin, extra;

	if (!reserve(proto, MAX_VARINT))
		return;
	extra = encode(length, len) - 1;
	if (extra)
		memmove(proto->data + begin + extra, proto->data + begin, len);
	memcpy(proto->data + begin - 1, length, extra + 1);
	proto->len += extra;
}
