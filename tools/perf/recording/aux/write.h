/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write pieces of a trace, the hardware ids that a decoder needs with them, and their index.
 */
#ifndef PERF_RECORDING_AUX_WRITE_H
#define PERF_RECORDING_AUX_WRITE_H

#include <linux/compiler.h>
#include <linux/types.h>

struct aux;
struct aux_area;
struct output;
struct records;

#ifdef HAVE_AUXTRACE_SUPPORT

/**
 * aux__end_file - move the index of all areas to the session of @output; later pieces of traces
 * belong to the next file
 *
 * The readers are held, or have ended. The session keeps the index until the next call.
 */
void aux__end_file(struct aux *aux, struct output *output);

/**
 * aux__cut_index - after output__cut(): forget the traces at position @end of the file or behind
 */
void aux__cut_index(struct aux *aux, u64 end);

/**
 * aux__write_hw_ids - write the hardware ids that the file lacks
 *
 * Return: 0, or the errno of the output.
 */
int aux__write_hw_ids(struct aux *aux, struct aux_area *area, struct output *output);

/**
 * aux__write_all_hw_ids - the same for all areas
 *
 * Return: 0, or the errno of the output.
 */
int aux__write_all_hw_ids(struct aux *aux, struct output *output);

/**
 * aux__write - write a piece of a trace
 * @data:	the piece, oldest byte first
 * @position:	of the oldest byte [bytes]
 * @reference:	from auxtrace_record__reference()
 *
 * Return: 0, or the errno of the output.
 */
int aux__write(struct aux *aux, struct aux_area *area, const struct records *data, u64 position,
	       u64 reference, struct output *output);

#else

static inline void aux__end_file(struct aux *aux __maybe_unused,
				 struct output *output __maybe_unused) {}

static inline void aux__cut_index(struct aux *aux __maybe_unused, u64 end __maybe_unused) {}

static inline int aux__write_all_hw_ids(struct aux *aux __maybe_unused,
					struct output *output __maybe_unused)
{
	return 0;
}

static inline int aux__write_hw_ids(struct aux *aux __maybe_unused,
				    struct aux_area *area __maybe_unused,
				    struct output *output __maybe_unused)
{
	return 0;
}

#endif
#endif
