// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/time64.h>
#include "util/debug.h"
#include "util/util.h"
#include "recording/lib/quantity.h"
#include "keep.h"

/**
 * struct parts - what an argument says
 * @ns:		[ns], 0 if it names no time
 * @bytes:	[bytes], 0 if it names no size
 */
struct parts {
	u64	ns;
	u64	bytes;
};

/* Return whether @part is a time or a size, and the first one. */
static bool parse_part(struct parts *parts, const char *part)
{
	u64 ns = quantity__parse_time(part), bytes = quantity__parse_size(part);

	if (ns >= NSEC_PER_SEC && !parts->ns) {
		parts->ns = ns;
		return true;
	}
	if (!bytes || parts->bytes)
		return false;
	parts->bytes = bytes;
	return true;
}

static int parse(struct parts *parts, const char *arg)
{
	char *copy = strdup(arg ?: ""), *part, *rest = NULL;
	int err = copy ? 0 : -ENOMEM;

	*parts = (struct parts){ 0 };
	for (part = err ? NULL : strtok_r(copy, ",", &rest); part && !err;
	     part = strtok_r(NULL, ",", &rest))
		err = parse_part(parts, part) ? 0 : -EINVAL;
	free(copy);
	if (err)
		pr_err("--keep=%s: must be a time of 1s or more (s, m, h, d), a size (M, G), or both. Example: "
		       "--keep=60s,256M\n", arg);
	return err;
}

int keep__parse(struct keep *keep, const char *arg, const char *defaults)
{
	struct parts parts, config;

	if (parse(&parts, arg) || parse(&config, defaults))
		return -EINVAL;
	keep->max_ns = parts.ns ?: config.ns;
	keep->max_bytes = parts.bytes ?: config.bytes ?: KEEP_DEFAULT_BYTES;
	if (!keep->max_ns && !parts.bytes && !config.bytes)
		keep->max_ns = KEEP_DEFAULT_NS;
	if (keep->max_bytes >= KEEP_MIN_BYTES)
		return 0;
	pr_err("--keep=%s: the memory must be %lluM or more.\n", arg ?: defaults,
	       KEEP_MIN_BYTES >> 20);
	return -EINVAL;
}

int keep__set_file(struct keep *keep, const char *path)
{
	const char *dir = getenv("RUNTIME_DIRECTORY");
	char *file = NULL;

	keep->file = path;
	if (!path || !dir || path[0] == '/')
		return 0;
	if (asprintf(&file, "%s/%s", dir, path) < 0)
		return -ENOMEM;
	keep->file = file;		/* until the process ends */
	return 0;
}
