/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records that are longer than what the kernel wrote.
 *
 * A KSYMBOL, BPF_EVENT or TEXT_POKE is made once for all events that want it. Kernels up to 6.18.44 add room
 * for a sample id to its size for each of them, and do not take it off again (Debian's 6.12.113 does):
 *
 *	header | body | sample id | what lay in the ring before
 *	|<-- written ------------>|
 *	|<-- header.size -------------------------------------->|
 *
 * Another recorder that runs, even another event of ours, is enough. Readers look for the sample id at the
 * end, and when no event has the id that they find there, they give up the file.
 *
 * What is in a ring cannot be changed: it is handed on in pieces, such a record as a copy of what was written.
 */
#ifndef PERF_RECORDING_FIXUP_SIZE_H
#define PERF_RECORDING_FIXUP_SIZE_H

#include "recording/lib/records.h"
#include "recording/ring/drain.h"

struct evlist;

/**
 * fixup_size__drain - hand the records of @records to @drain: in one, or in several calls if some are too long
 * @evlist:	whose they are. A record is too long if the id of an event that wants such records is where the
 *		kernel writes it, and header.size goes on behind that.
 *
 * Return: 0, or the error of @drain that ended it.
 */
int fixup_size__drain(struct evlist *evlist, const struct records *records, drain_fn_t drain, void *arg,
		  struct ring_stats *stats);

#endif
