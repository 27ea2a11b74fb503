/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Restore the ids of samples that the kernel gave the id of another recorder's event.
 *
 * Kernels up to 6.18.44 (ours does not) prepare the sample of a page fault, context switch or
 * migration once for all events that sample it:
 *
 *	event of the other recorder	id 4711		sample: id 4711
 *	our event			id 1147		sample: id 4711, size of the other's sample
 *
 * Readers give up at an unknown id. So samples with an id that is not of this recording get the id
 * of the software event in their ring. If the ring has several software events, nothing tells which
 * of them the sample is of: it is left out and counted as lost.
 *
 * The size needs no care: where it is too large, readers ignore what follows the fields that they
 * know.
 */
#ifndef PERF_RECORDING_SAMPLE_IDS_H
#define PERF_RECORDING_SAMPLE_IDS_H

struct record_sink;
struct records;
struct ring;

/**
 * sample_ids__pass - pass @records to @sink, with ids of this recording
 * @records:	whole records of @ring
 *
 * Calls @sink once, or several times where ids are wrong. Counts the samples that are left out in
 * the statistics of @ring. Rings without such events cost nothing.
 *
 * Return: the last answer of @sink other than 0, or its first negative errno.
 */
int sample_ids__pass(const struct records *records, struct record_sink *sink, struct ring *ring);

#endif
