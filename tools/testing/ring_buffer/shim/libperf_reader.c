// SPDX-License-Identifier: GPL-2.0-only
/* Call libperf's snapshot reader on a copy of a ring; compiled without the shim's headers. */
#include <stdlib.h>
#include <internal/overwrite.h>
#include <internal/snapshot.h>

#include "libperf_reader.h"

struct libperf_records libperf_read(bool sized, u64 data_head, u64 end, const void *data,
				    size_t size)
{
	static struct perf_snapshot *snapshot;
	struct perf_event_mmap_page page = { .data_head = data_head };
	struct perf_overwrite ring = {
		.page = &page, .data = data, .size = size,
		.kind = sized ? PERF_OVERWRITE_SIZED : PERF_OVERWRITE_BACKWARD,
	};
	struct perf_snapshot_records records;

	if (!snapshot)
		snapshot = perf_snapshot__new(&ring);
	if (!snapshot)
		abort();
	snapshot->ring = &ring;
	snapshot->was_read = true;		/* makes copy() start a new snapshot */
	perf_snapshot__copy(snapshot);
	snapshot->write_limit = end;
	perf_snapshot__settle(snapshot);
	perf_snapshot__records(snapshot, &records);
	return (struct libperf_records){ records.data, records.bytes, records.malformed };
}
