/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drain the data rings of AUX areas: records that tell about the trace rather than about tasks.
 *
 *	data ring ---+--> task_history   of snapshots: whose trace the area holds (PERF_RECORD_AUX, LOST)
 *	             +--> hw_ids         PERF_RECORD_AUX_OUTPUT_HW_ID: they go to the file with the trace
 *	             +--> @rest          all other records
 *
 * In the main thread; of areas that are streamed in the ring's reader (drain.h).
 */
#ifndef PERF_RECORDING_AUX_SIDEBAND_H
#define PERF_RECORDING_AUX_SIDEBAND_H

#include <sys/types.h>

struct aux;
struct aux_area;
struct channel;
struct output;
struct record_sink;
struct state;
struct task_refs;

/**
 * aux_sideband__drain - drain all data rings of the AUX channel
 * @output:	gets new hardware ids at once; NULL if they wait for the next snapshot
 * @rest:	gets all other records
 *
 * Return: length of the records [bytes], or a negative errno.
 */
ssize_t aux_sideband__drain(struct aux *aux, struct channel *channel, struct output *output,
			    struct record_sink *rest);

/**
 * aux_sideband__drain_area - the same for the ring of one area
 * @bytes:	incremented by the length of the records [bytes]
 *
 * Return: 0, or a negative errno.
 */
int aux_sideband__drain_area(struct aux *aux, struct aux_area *area, struct output *output,
			     struct record_sink *rest, size_t *bytes);

/**
 * aux_sideband__add_refs - add to @refs the tasks whose trace is in the areas, as @state knows them
 */
void aux_sideband__add_refs(struct aux *aux, const struct state *state, struct task_refs *refs);

#endif
