// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <linux/time64.h>
#include "util/utf8.h"
#include "json.h"

/* '<' is escaped as well: the text may be part of a script in a HTML page. */
void json__string(FILE *file, const char *text, size_t size)
{
	size_t len;

	putc('"', file);
	for (; size && *text; text += len, size -= len) {
		len = utf8__len(text, size);
		if (!len) {
			fputs("\\ufffd", file);
			len = 1;
		} else if (*text == '"' || *text == '\\') {
			fprintf(file, "\\%c", *text);
		} else if ((unsigned char)*text < ' ' || *text == '<' || *text == 0x7f) {
			fprintf(file, "\\u%04x", *text);
		} else {
			fwrite(text, 1, len, file);
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
