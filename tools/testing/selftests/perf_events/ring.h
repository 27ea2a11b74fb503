/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Provide rings, records and page fault events for the tests.
 *
 * struct record is a copy of a record and its position: the number of bytes
 * that were written before it since the ring was made. Positions are unsigned
 * and only grow; the ring holds [head - size, head).
 */
#ifndef SELFTESTS_PERF_EVENTS_RING_H
#define SELFTESTS_PERF_EVENTS_RING_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "../kselftest_harness.h"

/* Sample every page fault. The address tells which fault it was. */
#define ATTR_FAULTS(...)						\
	((struct perf_event_attr){					\
		.size = sizeof(struct perf_event_attr),			\
		.type = PERF_TYPE_SOFTWARE,				\
		.config = PERF_COUNT_SW_PAGE_FAULTS,			\
		.sample_period = 1, .exclude_kernel = 1,		\
		.exclude_hv = 1, ##__VA_ARGS__				\
	})

/* An event without samples, for side-band records. */
#define ATTR_DUMMY(...)							\
	((struct perf_event_attr){					\
		.size = sizeof(struct perf_event_attr),			\
		.type = PERF_TYPE_SOFTWARE,				\
		.config = PERF_COUNT_SW_DUMMY,				\
		.sample_period = 1, .exclude_kernel = 1,		\
		.exclude_hv = 1, ##__VA_ARGS__				\
	})

static inline int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, -1,
		       PERF_FLAG_FD_CLOEXEC);
}

struct ring {
	int				fd;
	struct perf_event_mmap_page	*page;		/* NULL if not mapped */
	unsigned char			*data;
	size_t				size;		/* of the data area */
};

static inline size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

/*
 * Map a ring: a streaming ring with PROT_WRITE, an overwrite ring without.
 * ring_close() closes @fd. Returns 0 or -errno.
 */
static inline int ring_map(struct ring *ring, int fd, size_t pages, int prot)
{
	size_t size = (1 + pages) * page_size();
	void *base = mmap(NULL, size, prot, MAP_SHARED, fd, 0);

	memset(ring, 0, sizeof(*ring));
	ring->fd = fd;
	if (base == MAP_FAILED)
		return -errno;
	ring->page = base;
	ring->data = (unsigned char *)base + page_size();
	ring->size = pages * page_size();
	return 0;
}

static inline int ring_unmap(struct ring *ring)
{
	int err = munmap(ring->page, page_size() + ring->size);

	ring->page = NULL;
	return err;
}

static inline void ring_close(struct ring *ring)
{
	if (ring->page)
		ring_unmap(ring);
	if (ring->fd > 0)
		close(ring->fd);
	ring->fd = -1;
}

