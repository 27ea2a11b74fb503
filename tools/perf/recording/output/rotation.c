// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <linux/time64.h>
#include "util/debug.h"
#include "recording/lib/quantity.h"
#include "rotation.h"

int rotation__parse(struct rotation *rotation, const char *arg, u64 min_size)
{
	u64 ns;

	rotation->enabled = true;
	if (!strcmp(arg, "signal")) {
		rotation->on_signal = true;
		return 0;
	}
	rotation->size = quantity__parse_size(arg);
	if (rotation->size) {
		if (rotation->size < min_size)
			pr_warning("--switch-output=%s is less than the size of the rings (%" PRIu64
				   " kB): files will be larger. Try a smaller -m.\n",
				   arg, min_size >> 10);
		return 0;
	}
	ns = quantity__parse_time(arg);
	rotation->seconds = ns / NSEC_PER_SEC;
	if (rotation->seconds && !(ns % NSEC_PER_SEC))
		return 0;

	pr_err("Cannot parse --switch-output=%s: must be 'signal', a size with a unit (B, K, M, G) or "
	       "whole seconds with a unit (s, m, h, d). Example: --switch-output=100M\n", arg);
	return -EINVAL;
}
