// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <perf/event.h>
#include "perf-sys.h"
#include "recording/lib/fd.h"
#include "recording/lib/records.h"
#include "build_id_probe.h"

#define NR_EVENTS	3
#define DATA_PAGES	4	/* more than three records with the longest path */

/*
 * The kernel may serve the events in either order: one without build-ids follows the one with them.
 */
static int open_event(int nr)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_DUMMY,
		.size		= sizeof(attr),
		.exclude_kernel	= 1,
		.mmap		= 1,
		.mmap2		= 1,
		.build_id	= nr == 1,
	};

	return sys_perf_event_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Map a page of this program as code. */
static bool map_program(size_t page_size)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *code;

	if (fd < 0)
		return false;
	code = mmap(NULL, page_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	if (code == MAP_FAILED)
		return false;
	munmap(code, page_size);
	return true;
}

/* Has each event written its record, and only one of them a build-id? */
static bool records_are_right(const struct perf_event_mmap_page *page, size_t page_size)
{
	struct records records = records__of((const char *)page + page_size, page->data_head);
	int nr = 0, with_build_id = 0;
	struct record_iter iter;

	if (records__len(&records) > DATA_PAGES * page_size)
		return false;
	records__for_each(&records, iter) {
		if (iter.header.type != PERF_RECORD_MMAP2)
			continue;
		nr++;
		with_build_id += !!(iter.header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID);
	}
	return nr == NR_EVENTS && with_build_id == 1;
}

bool build_ids_are_harmless(void)
{
	size_t page_size = sysconf(_SC_PAGESIZE), len = (1 + DATA_PAGES) * page_size;
	struct perf_event_mmap_page *page;
	int fd[NR_EVENTS], nr;
	bool harmless;

	for (nr = 0; nr < NR_EVENTS; nr++)
		fd[nr] = open_event(nr);
	page = mmap(NULL, len, PROT_READ, MAP_SHARED, fd[0], 0);
	harmless = page != MAP_FAILED;
	for (nr = 1; nr < NR_EVENTS; nr++)
		harmless = harmless && !ioctl(fd[nr], PERF_EVENT_IOC_SET_OUTPUT, fd[0]);
	harmless = harmless && map_program(page_size) && records_are_right(page, page_size);

	if (page != MAP_FAILED)
		munmap(page, len);
	for (nr = 0; nr < NR_EVENTS; nr++)
		fd__close(&fd[nr]);
	return harmless;
}
