// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <linux/time64.h>
#include "json.h"

/*
 * Return: the length of the UTF-8 sequence at @text, or 0 if it is invalid: truncated, longer than
 * necessary, a surrogate, or beyond U+10FFFF.
 */
static size_t utf8_len(const unsigned char *text, size_t size)
{
	static const unsigned int min[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int code;
	size_t len, i;

	if (text[0] < 0x80)
		return 1;
	if (text[0] < 0xc0 || text[0] >= 0xf8)
		return 0;
	len = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
	if (len > size)
		return 0;
	code = text[0] & (0xff >> (len + 1));
	for (i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < min[len] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return len;
}

/* '<' is escaped as well: the text may be part of a script in a HTML page. */
void json__string(FILE *file, const char *text, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t len;

	putc('"', file);
	for (; size && *s; s += len, size -= len) {
		len = utf8_len(s, size);
		if (!len) {
			fputs("\\ufffd", file);
			len = 1;
		} else if (*s == '"' || *s == '\\') {
			fprintf(file, "\\%c", *s);
		} else if (*s < ' ' || *s == '<' || *s == 0x7f) {
			fprintf(file, "\\u%04x", *s);
		} else {
			fwrite(s, 1, len, file);
		}
	}
	putc('"', file);
}

/* Write a time in us, with all digits of the ns. */
static void write_time(struct json_writer *json, u64 time)
{
	bool negative = time < json->base;
	u64 ns = negative ? json->base - time : time - json->base;

	fprintf(json->file, "%s%" PRIu64 ".%03" PRIu64, negative ? "-" : "", ns / NSEC_PER_USEC,
		(u64)(ns % NSEC_PER_USEC));
}

void json__begin(struct json_writer *json, char phase, struct json_track track, u64 time)
{
	fprintf(json->file, "%s\n{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d", json->nr_events++ ? "," : "",
		phase, track.pid, track.tid);
	if (phase != 'M') {
		fputs(",\"ts\":", json->file);
		write_time(json, time);
	}
}

void json__end(struct json_writer *json)
{
	fputs(json->in_args ? "}}" : "}", json->file);
	json->in_args = false;
	if (!json->err && ferror(json->file))
		json->err = errno ?: EIO;
}

static void begin_arg(struct json_writer *json, const char *key)
{
	fputs(json->in_args ? "," : ",\"args\":{", json->file);
	json__string(json->file, key, strlen(key));
	putc(':', json->file);
	json->in_args = true;
}

void json__word(struct json_writer *json, const char *key, const char *word)
{
	fprintf(json->file, ",\"%s\":\"%s\"", key, word);
}

void json__text(struct json_writer *json, const char *key, const char *text, size_t size)
{
	fprintf(json->file, ",\"%s\":", key);
	json__string(json->file, text, size);
}

void json__number(struct json_writer *json, const char *key, s64 number)
{
	fprintf(json->file, ",\"%s\":%" PRId64, key, number);
}

void json__arg_text(struct json_writer *json, const char *key, const char *text, size_t size)
{
	begin_arg(json, key);
	json__string(json->file, text, size);
}

/* Readers have 53 bits for a number. */
void json__arg_number(struct json_writer *json, const char *key, s64 number)
{
	bool exact = number < 1LL << 53 && number > -(1LL << 53);

	begin_arg(json, key);
	fprintf(json->file, exact ? "%" PRId64 : "\"0x%" PRIx64 "\"", number);
}

void json__arg_hex(struct json_writer *json, const char *key, u64 number)
{
	begin_arg(json, key);
	fprintf(json->file, "\"0x%" PRIx64 "\"", number);
}

void json__arg_list_begin(struct json_writer *json, const char *key)
{
	begin_arg(json, key);
	putc('[', json->file);
}

void json__arg_list_item(struct json_writer *json, const char *text, size_t size, bool first)
{
	if (!first)
		putc(',', json->file);
	json__string(json->file, text, size);
}

void json__arg_list_end(struct json_writer *json)
{
	putc(']', json->file);
}
