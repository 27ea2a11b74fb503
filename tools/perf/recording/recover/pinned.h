/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Save the BPF rings that a killed recorder has left pinned: perf record --unpin=NAME.
 */
#ifndef PERF_RECORDING_PINNED_H
#define PERF_RECORDING_PINNED_H

/**
 * pinned__save - stop the programs, write what their rings have to a file, and remove them
 * @name:	of --pin
 * @output:	the file; NULL: perf.data
 *
 * The rings remain pinned if the file cannot be written, but nothing more is recorded.
 *
 * Return: 0, or a negative errno after an error message.
 */
int pinned__save(const char *name, const char *output);

#endif
