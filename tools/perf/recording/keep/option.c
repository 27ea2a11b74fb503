// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "util/debug.h"
#include "util/util.h"
#include "recording/output/rotation.h"
#include "keep.h"

/* Return whether @part is a time or a size, which is then set. */
static bool parse_part(struct keep *keep, const char *part, bool *has_time)
{
	u64 seconds = rotation__parse_time(part), bytes = rotation__parse_size(part);

	if (seconds && seconds <= INT_MAX && !*has_time) {
		keep->max_ns = seconds * NSEC_PER_SEC;
		return *has_time = true;
	}
	if (!bytes || keep->max_bytes)
		return false;
	keep->max_bytes = bytes;
	return true;
}

static int parse(struct keep *keep, char *parts)
{
	bool has_time = false;
	char *part, *rest = NULL;

	keep->max_ns = keep->max_bytes = 0;
	for (part = strtok_r(parts, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
		if (!parse_part(keep, part, &has_time))
			return -EINVAL;
	}
	if (!has_time && !keep->max_bytes)
		keep->max_ns = KEEP_DEFAULT_NS;
	keep->max_bytes = keep->max_bytes ?: KEEP_DEFAULT_BYTES;
	return 0;
}

int keep__parse(struct keep *keep, const char *arg)
{
	char *parts = strdup(arg ?: "");
	int err = parts ? parse(keep, parts) : -ENOMEM;

	free(parts);
	if (err) {
		pr_err("--keep=%s: must be a time (s, m, h), a size (M, G), or both. Example: "
		       "--keep=60s,256M\n", arg);
		return -EINVAL;
	}
	if (keep->max_bytes >= KEEP_MIN_BYTES)
		return 0;
	pr_err("--keep=%s: the memory must be %lluM or more.\n", arg, KEEP_MIN_BYTES >> 20);
	return -EINVAL;
}
