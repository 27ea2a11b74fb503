// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdint.h>
#include "util/json.h"
#include "util/utf8.h"

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

void json__key(struct json *json, const char *key)
{
	if (json->comma)
		putc(',', json->file);
	json->comma = true;
	if (!key)
		return;
	json__string(json->file, key, SIZE_MAX);
	putc(':', json->file);
}

void json__open(struct json *json, const char *key, char bracket)
{
	json__key(json, key);
	putc(bracket, json->file);
	json->comma = false;
}

void json__close(struct json *json, char bracket)
{
	putc(bracket, json->file);
	json->comma = true;
}

void json__number(struct json *json, const char *key, u64 number)
{
	json__key(json, key);
	fprintf(json->file, "%" PRIu64, number);
}

void json__text(struct json *json, const char *key, const char *text)
{
	json__bytes(json, key, text, SIZE_MAX);
}

void json__bytes(struct json *json, const char *key, const char *text, size_t size)
{
	json__key(json, key);
	json__string(json->file, text, size);
}
