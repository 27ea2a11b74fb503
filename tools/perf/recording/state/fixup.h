/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fix up side-band records whose header holds what another event left there.
 *
 * The kernel builds a side-band record once for all events that want it, and adapts the header to
 * each event in turn. Kernels up to 6.18.44 (Debian's 6.12.113 as well) fail to take back:
 *
 *	KSYMBOL, BPF_EVENT,	header.size grows by the size of a sample id for each event:
 *	TEXT_POKE
 *				header | body | sample id | whatever the ring held before
 *				|<-- written ------------>|
 *				|<-- header.size -------------------------------------->|
 *
 *	MMAP2			header.misc says that the record has a build-id after an event with
 *				attr.build_id was served. A reader then takes the device number for
 *				the length of a build-id, and the inode for the build-id.
 *
 * One other event that wants such records is enough, be it another recorder's or one of ours. A
 * reader looks for the sample id at the end of a record. Where the record is too large, it finds an
 * unknown id there and gives up.
 *
 * In a PID namespace the kernel writes pid and tid 0 for all tasks outside it. A reader would take
 * their names and maps for those of one task, and name the samples of any of them after the last
 * one that was started. Such records are dropped.
 *
 * The ring is left alone: a wrong record is passed on as a copy of what is right.
 */
#ifndef PERF_RECORDING_FIXUP_H
#define PERF_RECORDING_FIXUP_H

#include <perf/event.h>
#include "util/event.h"

struct evlist;
struct record_sink;
struct records;
struct ring;

/** union fixup_copy - memory for the copy of a record; too large for stacks ('ulimit -s') */
union fixup_copy {
	union perf_event event;
	char		 bytes[PERF_SAMPLE_MAX_SIZE];
};

/**
 * fixup__pass - pass @records to @sink with true headers, without those of tasks outside
 * @evlist:	the events of @ring. A record is oversized if an event that wants such records has
 *		its id where the kernel writes it, and header.size extends beyond. MMAP2 records
 *		have build-ids if an event has attr.build_id.
 * @records:	whole records of @ring
 * @copy:	used for a wrong record while @sink is called
 *
 * Calls @sink once, or several times where records are wrong or dropped; not at all if none is
 * left.
 *
 * Return: 0, or the first negative errno of @sink.
 */
int fixup__pass(struct evlist *evlist, const struct records *records, union fixup_copy *copy,
		struct record_sink *sink, struct ring *ring);

#endif
