/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Check UTF-8 before it is written to formats that allow nothing else, such as JSON and XML.
 */
#ifndef PERF_UTF8_H
#define PERF_UTF8_H

#include <stddef.h>

/**
 * utf8__len - return the length of the sequence at @text, of which @size bytes can be read
 *
 * Return: 1 to 4, or 0 if the sequence is invalid: truncated, longer than necessary, a surrogate,
 * or beyond U+10FFFF.
 */
static inline size_t utf8__len(const char *text, size_t size)
{
	static const unsigned int min[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = (const unsigned char *)text;
	unsigned int code;
	size_t len, i;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc0 || s[0] >= 0xf8)
		return 0;
	len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (len > size)
		return 0;
	code = s[0] & (0xff >> (len + 1));
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < min[len] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return len;
}

#endif
