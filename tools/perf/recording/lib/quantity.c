// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "util/units.h"
#include "quantity.h"

static struct parse_tag size_tags[] = { { 'G', 1 << 30 }, { 'M', 1 << 20 }, { 'K', 1 << 10 },
					{ 'B', 1 }, { 0, 0 } };

static struct parse_tag time_tags[] = { { 'd', 24 * 60 * 60 }, { 'h', 60 * 60 }, { 'm', 60 },
					{ 's', 1 }, { 0, 0 } };

bool quantity__parse_number(const char *arg, unsigned long max, unsigned long *number)
{
	errno = 0;
	*number = strtoul(arg, NULL, 10);
	return *arg && strspn(arg, "0123456789") == strlen(arg) && !errno && *number <= max;
}

/* util ignores what follows the first unit: "1m30s" would be a minute. */
static bool is_number_with_unit(const char *arg)
{
	size_t digits = strspn(arg, "0123456789");

	return digits && arg[digits] && !arg[digits + 1];
}

/* Return the value, or 0 if @arg is invalid. */
static u64 parse_tagged(const char *arg, struct parse_tag *tags)
{
	unsigned long value = is_number_with_unit(arg) ? parse_tag_value(arg, tags) : 0;

	return value == -1UL ? 0 : value;
}

u64 quantity__parse_size(const char *arg)
{
	return parse_tagged(arg, size_tags);
}

u64 quantity__parse_seconds(const char *arg)
{
	u64 seconds = parse_tagged(arg, time_tags);

	return seconds <= INT_MAX ? seconds : 0;
}
