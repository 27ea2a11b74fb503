/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drain AUX areas that are streamed, in the readers (ring/readers.h).
 *
 *	ring of CPU 0: PERF_RECORD_AUX ...  --+
 *	area of CPU 0: the trace            --+--> reader 0 --> the file, and the area's index
 *
 * A reader drains a ring and the area behind it. It writes without locks of its own: the area, its
 * index and its hardware ids belong to the reader. The main thread collects the index of all areas
 * where a file ends, while the readers are held or have ended (aux__end_file()).
 *
 * A visit reads aux_head first, then drains the ring, then writes the trace up to that aux_head.
 * The kernel writes PERF_RECORD_AUX before it publishes aux_head. So each piece of a trace follows
 * the records that tell about it, and both are in the same file.
 */
#ifndef PERF_RECORDING_AUX_DRAIN_H
#define PERF_RECORDING_AUX_DRAIN_H

#include <linux/compiler.h>

struct aux;
struct output;

#ifdef HAVE_AUXTRACE_SUPPORT

/** aux_drain__init - let the rings' readers drain mapped areas to @output, if they are streamed */
void aux_drain__init(struct aux *aux, struct output *output);

#else

static inline void aux_drain__init(struct aux *aux __maybe_unused,
				   struct output *output __maybe_unused) {}

#endif

#endif
