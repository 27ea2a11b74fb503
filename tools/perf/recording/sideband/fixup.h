/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fix up records whose header.size is larger than what the kernel wrote.
 *
 * The kernel builds a KSYMBOL, BPF_EVENT or TEXT_POKE record once for all events that want it.
 * Kernels up to 6.18.44 (Debian's 6.12.113 as well) add the size of a sample id for each of these
 * events and never take it off again:
 *
 *	header | body | sample id | whatever the ring held before
 *	|<-- written ------------>|
 *	|<-- header.size -------------------------------------->|
 *
 * A second event that wants such records is enough, be it another recorder's or one of ours. A
 * reader of the file looks for the sample id at the record's end, finds an unknown id there and
 * gives up.
 *
 * The ring is left alone: an oversized record is passed on as a copy of what was written.
 */
#ifndef PERF_RECORDING_FIXUP_H
#define PERF_RECORDING_FIXUP_H

struct evlist;
struct record_sink;
struct records;
struct ring;

/**
 * fixup__pass - pass @records to @sink with their true sizes
 * @evlist:	the events of @ring. A record is oversized if an event that wants such records has
 *		its id where the kernel writes it, and header.size extends beyond.
 * @records:	whole records of @ring
 *
 * Calls @sink once, or several times where records are oversized.
 *
 * Return: 0, or the first negative errno of @sink.
 */
int fixup__pass(struct evlist *evlist, const struct records *records, struct record_sink *sink,
		     struct ring *ring);

#endif
