/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write JSON to a file, as soon as each value is known.
 *
 * A key is NULL in a list, and for the outermost object. Errors are those of the file: ferror().
 */
#ifndef PERF_JSON_H
#define PERF_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <linux/types.h>

/**
 * struct json - what is being written
 * @file:	output; the caller's
 * @comma:	the open object or list has a value already
 */
struct json {
	FILE	*file;
	bool	 comma;
};

/**
 * json__open - begin an object or a list
 * @bracket:	'{' or '['
 */
void json__open(struct json *json, const char *key, char bracket);

/**
 * json__close - end the innermost object or list
 * @bracket:	'}' or ']'
 */
void json__close(struct json *json, char bracket);

/** json__key - write what precedes a value, which the caller writes to @json->file */
void json__key(struct json *json, const char *key);

void json__number(struct json *json, const char *key, u64 number);
void json__text(struct json *json, const char *key, const char *text);

/** json__bytes - write a text of at most @size bytes, which ends at a zero */
void json__bytes(struct json *json, const char *key, const char *text, size_t size);

/**
 * json__string - write a quoted string of at most @size bytes, which ends at a zero
 *
 * A byte that is not part of valid UTF-8 becomes U+FFFD. The string can stand in a script of a HTML
 * page: '<' is escaped.
 */
void json__string(FILE *file, const char *text, size_t size);

#endif
