// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <api/fs/fs.h>
#include <api/fs/tracing_path.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include "tracepoint.h"

/* A tp program does not see the common fields: their place has a pointer. */
#define COMMON_BYTES	8

/* Return: the text of a file of an event, to be freed; NULL if it cannot be read. */
static char *read_file(const struct when_tracepoint *tracepoint, const char *file)
{
	char name[300], *path, *text = NULL;
	size_t len;

	snprintf(name, sizeof(name), "%s/%s/%s", tracepoint->system, tracepoint->name, file);
	path = get_events_file(name);
	if (path)
		filename__read_str(path, &text, &len);
	put_events_file(path);
	return text;
}

/* Parse where a probe is: @text is followed by a blank, or ends there. */
static void parse_place(struct when_tracepoint *tracepoint, char *text, char separator)
{
	char *offset;

	text[strcspn(text, "\n ")] = '\0';
	offset = strrchr(text, separator);
	if (offset) {
		*offset = '\0';
		tracepoint->offset = strtoull(offset + 1, NULL, 0);
	}
	snprintf(tracepoint->place, sizeof(tracepoint->place), "%s", text);
}

/*
 * Look for an event in a list of probes, such as uprobe_events: "p:GROUP/NAME PATH:OFFSET".
 * @separator: before OFFSET. Return: 'p', 'r' for the return of a function, or 0.
 */
static char probe_type(struct when_tracepoint *tracepoint, const char *list, char separator)
{
	char *path = get_tracing_file(list), line[1024], event[300], type = '\0';
	FILE *input = path ? fopen(path, "re") : NULL;
	size_t len;

	put_tracing_file(path);
	if (!input)
		return '\0';
	len = snprintf(event, sizeof(event), ":%s/%s ", tracepoint->system, tracepoint->name);
	while (!type && fgets(line, sizeof(line), input)) {
		char *colon = strchr(line, ':');

		if (!colon || strncmp(colon, event, len))
			continue;
		type = line[0];
		parse_place(tracepoint, colon + len, separator);
	}
	fclose(input);
	return type;
}

static void find_kind(struct when_tracepoint *tracepoint)
{
	char type = probe_type(tracepoint, "uprobe_events", ':') ?:
		    probe_type(tracepoint, "kprobe_events", '+');

	if (type)
		tracepoint->kind = TRACEPOINT_PROBE;
	else if (!strcmp(tracepoint->system, "syscalls"))
		tracepoint->kind = TRACEPOINT_RECORD;
	tracepoint->is_return = type == 'r';
}

/*
 * Parse "	field:unsigned long sector;	offset:16;	size:8;	signed:0;". An array is no
 * number.
 */
static bool parse_field(const char *line, char *name, size_t name_size,
			struct duration_field *field)
{
	const char *text = strstr(line, "field:"), *end = text ? strchr(text, ';') : NULL, *begin;

	if (!end || memchr(text, '[', end - text) ||
	    sscanf(end, "; offset:%u; size:%u;", &field->offset, &field->size) != 2)
		return false;
	for (begin = end; begin > text && !strchr(" *:", begin[-1]);)
		begin--;
	snprintf(name, name_size, "%.*s", (int)(end - begin), begin);
	return true;
}

static bool is_number(const struct duration_field *field)
{
	return field->offset >= COMMON_BYTES && (field->size == 1 || field->size == 2 ||
						 field->size == 4 || field->size == 8);
}

int when_tracepoint__parse_format(struct when_tracepoint *tracepoint, const char *format,
				  const char *field, char *reason, size_t size)
{
	char name[64], fields[256] = "";
	struct duration_field found;
	size_t len = 0;
	const char *line;

	for (line = format; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strstarts(line, "\tfield:") ||
		    !parse_field(line, name, sizeof(name), &found) || !is_number(&found))
			continue;
		if (!strcmp(name, field)) {
			tracepoint->field = found;
			return 0;
		}
		len += scnprintf(fields + len, sizeof(fields) - len, "%s%s", len ? ", " : "", name);
	}
	snprintf(reason, size, "%s:%s has no field '%s' that is a number. It has: %s",
		 tracepoint->system, tracepoint->name, field, *fields ? fields : "none");
	return -EINVAL;
}

int when_tracepoint__find(struct when_tracepoint *tracepoint, const char *event, const char *field,
			  char *reason, size_t size)
{
	size_t len = strcspn(event, ":");
	char *text;
	int err;

	*tracepoint = (struct when_tracepoint){ .kind = TRACEPOINT_RAW };
	snprintf(tracepoint->system, sizeof(tracepoint->system), "%.*s", (int)len, event);
	snprintf(tracepoint->name, sizeof(tracepoint->name), "%s",
		 event[len] ? event + len + 1 : "");
	text = read_file(tracepoint, "id");
	if (!text) {
		snprintf(reason, size,
			 "cannot read the event %s in tracefs: perf list prints those that exist; "
			 "perf probe adds functions and USDT probes", event);
		return -EINVAL;
	}
	tracepoint->id = strtoul(text, NULL, 10);
	free(text);
	find_kind(tracepoint);
	if (!field)
		return 0;
	if (tracepoint->kind == TRACEPOINT_PROBE) {
		snprintf(reason, size,
			 "%s is a probe, whose fields cannot be used: leave out 'by %s'", event,
			 field);
		return -EINVAL;
	}
	text = read_file(tracepoint, "format");
	if (!text) {
		snprintf(reason, size, "cannot read the format of %s in tracefs", event);
		return -EINVAL;
	}
	err = when_tracepoint__parse_format(tracepoint, text, field, reason, size);
	free(text);
	return err;
}
