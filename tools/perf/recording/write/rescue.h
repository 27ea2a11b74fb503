/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keep the names of tasks and the maps that could not be written.
 *
 * Samples and side-band records come from different rings. After a write error the file ends with
 * samples whose tasks and maps are described by records behind its end: in the queues, or still in
 * the side-band rings. These records are few, and fit in the disk space that was reserved for the
 * features of the header (reserve.h).
 */
#ifndef PERF_RECORDING_RESCUE_H
#define PERF_RECORDING_RESCUE_H

#include "recording/lib/records.h"

/* Half of the reserve, unless that is small (reserve.h). */
#define RESCUE_BYTES	(512 << 10)

/**
 * struct rescue - records to write behind the end of the file; used by one thread at a time
 * @data:	the records, @len bytes; owned
 * @dropped:	how many of them had been counted as dropped
 */
struct rescue {
	void	*data;
	size_t	 len;
	u64	 dropped;
};

/**
 * rescue__add - add the record of @size bytes at @pos of @records if it names a task or a map
 *
 * Return: false if it does not, if it is not whole, or if there is no memory.
 */
bool rescue__add(struct rescue *rescue, const struct records *records, size_t pos, size_t size);

/** rescue__add_all - add all records of @records that name tasks or maps */
void rescue__add_all(struct rescue *rescue, const struct records *records);

/** rescue__exit - free the records; @rescue is empty afterwards */
void rescue__exit(struct rescue *rescue);

#endif
