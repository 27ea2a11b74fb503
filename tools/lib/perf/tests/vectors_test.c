// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test libperf's reader of overwrite rings with the test vectors for other readers
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <internal/grace.h>
#include <internal/overwrite.h>

#include "tap.h"
#include "vectors.h"

static struct perf_event_mmap_page *page;
static struct vector vector;

/*
 * Stubs
 */

int perf_overwrite__probe(void)
{
	return PERF_OVERWRITE_SIZED;
}

enum perf_snapshot_grace perf_grace__wait(void)
{
	page->data_head = vector.data_head_later;
	return PERF_SNAPSHOT_GRACE_MEMBARRIER;
}

static bool reads_vector(void)
{
	struct perf_snapshot_records records;
	struct perf_snapshot *snapshot;
	struct perf_overwrite *ring;
	bool ok;

	memset(page, 0, sizeof(*page));
	page->cap_size_at_end = vector.kind == PERF_OVERWRITE_SIZED;
	page->cap_data_reserved = vector.has_data_reserved;
	page->data_head = vector.data_head;
	memcpy(page->data_reserved, vector.data_reserved, sizeof(vector.data_reserved));
	memcpy((void *)page + sysconf(_SC_PAGESIZE), vector.data, VECTOR_SIZE);

	ring = perf_overwrite__new(page, VECTOR_SIZE, -1, vector.kind);
	if (!ring)
		return false;
	ring->taken = vector.taken;
	snapshot = perf_snapshot__new(ring);
	if (!snapshot)
		abort();
	perf_snapshot__take(&snapshot, 1, NULL);
	perf_snapshot__records(snapshot, &records);
	ok = records.nr == vector.nr && records.bytes == vector.bytes &&
	     !memcmp(records.data, vector.records, vector.bytes) &&
	     records.overwritten + records.malformed == vector.oldest - vector.taken &&
	     (records.malformed > 0) == vector.malformed;
	perf_snapshot__delete(snapshot);
	perf_overwrite__delete(ring);
	return ok;
}

int main(void)
{
	size_t page_size = sysconf(_SC_PAGESIZE);
	unsigned int i;

	if (page_size > VECTOR_SIZE) {
		skip("test vectors", "a ring is not smaller than a page");
		return tap_end();
	}
	page = aligned_alloc(page_size, page_size + VECTOR_SIZE);
	if (!page)
		abort();
	for (i = 0; vector__make(i, &vector); i++)
		check(reads_vector(), vector.name);
	free(page);
	return tap_end();
}