/* Everything below the returned position is complete (C). */
static inline uint64_t ring_head(const struct ring *ring)
{
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

/* Let the kernel overwrite everything below @tail (D). */
static inline void ring_set_tail(struct ring *ring, uint64_t tail)
{
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

static inline void ring_read(const struct ring *ring, uint64_t position,
			     void *to, size_t size)
{
	size_t at = position & (ring->size - 1);
	size_t first = size < ring->size - at ? size : ring->size - at;

	memcpy(to, ring->data + at, first);
	memcpy((char *)to + first, ring->data, size - first);
}

struct record {
	uint64_t			position;
	union {
		struct perf_event_header header;
		unsigned char		bytes[65536];
		uint64_t		words[65536 / 8];
	};
};

/*
 * Copy the record that begins at @position and ends at or below @end. Returns
 * false if there is no valid record.
 */
static inline bool ring_record_at(const struct ring *ring, uint64_t position,
				  uint64_t end, struct record *record)
{
	if (end - position < sizeof(record->header) ||
	    end - position > ring->size)
		return false;
	ring_read(ring, position, &record->header, sizeof(record->header));
	if (record->header.size < sizeof(record->header) ||
	    record->header.size % 8 || record->header.size > end - position)
		return false;
	record->position = position;
	ring_read(ring, position, record->bytes, record->header.size);
	return true;
}

#define REQUIRE_ROOT()							\
	do {								\
		if (geteuid())						\
			SKIP(return, "not root");			\
	} while (0)

/*
 * Numbered page faults: fault i is at address base + i pages. A read fault is
 * enough, which maps the zero page.
 */
struct faults {
	unsigned char	*base;
	size_t		pages;
};

static inline bool faults_init(struct faults *faults, size_t pages)
{
	faults->pages = pages;
	faults->base = mmap(NULL, pages * page_size(), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (faults->base == MAP_FAILED)
		return false;
	madvise(faults->base, pages * page_size(), MADV_NOHUGEPAGE);
	return true;
}

static inline void faults_free(struct faults *faults)
{
	munmap(faults->base, faults->pages * page_size());
}

/* Cause fault @number, modulo faults->pages. */
static inline void fault(struct faults *faults, uint64_t number)
{
	unsigned char *page = faults->base;

	page += number % faults->pages * page_size();
	*(volatile unsigned char *)page;
	madvise(page, page_size(), MADV_DONTNEED);
}

static inline uint64_t fault_number(const struct faults *faults,
				    uint64_t address)
{
	return (address - (uintptr_t)faults->base) / page_size();
}

/* Whether the fault was caused by fault(), and not by other code. */
static inline bool is_fault_of(const struct faults *faults, uint64_t address)
{
	return fault_number(faults, address) < faults->pages;
}

/* A thread that causes page faults until it is stopped. */
struct fault_thread {
	pthread_t		thread;
	atomic_int		tid;		/* 0: not running, -1: failed */
	atomic_bool		stop;
	atomic_ulong		faults;		/* caused so far */
};

static inline void *fault_thread_run(void *arg)
{
	struct fault_thread *t = arg;
	struct faults faults;

	if (!faults_init(&faults, 4096)) {
		atomic_store(&t->tid, -1);
		return NULL;
	}
	atomic_store(&t->tid, gettid());
	while (!atomic_load(&t->stop))
		fault(&faults, atomic_fetch_add(&t->faults, 1));
	faults_free(&faults);
	return NULL;
}

static inline bool fault_thread_start(struct fault_thread *t)
{
	memset(t, 0, sizeof(*t));
	if (pthread_create(&t->thread, NULL, fault_thread_run, t))
		return false;
	while (!atomic_load(&t->tid))
		usleep(100);
	return atomic_load(&t->tid) > 0;
}

static inline void fault_thread_stop(struct fault_thread *t)
{
	atomic_store(&t->stop, true);
	pthread_join(t->thread, NULL);
}

static inline uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

/* @tid: 0 for the calling thread */
static inline int pin_thread(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(tid, sizeof(set), &set);
}

static inline int pin_to_cpu(int cpu)
{
	return pin_thread(0, cpu);
}

/* Return the @nth CPU of the initial affinity mask, or -1. */
static inline int nth_cpu(int nth)
{
	static cpu_set_t all;
	static bool initialized;

	if (!initialized) {
		sched_getaffinity(0, sizeof(all), &all);
		initialized = true;
	}
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && !nth--)
			return cpu;
	return -1;
}

/* Return the number in a file of /proc or /sys, or -1. */
static inline int read_number(const char *path)
{
	FILE *file = fopen(path, "r");
	int number = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%d", &number) != 1)
		number = -1;
	fclose(file);
	return number;
}

/* VmPin of this process [kB]: locked memory beyond the limit of the user */
static inline long pinned_kb(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long kb = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmPin: %ld", &kb) == 1)
			break;
	if (file)
		fclose(file);
	return kb;
}

/*
 * Return how many pages the user may still lock before VmPin increases, or -1.
 * @fd is an event that is not mapped; it is closed.
 */
static inline long unused_mlock_limit(int fd)
{
	long limit = read_number("/proc/sys/kernel/perf_event_mlock_kb");
	long before = pinned_kb(), charged;
	size_t pages = 1;
	struct ring ring;

	limit = limit * 1024L / page_size() * sysconf(_SC_NPROCESSORS_ONLN);
	while ((long)pages <= limit)
		pages *= 2;
	if (ring_map(&ring, fd, pages, PROT_READ))
		return -1;
	charged = (pinned_kb() - before) * 1024 / (long)page_size();
	ring_close(&ring);
	return 1 + (long)pages - charged;
}

/* Returns false with errno set if the write failed. */
static inline bool write_number(const char *path, int number)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && dprintf(fd, "%d", number) > 0;

	if (fd >= 0)
		close(fd);
	return done;
}

/* Return the id of the tracepoint "system/name", or -1. */
static inline int tracepoint_id(const char *name)
{
	static const char *const mounts[] = {
		"/sys/kernel/tracing",
		"/sys/kernel/debug/tracing",
	};
	int id = -1;

	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts) && id < 0;
	     i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/events/%s/id", mounts[i],
			 name);
		id = read_number(path);
	}
	return id;
}

/*
 * Create a cgroup for perf events. @path receives its path, or the reason if
 * it returns false.
 */
static inline bool make_cgroup(char *path, size_t size)
{
	struct perf_event_attr attr = ATTR_DUMMY();
	char line[512], dir[256] = "";
	FILE *mounts = fopen("/proc/mounts", "r");
	int cgroup, event;

	while (mounts && !*dir && fgets(line, sizeof(line), mounts))
		if (sscanf(line, "%*s %255s cgroup2 ", dir) != 1 ||
		    !strstr(line, " cgroup2 "))
			*dir = 0;
	if (mounts)
		fclose(mounts);
	if (!*dir) {
		snprintf(path, size, "cgroup2 is not mounted");
		return false;
	}
	snprintf(path, size, "%s/perf_events_test_%d", dir, getpid());
	if (mkdir(path, 0755)) {
		snprintf(path, size, "%s: mkdir: %s", dir, strerror(errno));
		return false;
	}
	cgroup = open(path, O_RDONLY | O_CLOEXEC);
	event = syscall(SYS_perf_event_open, &attr, cgroup, nth_cpu(0), -1,
			PERF_FLAG_PID_CGROUP);
	close(cgroup);
	if (event < 0) {
		rmdir(path);
		snprintf(path, size,
			 "no perf_event controller (echo +pids > %s/%s)",
			 dir, "cgroup.subtree_control");
		return false;
	}
	close(event);
	return true;
}

#endif /* SELFTESTS_PERF_EVENTS_RING_H */
