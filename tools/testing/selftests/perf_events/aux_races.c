// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test mapping and unmapping of AUX areas while a task on another CPU is
 * traced: with or without the data area, and with the event closed before or
 * after. Errors are found by the kernel's own checks (KASAN, lockdep). The test
 * checks that the races took place, and that all locked memory was uncharged.
 */
#include "ring.h"

#define PMU		"/sys/bus/event_source/devices/intel_pt/"
#define BRANCH		0x2000
#define DATA_PAGES	4
#define ROUNDS		200

/* Two threads on one CPU: if @yields, the traced one is switched out often. */
struct traced {
	pthread_t	thread, other;
	atomic_int	tid;
	atomic_bool	yields;
	atomic_bool	stop;
	atomic_ulong	turns;
};

static void *run_traced(void *arg)
{
	struct traced *t = arg;

	pin_to_cpu(nth_cpu(1));
	atomic_store(&t->tid, gettid());
	while (!atomic_load(&t->stop)) {
		if (atomic_load(&t->yields))
			sched_yield();
		atomic_fetch_add(&t->turns, 1);
	}
	return NULL;
}

static void *run_other(void *arg)
{
	struct traced *t = arg;

	pin_to_cpu(nth_cpu(1));
	while (!atomic_load(&t->stop)) {
		if (atomic_load(&t->yields))
			sched_yield();
		else
			usleep(10000);
	}
	return NULL;
}

static void wait_turns(struct traced *t, unsigned long turns)
{
	unsigned long end = atomic_load(&t->turns) + turns;

	while ((long)(end - atomic_load(&t->turns)) > 0)
		usleep(50);
}

FIXTURE(aux_races)
{
	struct traced		traced;
	struct ring		ring;
	void			*area;
	size_t			size;
	unsigned int		random;
	unsigned long		begun, stopped, refused;
};

static unsigned int random_below(FIXTURE_DATA(aux_races) *self, unsigned int n)
{
	self->random = self->random * 1103515245 + 12345;
	return (self->random >> 16) % n;
}

static int open_event(FIXTURE_DATA(aux_races) *self)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = read_number(PMU "type"),
		.config = BRANCH,
		.exclude_kernel = 1,
	};

	return perf_open(&attr, atomic_load(&self->traced.tid), -1);
}

static bool map_area(FIXTURE_DATA(aux_races) *self, size_t pages, int prot)
{
	struct perf_event_mmap_page *page = self->ring.page;

	self->size = pages * page_size();
	page->aux_offset = page_size() + self->ring.size;
	page->aux_size = self->size;
	page->aux_tail = page->aux_head;
	self->area = mmap(NULL, self->size, prot, MAP_SHARED, self->ring.fd,
			  page->aux_offset);
	if (self->area == MAP_FAILED)
		self->area = NULL;
	return self->area;
}

static void unmap_area(FIXTURE_DATA(aux_races) *self)
{
	if (self->area)
		munmap(self->area, self->size);
	self->area = NULL;
}

/* Count the PERF_RECORD_AUX since the last call. */
static unsigned int read_aux_records(FIXTURE_DATA(aux_races) *self)
{
	uint64_t head = ring_head(&self->ring);
	uint64_t tail = self->ring.page->data_tail;
	static struct record record;
	unsigned int nr = 0;

	while (ring_record_at(&self->ring, tail, head, &record)) {
		nr += record.header.type == PERF_RECORD_AUX;
		tail += record.header.size;
	}
	ring_set_tail(&self->ring, tail);
	return nr;
}

FIXTURE_SETUP(aux_races)
{
	REQUIRE_ROOT();
	if (read_number(PMU "caps/software") != 1)
		SKIP(return, "no software Intel PT PMU (soft_pt)");
	if (nth_cpu(1) < 0)
		SKIP(return, "needs two CPUs");
	ASSERT_EQ(0, pin_to_cpu(nth_cpu(0)));
	self->random = 1;
	ASSERT_EQ(0, pthread_create(&self->traced.thread, NULL, run_traced,
				    &self->traced));
	ASSERT_EQ(0, pthread_create(&self->traced.other, NULL, run_other,
				    &self->traced));
	while (!atomic_load(&self->traced.tid))
		usleep(100);
}

FIXTURE_TEARDOWN(aux_races)
{
	atomic_store(&self->traced.stop, true);
	if (atomic_load(&self->traced.tid)) {
		pthread_join(self->traced.thread, NULL);
		pthread_join(self->traced.other, NULL);
	}
}

/*
 * Map an area of random size and mode, let the task run or not, unmap the area,
 * and let the task run without it.
 */
