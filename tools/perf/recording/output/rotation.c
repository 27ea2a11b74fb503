// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include "util/debug.h"
#include "util/units.h"
#include "rotation.h"

static struct parse_tag size_tags[] = { { 'G', 1 << 30 }, { 'M', 1 << 20 }, { 'K', 1 << 10 },
					{ 'B', 1 }, { 0, 0 } };

static struct parse_tag time_tags[] = { { 'd', 24 * 60 * 60 }, { 'h', 60 * 60 }, { 'm', 60 },
					{ 's', 1 }, { 0, 0 } };

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

u64 rotation__parse_size(const char *arg)
{
	return parse_tagged(arg, size_tags);
}

u64 rotation__parse_time(const char *arg)
{
	return parse_tagged(arg, time_tags);
}

int rotation__parse(struct rotation *rotation, const char *arg, u64 min_size)
{
	rotation->enabled = true;
	if (!strcmp(arg, "signal")) {
		rotation->on_signal = true;
		return 0;
	}
	rotation->size = rotation__parse_size(arg);
	if (rotation->size) {
		if (rotation->size < min_size)
			pr_warning("--switch-output=%s is less than the size of the rings (%" PRIu64
				   " kB): files will be larger. Try a smaller -m.\n",
				   arg, min_size >> 10);
		return 0;
	}
	rotation->seconds = rotation__parse_time(arg);
	if (rotation->seconds && rotation->seconds <= INT_MAX)
		return 0;

	pr_err("Cannot parse --switch-output=%s: must be 'signal', a size with a unit (B, K, M, G) or "
	       "a time with a unit (s, m, h, d). Example: --switch-output=100M\n", arg);
	return -EINVAL;
}
