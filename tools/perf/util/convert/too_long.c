// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "too_long.h"

#define MAX_TEXT	2048
#define DIGITS		6	/* of the fraction of a second */

/* Parse seconds with six digits of a fraction. Return: what follows, or NULL. */
static const char *parse_time(const char *text, u64 *ns)
{
	u64 us = 0;
	int i;

	for (i = 0; i < 12 && *text >= '0' && *text <= '9'; i++)
		us = us * 10 + *text++ - '0';
	if (!i || *text++ != '.')
		return NULL;
	for (i = 0; i < DIGITS; i++) {
		if (*text < '0' || *text > '9')
			return NULL;
		us = us * 10 + *text++ - '0';
	}
	*ns = us * NSEC_PER_USEC;
	return text;
}

/* Parse "; from SECONDS to SECONDS", where the text ends, or another part of it follows. */
static bool parse_span(struct too_long *too_long, const char *text)
{
	static const char to[] = " to ";

	text = parse_time(text + strlen("; from "), &too_long->begin);
	if (!text || strncmp(text, to, strlen(to)))
		return false;
	text = parse_time(text + strlen(to), &too_long->end);
	return text && (!*text || *text == ';') && too_long->begin < too_long->end;
}

/*
 * Names that tasks and cgroups choose precede the span: the last one in the text is that of perf.
 */
bool too_long__parse(struct too_long *too_long, const char *text, size_t size)
{
	char copy[MAX_TEXT];
	struct too_long span;
	const char *at;
	bool found = false;

	size = min(strnlen(text, size), sizeof(copy) - 1);
	memcpy(copy, text, size);
	copy[size] = '\0';
	for (at = copy; (at = strstr(at, "; from ")); at++) {
		if (!parse_span(&span, at))
			continue;
		span.len = at - copy;
		*too_long = span;
		found = true;
	}
	return found;
}

unsigned int too_long__choose_lane(struct too_long_lanes *lanes, struct too_long *too_long)
{
	unsigned int lane = 0;

	while (lane < TOO_LONG_LANES - 1 && too_long->begin < lanes->end[lane])
		lane++;
	too_long->begin = max(too_long->begin, lanes->end[lane]);
	too_long->end = max(too_long->begin, too_long->end);
	lanes->end[lane] = too_long->end;
	return lane;
}
