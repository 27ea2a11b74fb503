// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <linux/ring_buffer.h>
#include <linux/time64.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include "perf-sys.h"
#include "util/clockid.h"
#include "clock_pair.h"
#include "kernel_clock.h"

#define ATTEMPTS	5
#define NAME_SIZE	16		/* of a thread, with its final zero */

/**
 * struct name_event - an event that gets a PERF_RECORD_COMM whenever this thread is named
 * @fd:		of the event
 * @ring:	control page, followed by one page of data
 * @page_size:	[bytes]
 */
struct name_event {
	int				 fd;
	struct perf_event_mmap_page	*ring;
	size_t				 page_size;
};

static void name_event__close(struct name_event *event)
{
	munmap(event->ring, 2 * event->page_size);
	close(event->fd);
}

/* Return: 0, or a negative errno. */
static int name_event__open(struct name_event *event)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.size		= PERF_ATTR_SIZE_VER0,
		.config		= PERF_COUNT_SW_DUMMY,
		.sample_type	= PERF_SAMPLE_TIME,
		.sample_id_all	= 1,
		.comm		= 1,
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
	if (event->ring != MAP_FAILED)
		return 0;
	err = -errno;
	close(event->fd);
	return err;
}

/*
 * Name this thread as it is named already. The time is the last field of the record. ATTEMPTS
 * records neither fill the ring nor wrap around its end.
 *
 * Return: the time of the record [ns], or 0 on failure.
 */
static u64 name_event__read(struct name_event *event)
{
	u64 tail = ring_buffer_read_head(event->ring), head, time;
	const char *data = (char *)event->ring + event->page_size;
	char name[NAME_SIZE];

	if (prctl(PR_GET_NAME, name) || prctl(PR_SET_NAME, name))
		return 0;
	head = ring_buffer_read_head(event->ring);
	if (head < tail + sizeof(time) || head > event->page_size)
		return 0;
	memcpy(&time, data + head - sizeof(time), sizeof(time));
	return time;
}

/* Return: the time of clock @clockid outside all time namespaces [ns], or 0 on failure. */
static u64 read_clock(int clockid)
{
	struct timespec ts;

	if (clock_gettime(clockid, &ts))
		return 0;
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec - kernel_clock__offset(clockid);
}

int clock_pair__read(int clockid, struct clock_pair *pair)
{
	struct name_event event;
	u64 least = ULLONG_MAX;
	int i, err;

	err = clockid == CLOCKID_PERF ? name_event__open(&event) : 0;
	if (err)
		return err;
	for (i = 0; i < ATTEMPTS; i++) {
		u64 before = read_clock(CLOCK_REALTIME);
		u64 time = clockid == CLOCKID_PERF ? name_event__read(&event) :
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
		name_event__close(&event);
	return least == ULLONG_MAX ? -EINVAL : 0;
}

int clock_pair__from_monotonic(int clockid, u64 *time)
{
	struct clock_pair pair;
	u64 now, tod;
	int err;

	if (clockid == CLOCK_MONOTONIC)
		return 0;
	err = clock_pair__read(clockid, &pair);
	if (err)
		return err;
	now = read_clock(CLOCK_MONOTONIC);
	tod = read_clock(CLOCK_REALTIME);
	*time = pair.clock_ns + (tod - pair.tod_ns) - (now - *time);
	return 0;
}