static bool map_and_unmap(FIXTURE_DATA(aux_races) *self)
{
	const struct perf_event_mmap_page *page = self->ring.page;
	bool yields = random_below(self, 2);
	int prot = PROT_READ;
	size_t pages;
	unsigned int recorded;
	uint64_t written;

	atomic_store(&self->traced.yields, yields);
	pages = 1 + random_below(self, 9);
	prot |= random_below(self, 2) ? PROT_WRITE : 0;
	if (!map_area(self, pages, prot))
		return false;
	/* Re-enable it after a full area; start it if the task is running. */
	ioctl(self->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(self->ring.fd, PERF_EVENT_IOC_ENABLE, 0);
	wait_turns(&self->traced, random_below(self, 4));
	read_aux_records(self);
	written = page->aux_written;
	unmap_area(self);
	self->begun += page->aux_written > 0;
	recorded = read_aux_records(self);
	self->stopped += page->aux_written > written && recorded;
	if (!random_below(self, 2))
		return true;

	/* Without an area nothing is written when the task is scheduled in. */
	written = page->aux_written;
	atomic_store(&self->traced.yields, true);
	wait_turns(&self->traced, 2);
	self->refused++;
	return page->aux_written == written && !read_aux_records(self);
}

/* Close the event and unmap data and AUX area, in random order. */
static bool tear_down(FIXTURE_DATA(aux_races) *self)
{
	unsigned int how = random_below(self, 4);

	if (!map_area(self, 1 + random_below(self, 9), PROT_READ))
		return false;
	wait_turns(&self->traced, random_below(self, 4));
	if (how & 1) {
		close(self->ring.fd);
		self->ring.fd = -1;
	}
	if (how & 2) {
		ring_unmap(&self->ring);
		unmap_area(self);
	} else {
		unmap_area(self);
		ring_unmap(&self->ring);
	}
	ring_close(&self->ring);
	return true;
}

TEST_F_TIMEOUT(aux_races, map_and_unmap_while_tracing, 400)
{
	long before = pinned_kb();
	long allowed = unused_mlock_limit(open_event(self));

	ASSERT_EQ(before, pinned_kb());
	ASSERT_LT(0, allowed);
	for (int round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(0, ring_map(&self->ring, open_event(self), DATA_PAGES,
				      PROT_READ | PROT_WRITE));
		for (unsigned int times = random_below(self, 4); times; times--)
			ASSERT_TRUE(map_and_unmap(self));
		ASSERT_TRUE(tear_down(self));
	}
	TH_LOG("areas written to %lu, stopped by munmap() %lu, no area %lu",
	       self->begun, self->stopped, self->refused);
	EXPECT_LT(0, self->begun);
	EXPECT_LT(0, self->stopped);
	EXPECT_LT(0, self->refused);
	EXPECT_EQ(before, pinned_kb());
	EXPECT_EQ(allowed, unused_mlock_limit(open_event(self)));
}

/* A task whose thread inherits its event, and spins on the second CPU. */
struct family {
	pthread_t	parent;
	atomic_int	tid;
	atomic_bool	fork, stop;
};

static void *run_child(void *arg)
{
	struct family *family = arg;

	pin_to_cpu(nth_cpu(1));
	while (!atomic_load(&family->stop))
		;	/* and is not switched out */
	return NULL;
}

static void *run_parent(void *arg)
{
	struct family *family = arg;
	pthread_t child;

	atomic_store(&family->tid, gettid());
	while (!atomic_load(&family->fork))
		usleep(100);
	if (!pthread_create(&child, NULL, run_child, family))
		pthread_join(child, NULL);
	return NULL;
}

static int open_synth(pid_t tid, int cpu, bool inherit)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = read_number(PMU "type"),
		.config = BRANCH,
		.config1 = 1000,
		.exclude_kernel = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING,
		.inherit = inherit,
		.disabled = !inherit,
	};

	return perf_open(&attr, tid, cpu);
}

/* Return whether @event or a child of it has been active. */
static bool was_active(int event)
{
	struct {
		uint64_t	value, running;
	} count;

	return read(event, &count, sizeof(count)) == sizeof(count) &&
	       count.running;
}

static void *map_at(struct ring *ring, size_t pages)
{
	ring->page->aux_offset = page_size() + ring->size;
	ring->page->aux_size = pages * page_size();
	return mmap(NULL, pages * page_size(), PROT_READ, MAP_SHARED, ring->fd,
		    ring->page->aux_offset);
}

FIXTURE(aux_children)
{
	int		keep;	/* an event that keeps the hooks of soft_pt */
};

FIXTURE_SETUP(aux_children)
{
	if (read_number(PMU "caps/software") != 1)
		SKIP(return, "no software Intel PT PMU (soft_pt)");
	if (nth_cpu(1) < 0)
		SKIP(return, "needs two CPUs");
	ASSERT_EQ(0, pin_to_cpu(nth_cpu(0)));
	self->keep = open_synth(0, nth_cpu(0), false);
	ASSERT_GE(self->keep, 0);
}

FIXTURE_TEARDOWN(aux_children)
{
	close(self->keep);
}

/*
 * An event is redirected away from a ring while a child writes to the AUX area:
 * the child stops. Otherwise the area outlives its mapping, and is mapped again
 * although it will be freed when the child is switched out.
 */
TEST_F_TIMEOUT(aux_children, redirect_while_child_is_traced, 300)
{
	for (int round = 0; round < 10; round++) {
		struct perf_event_attr dummy = ATTR_DUMMY();
		struct family family = {};
		int event, unshared;
		struct ring ring;
		void *area;

		ASSERT_EQ(0, pthread_create(&family.parent, NULL, run_parent,
					    &family));
		while (!atomic_load(&family.tid))
			usleep(100);
		ASSERT_EQ(0, ring_map(&ring, open_synth(0, nth_cpu(1), false),
				      DATA_PAGES, PROT_READ | PROT_WRITE));
		area = map_at(&ring, 4);
		ASSERT_NE(MAP_FAILED, area);
		event = open_synth(family.tid, nth_cpu(1), true);
		ASSERT_GE(event, 0);
		ASSERT_EQ(0, ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, ring.fd));

		/* Tasks with equal events may swap them: the child has others. */
		unshared = perf_open(&dummy, family.tid, -1);
		ASSERT_GE(unshared, 0);
		atomic_store(&family.fork, true);
		while (!was_active(event))
			usleep(100);
		ASSERT_EQ(0, ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, -1L));
		munmap(area, 4 * page_size());
		/* A new area, of another size */
		area = map_at(&ring, 8);
		EXPECT_NE(MAP_FAILED, area);

		atomic_store(&family.stop, true);
		pthread_join(family.parent, NULL);
		close(unshared);
		close(event);
		if (area != MAP_FAILED)
			munmap(area, 8 * page_size());
		ring_close(&ring);
	}
}

TEST_HARNESS_MAIN
