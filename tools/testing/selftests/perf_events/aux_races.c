// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test mapping and unmapping of AUX areas while a task on another CPU is
 * traced: with or without the data area, and with the event closed before or
 * after. Errors are found by the kernel's own checks (KASAN, lockdep). The test
 * checks that the races took place, and that all locked memory was uncharged.
 */
#include "ring.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define PMU		"/sys/bus/event_source/devices/intel_pt/"
#define BRANCH		0x2000
#define DATA_PAGES	4
#define ROUNDS		200

/* Write 1000 bytes of trace when the event is started, and trace no task. */
#define ATTR_SYNTH(...)							\
	((struct perf_event_attr){					\
		.size = sizeof(struct perf_event_attr),			\
		.type = read_number(PMU "type"),			\
		.config = BRANCH, .config1 = 1000,			\
		.exclude_kernel = 1,					\
		.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING,		\
		##__VA_ARGS__						\
	})

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
	struct perf_event_attr attr = ATTR_SYNTH(.inherit = inherit,
						 .disabled = !inherit);

	return perf_open(&attr, tid, cpu);
}

/* Return for how long @event and its children have been active [ns]. */
static uint64_t running_ns(int event)
{
	struct {
		uint64_t	value, running;
	} count;

	if (read(event, &count, sizeof(count)) != sizeof(count))
		return 0;
	return count.running;
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
		while (!running_ns(event))
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

#define SAMPLE_RATE	"/proc/sys/kernel/perf_event_max_sample_rate"
#define THROTTLES	11

/* A thread that is traced in a group with a sampler, which is throttled. */
struct throttled {
	struct ring	ring;
	void		*area;
	int		sampler;
	int		error;
	unsigned int	throttles, traces, switches;
};

static bool open_group(struct throttled *t)
{
	struct perf_event_attr
		trace = ATTR_SYNTH(.disabled = 1, .context_switch = 1),
		clock = ATTR_DUMMY(.config = PERF_COUNT_SW_CPU_CLOCK,
				   .sample_period = 20000);

	if (ring_map(&t->ring, perf_open(&trace, 0, -1), 64,
		     PROT_READ | PROT_WRITE))
		return false;
	t->area = map_at(&t->ring, 4);
	if (t->area == MAP_FAILED)
		return false;
	t->sampler = syscall(SYS_perf_event_open, &clock, 0, -1, t->ring.fd,
			     PERF_FLAG_FD_CLOEXEC);
	return t->sampler >= 0 &&
	       !ioctl(t->sampler, PERF_EVENT_IOC_SET_OUTPUT, t->ring.fd) &&
	       !ioctl(t->ring.fd, PERF_EVENT_IOC_ENABLE, 0);
}

static void read_group(struct throttled *t)
{
	uint64_t head = ring_head(&t->ring), tail = t->ring.page->data_tail;
	static struct record record;

	for (; ring_record_at(&t->ring, tail, head, &record);
	     tail += record.header.size) {
		switch (record.header.type) {
		case PERF_RECORD_THROTTLE:
			t->throttles++;
			break;
		case PERF_RECORD_AUX:
			t->traces++;
			break;
		case PERF_RECORD_SWITCH:
			t->switches += !!(record.header.misc &
					  PERF_RECORD_MISC_SWITCH_OUT);
			break;
		}
	}
	ring_set_tail(&t->ring, tail);
}

static void *run_throttled(void *arg)
{
	struct throttled *t = arg;
	uint64_t end = now_ms() + 10000;

	pin_to_cpu(nth_cpu(1));
	if (!open_group(t)) {
		t->error = errno;
		return NULL;
	}
	while (t->throttles < THROTTLES && now_ms() < end)
		read_group(t);
	return NULL;
}

/*
 * Where the core throttles the group of a sampler, it stops the trace and
 * starts it again, perhaps in an NMI. The trace goes on: it only ends when the
 * task is switched out.
 */
TEST_F(aux_children, throttled_group)
{
	int rate = read_number(SAMPLE_RATE);
	struct throttled t = {};
	pthread_t thread;

	REQUIRE_ROOT();
	ASSERT_TRUE(write_number(SAMPLE_RATE, 1000));
	ASSERT_EQ(0, pthread_create(&thread, NULL, run_throttled, &t));
	pthread_join(thread, NULL);
	write_number(SAMPLE_RATE, rate);
	ASSERT_EQ(0, t.error);
	TH_LOG("throttled %u times, switched out %u times", t.throttles,
	       t.switches);
	EXPECT_LE(t.traces, t.switches);
	munmap(t.area, 4 * page_size());
	close(t.sampler);
	ring_close(&t.ring);
	if (!t.throttles)
		SKIP(return, "the sampler was not throttled");
}

/*
 * A process that spins on the second CPU. @event writes to the AUX area of
 * @ring. One task has no two events of this PMU: that of @ring is removed when
 * the process executes a program, and its ring stays.
 */
FIXTURE(aux_output)
{
	int		keep;	/* an event that keeps the hooks of soft_pt */
	pid_t		child;
	struct ring	ring, other;
	void		*area;
	int		event;
};

FIXTURE_VARIANT(aux_output)
{
	bool		any_cpu;
};

FIXTURE_VARIANT_ADD(aux_output, one_cpu)
{
	.any_cpu = false,
};

FIXTURE_VARIANT_ADD(aux_output, any_cpu)
{
	.any_cpu = true,
};

#define SPIN		"AUX_RACES_SPIN"

/* Write a byte to the descriptor in SPIN, if there is one, and spin. */
static __attribute__((constructor)) void spin(void)
{
	const char *fd = getenv(SPIN);

	if (!fd)
		return;
	if (write(atoi(fd), "", 1) == 1)
		for (;;)
			;
	_exit(1);
}

/*
 * When a byte is read from @start, execute a program that is not switched out
 * once it has written one to @started.
 */
static void wait_and_spin(int start, int started)
{
	struct sched_param param = { .sched_priority = 1 };
	char variable[32], byte;
	char *const environment[] = { variable, NULL };

	snprintf(variable, sizeof(variable), SPIN "=%d", started);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin_to_cpu(nth_cpu(1));
	if (read(start, &byte, 1) != 1 ||
	    sched_setscheduler(0, SCHED_FIFO, &param))
		_exit(1);
	execle("/proc/self/exe", "spin", NULL, environment);
	_exit(1);
}

/* Let @self->event write to the ring of @fd. */
static void write_to(struct __test_metadata *_metadata,
		     FIXTURE_DATA(aux_output) *self, int fd)
{
	uint64_t before;

	ASSERT_EQ(0, ioctl(self->event, PERF_EVENT_IOC_SET_OUTPUT, fd));
	ASSERT_EQ(0, ioctl(self->event, PERF_EVENT_IOC_DISABLE, 0));
	before = running_ns(self->event);
	ASSERT_EQ(0, ioctl(self->event, PERF_EVENT_IOC_ENABLE, 0));
	while (running_ns(self->event) == before)
		usleep(100);
}

FIXTURE_SETUP(aux_output)
{
	struct perf_event_attr removed = ATTR_SYNTH(.disabled = 1,
						    .remove_on_exec = 1);
	struct perf_event_attr dummy = ATTR_DUMMY();
	int cpu, start[2], started[2];
	char byte;

	REQUIRE_ROOT();
	if (read_number(PMU "caps/software") != 1)
		SKIP(return, "no software Intel PT PMU (soft_pt)");
	if (nth_cpu(1) < 0)
		SKIP(return, "needs two CPUs");
	cpu = variant->any_cpu ? -1 : nth_cpu(1);
	ASSERT_EQ(0, pin_to_cpu(nth_cpu(0)));
	self->keep = open_synth(0, nth_cpu(0), false);
	ASSERT_GE(self->keep, 0);

	ASSERT_EQ(0, pipe(start));
	ASSERT_EQ(0, pipe(started));
	self->child = fork();
	ASSERT_GE(self->child, 0);
	if (!self->child)
		wait_and_spin(start[0], started[1]);
	ASSERT_EQ(0, ring_map(&self->ring,
			      perf_open(&removed, self->child, cpu),
			      DATA_PAGES, PROT_READ | PROT_WRITE));
	self->area = map_at(&self->ring, 4);
	ASSERT_NE(MAP_FAILED, self->area);
	ASSERT_EQ(0, ring_map(&self->other,
			      perf_open(&dummy, self->child, cpu),
			      DATA_PAGES, PROT_READ | PROT_WRITE));
	ASSERT_EQ(1, write(start[1], "", 1));
	close(started[1]);
	ASSERT_EQ(1, read(started[0], &byte, 1));
	close(started[0]);
	close(start[0]);
	close(start[1]);

	self->event = open_synth(self->child, cpu, false);
	ASSERT_GE(self->event, 0);
	write_to(_metadata, self, self->ring.fd);
}

FIXTURE_TEARDOWN(aux_output)
{
	if (self->child > 0) {
		kill(self->child, SIGKILL);
		waitpid(self->child, NULL, 0);
	}
	if (self->event > 0)
		close(self->event);
	if (self->area && self->area != MAP_FAILED)
		munmap(self->area, self->ring.page->aux_size);
	ring_close(&self->ring);
	ring_close(&self->other);
	close(self->keep);
}

/* Return the number of bytes that the ring's PERF_RECORD_AUX are about. */
static uint64_t recorded_bytes(const struct ring *ring)
{
	uint64_t at = ring->page->data_tail, head = ring_head(ring), bytes = 0;
	static struct record record;

	for (; ring_record_at(ring, at, head, &record);
	     at += record.header.size) {
		if (record.header.type == PERF_RECORD_AUX)
			bytes += record.words[2];
	}
	return bytes;
}

/* The last record is in the ring whose area it is about. */
TEST_F(aux_output, records_of_redirected_event)
{
	const struct perf_event_mmap_page *page = self->ring.page;
	const long to[] = { self->other.fd, -1 };

	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, ioctl(self->event, PERF_EVENT_IOC_SET_OUTPUT,
				   to[i]));
		EXPECT_EQ(page->aux_written, recorded_bytes(&self->ring));
		EXPECT_EQ(0, recorded_bytes(&self->other));
		write_to(_metadata, self, self->ring.fd);
	}
	EXPECT_LT(0, page->aux_written);
}

