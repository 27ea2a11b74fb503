/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When the output goes on in a new file, and how many closed ones are kept (--switch-output).
 */
#ifndef PERF_RECORDING_ROTATION_H
#define PERF_RECORDING_ROTATION_H

#include <stdbool.h>
#include <linux/types.h>

/**
 * struct rotation
 * @enabled:	--switch-output was given
 * @on_signal:	at SIGUSR2
 * @size:	when the file has this length [bytes], 0 for never
 * @seconds:	after this time [s], 0 for never
 * @max_files:	how many closed files are kept; 0 keeps all
 * @names:	the closed files, @max_files slots used in turn; owned
 * @next:	slot of the next one
 */
struct rotation {
	bool		  enabled;
	bool		  on_signal;
	u64		  size;
	unsigned long	  seconds;
	int		  max_files;
	char		**names;
	int		  next;
};

/**
 * rotation__parse - understand "signal", a size (10M) or a time (30s)
 * @min_size:	what the rings hold, and a file may get at once [bytes]
 *
 * Return: 0, or -EINVAL or -ENOMEM after an error message.
 */
int rotation__parse(struct rotation *rotation, const char *arg, u64 min_size);

/** rotation__parse_size - a number with a unit: B, K, M or G. Return: [bytes]; 0 if it is none */
u64 rotation__parse_size(const char *arg);

/**
 * rotation__keep - take note of a closed file, and delete the one that is one too many
 * @name:	allocated; belongs to @rotation from now on
 */
void rotation__keep(struct rotation *rotation, char *name);

/** rotation__exit - free the names; the files stay */
void rotation__exit(struct rotation *rotation);

#endif
