/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the events that were asked for to open ones: those recorded, the tracking event, and those that
 * trigger. In this order:
 *
 *	events__find_target()	which CPUs and threads; the tracking event is added
 *	events__configure()	their attributes, and filters that leave the recorder itself out
 *	events__open()
 *
 * Overwrite events get the best kind of ring that this kernel offers (perf/overwrite.h).
 */
#ifndef PERF_RECORDING_EVENTS_H
#define PERF_RECORDING_EVENTS_H

struct recorder;

/** events__find_target - Return: 0, or a negative errno after an error message */
int events__find_target(struct recorder *rec);

/**
 * events__configure - the workload is forked, the capture thread exists
 *
 * Return: 0, or a negative errno after an error message.
 */
int events__configure(struct recorder *rec);

/**
 * events__open - open all of them, disabled
 *
 * Sets @rec->overwrite. The attributes of overwrite events are left as the file is to describe them:
 * there the records have no trailers.
 *
 * Return: 0, or a negative errno after an error message.
 */
int events__open(struct recorder *rec);

#endif