struct redirection {
	int		event, to, result;
	atomic_bool	begins;
};

static void *redirect(void *arg)
{
	struct redirection *it = arg;

	atomic_store(&it->begins, true);
	it->result = ioctl(it->event, PERF_EVENT_IOC_SET_OUTPUT, it->to);
	return NULL;
}

/*
 * The area is unmapped while the writer is neither an event of its ring any
 * more nor of the next one: it waits for a grace period in between. The writer
 * stops. Otherwise the area outlives its mapping.
 */
TEST_F(aux_output, unmap_while_redirecting)
{
	const struct perf_event_mmap_page *page = self->ring.page;

	for (int round = 0; round < 4; round++) {
		struct redirection it = {
			.event = self->event,
			.to = self->other.fd,
		};
		pthread_t thread;

		ASSERT_EQ(0, pthread_create(&thread, NULL, redirect, &it));
		while (!atomic_load(&it.begins))
			usleep(100);
		usleep(500);
		munmap(self->area, page->aux_size);
		/* A new area, of another size */
		self->area = map_at(&self->ring, round % 2 ? 4 : 8);
		EXPECT_NE(MAP_FAILED, self->area);
		pthread_join(thread, NULL);
		ASSERT_EQ(0, it.result);
		ASSERT_NE(MAP_FAILED, self->area);
		write_to(_metadata, self, self->ring.fd);
	}
}

TEST_HARNESS_MAIN
