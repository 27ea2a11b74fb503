// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "util/units.h"
#include "quantity.h"

static struct parse_tag size_tags[] = { { 'G', 1 << 30 }, { 'M', 1 << 20 }, { 'K', 1 << 10 },
					{ 'B', 1 }, { 0, 0 } };

#define DIGITS	"0123456789"
#define MAX_NS	(1000ULL * 24 * 60 * 60 * NSEC_PER_SEC)

bool quantity__parse_number(const char *arg, unsigned long max, unsigned long *number)
{
	errno = 0;
	*number = strtoul(arg, NULL, 10);
	return *arg && strspn(arg, DIGITS) == strlen(arg) && !errno && *number <= max;
}

/* util ignores what follows the first unit: "1MB" would be a megabyte. */
static bool is_number_with_unit(const char *arg)
{
	size_t digits = strspn(arg, DIGITS);

	return digits && arg[digits] && !arg[digits + 1];
}

u64 quantity__parse_size(const char *arg)
{
	unsigned long value = is_number_with_unit(arg) ? parse_tag_value(arg, size_tags) : 0;

	return value == -1UL ? 0 : value;
}

static u64 find_unit(const char *unit, size_t len)
{
	static const struct {
		const char	*name;
		u64		 ns;
	} units[] = {
		{ "ns", 1 }, { "us", NSEC_PER_USEC }, { "ms", NSEC_PER_MSEC },
		{ "s", NSEC_PER_SEC }, { "m", 60 * NSEC_PER_SEC }, { "h", 60 * 60 * NSEC_PER_SEC },
		{ "d", 24 * 60 * 60 * NSEC_PER_SEC },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i].name) == len && !strncmp(unit, units[i].name, len))
			return units[i].ns;
	}
	return 0;
}

/* Return: the digits as a number of @unit_ns, or MAX_NS + 1 if that is more than MAX_NS. */
static u64 whole(const char *digits, size_t len, u64 unit_ns)
{
	u64 number = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		number = number * 10 + (digits[i] - '0');
		if (number > MAX_NS / unit_ns)
			return MAX_NS + 1;
	}
	return number * unit_ns;
}

static u64 fraction(const char *digits, size_t len, u64 unit_ns)
{
	u64 ns = 0;

	for (; len; digits++, len--) {
		unit_ns /= 10;
		ns += (*digits - '0') * unit_ns;
	}
	return ns;
}

const char *quantity__take_time(const char **text, u64 *ns)
{
	const char *begin = *text, *decimals, *unit;
	size_t len = strspn(begin, DIGITS), nr_decimals, unit_len;
	u64 unit_ns;

	if (!len)
		return "a time is missing: a number with the unit ns, us, ms, s, m, h or d";
	decimals = begin + len + (begin[len] == '.');
	nr_decimals = begin[len] == '.' ? strspn(decimals, DIGITS) : 0;
	unit = decimals + nr_decimals;
	unit_len = strspn(unit, "abcdefghijklmnopqrstuvwxyz");
	unit_ns = find_unit(unit, unit_len);
	if (!unit_ns) {
		*text = unit;
		return "the unit must be ns, us, ms, s, m, h or d. Example: 10ms";
	}
	*ns = whole(begin, len, unit_ns) + fraction(decimals, nr_decimals, unit_ns);
	if (!*ns)
		return "the time must not be 0";
	if (*ns > MAX_NS)
		return "the time is longer than 1000 days";
	*text = unit + unit_len;
	return NULL;
}

u64 quantity__parse_time(const char *arg)
{
	u64 ns;

	return !quantity__take_time(&arg, &ns) && !*arg ? ns : 0;
}
