/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write trace events as JSON, one per line, as soon as they are known.
 */
#ifndef PERF_CHROME_TRACE_JSON_H
#define PERF_CHROME_TRACE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <linux/types.h>

/**
 * struct json_track - a row of the viewer
 * @pid:	group of rows
 * @tid:	row; no two groups have a row of the same number
 */
struct json_track {
	int	pid;
	int	tid;
};

/**
 * struct json_writer
 * @file:	output
 * @base:	what is subtracted from all times [ns]
 * @nr_events:	number of events that were begun
 * @in_args:	the arguments of the current event have begun
 * @err:	errno of the first write that failed
 */
struct json_writer {
	FILE	*file;
	u64	 base;
	u64	 nr_events;
	bool	 in_args;
	int	 err;
};

/**
 * json__begin - begin an event
 * @phase:	type of the event: B, E, i, s, t, f or M
 * @time:	in ns; not used by M
 */
void json__begin(struct json_writer *json, char phase, struct json_track track, u64 time);
void json__end(struct json_writer *json);

/* Add a member to the current event. Keys and words are written as they are, texts are escaped. */
void json__word(struct json_writer *json, const char *key, const char *word);
void json__text(struct json_writer *json, const char *key, const char *text, size_t size);
void json__number(struct json_writer *json, const char *key, s64 number);

/* Add an argument to the current event: after all of its members. */
void json__arg_text(struct json_writer *json, const char *key, const char *text, size_t size);
void json__arg_number(struct json_writer *json, const char *key, s64 number);
void json__arg_hex(struct json_writer *json, const char *key, u64 number);

/* Add an argument that is a list: begin, any number of items, end. */
void json__arg_list_begin(struct json_writer *json, const char *key);
void json__arg_list_item(struct json_writer *json, const char *text, size_t size, bool first);
void json__arg_list_end(struct json_writer *json);

/* Write a quoted string of at most @size bytes, which ends at a zero. */
void json__string(FILE *file, const char *text, size_t size);

#endif
