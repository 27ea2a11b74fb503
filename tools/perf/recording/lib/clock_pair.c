// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/ring_buffer.h>
#include <linux/time64.h>
#include <sys/mman.h>
#include "perf-sys.h"
#include "util/clockid.h"
#include "clock_pair.h"

#define ATTEMPTS	5

/**
 * struct fault_event - an event that takes a sample at each page fault of this thread
 * @fd:		of the event
 * @ring:	control page, followed by one page of data
 * @target:	a page to cause faults in
 * @page_size:	[bytes]
 */
struct fault_event {
	int				 fd;
	struct perf_event_mmap_page	*ring;
	volatile char			*target;
	size_t				 page_size;
};

struct fault_sample {
	struct perf_event_header	header;
	u64				time;
};

static void fault_event__close(struct fault_event *event)
{
	if (event->ring != MAP_FAILED)
		munmap(event->ring, 2 * event->page_size);
	if (event->target != MAP_FAILED)
		munmap((void *)event->target, event->page_size);
	close(event->fd);
}

/* Return: 0, or a negative errno. */
static int fault_event__open(struct fault_event *event)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.size		= PERF_ATTR_SIZE_VER0,
		.config		= PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period	= 1,
		.sample_type	= PERF_SAMPLE_TIME,
		.exclude_kernel	= 1,
		.exclude_hv	= 1,
	};
	int err;

	event->page_size = sysconf(_SC_PAGESIZE);
	event->fd = sys_perf_event_open(&attr, /*pid=*/0, /*cpu=*/-1, /*group_fd=*/-1,
					PERF_FLAG_FD_CLOEXEC);
	if (event->fd < 0)
		return -errno;
	event->ring = mmap(NULL, 2 * event->page_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			   event->fd, 0);
	event->target = mmap(NULL, event->page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (event->ring != MAP_FAILED && event->target != MAP_FAILED)
		return 0;
	err = -errno;
	fault_event__close(event);
	return err;
}

/* Take the newest sample. Return: its time [ns], or 0 if there is none. */
static u64 fault_event__take(struct fault_event *event)
{
	const char *data = (char *)event->ring + event->page_size;
	u64 head = ring_buffer_read_head(event->ring), tail = event->ring->data_tail, time = 0;

	while (head - tail >= sizeof(struct fault_sample)) {
		size_t at = tail % event->page_size;
		struct fault_sample sample;

		if (at > event->page_size - sizeof(sample))
			break;
		memcpy(&sample, data + at, sizeof(sample));
		if (sample.header.type == PERF_RECORD_SAMPLE)
			time = sample.time;
		tail += max(sample.header.size, (u16)sizeof(sample.header));
	}
	ring_buffer_write_tail(event->ring, head);
	return time;
}

/* Return: the time of a page fault that happens now [ns], or 0 on failure. */
static u64 fault_event__read(struct fault_event *event)
{
	if (madvise((void *)event->target, event->page_size, MADV_DONTNEED))
		return 0;
	fault_event__take(event);
	(void)*event->target;
	return fault_event__take(event);
}

/* Return: the time of clock @clockid [ns], or 0 on failure. */
static u64 read_clock(int clockid)
{
	struct timespec ts;

	return clock_gettime(clockid, &ts) ? 0 : ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

int clock_pair__read(int clockid, struct clock_pair *pair)
{
	struct fault_event event;
	u64 least = ULLONG_MAX;
	int i, err;

	err = clockid == CLOCKID_PERF ? fault_event__open(&event) : 0;
	if (err)
		return err;
	for (i = 0; i < ATTEMPTS; i++) {
		u64 before = read_clock(CLOCK_REALTIME);
		u64 time = clockid == CLOCKID_PERF ? fault_event__read(&event) :
						      read_clock(clockid);
		u64 after = read_clock(CLOCK_REALTIME);

		/* The time of day may have been set back meanwhile. */
		if (!time || after < before || after - before >= least)
			continue;
		least = after - before;
		pair->clock_ns = time;
		pair->tod_ns = before + least / 2;
	}
	if (clockid == CLOCKID_PERF)
		fault_event__close(&event);
	return least == ULLONG_MAX ? -EINVAL : 0;
}
