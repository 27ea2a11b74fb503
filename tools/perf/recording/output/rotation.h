/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decide when to switch to a new output file (--switch-output).
 */
#ifndef PERF_RECORDING_ROTATION_H
#define PERF_RECORDING_ROTATION_H

#include <stdbool.h>
#include <linux/types.h>

/**
 * struct rotation
 * @enabled:	--switch-output was given
 * @on_signal:	switch at SIGUSR2
 * @size:	switch when the file has this length [bytes], 0 for never
 * @seconds:	switch after this time [s], 0 for never
 */
struct rotation {
	bool		enabled;
	bool		on_signal;
	u64		size;
	unsigned long	seconds;
};

/**
 * rotation__parse - parse "signal", a size (10M) or a time (30s)
 * @min_size:	size of all rings: a file may grow by as much at once [bytes]
 *
 * Return: 0, or -EINVAL after an error message.
 */
int rotation__parse(struct rotation *rotation, const char *arg, u64 min_size);

#endif
