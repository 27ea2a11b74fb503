// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test rings of tasks that migrate, of CPUs that go offline, and of cgroups.
 *
 * CPU hotplug affects the whole machine, so it is tested only with
 * RING_TEST_HOTPLUG=1 in the environment.
 */
#include "sized.h"

#include <sys/wait.h>

FIXTURE(cpus)
{
	struct ring	ring;
	struct faults	faults;
};

FIXTURE_VARIANT(cpus)
{
	uint64_t	bit;
};

FIXTURE_VARIANT_ADD(cpus, plain)
{
	.bit = 0,
};

FIXTURE_VARIANT_ADD(cpus, sized)
{
	.bit = PERF_SAMPLE_SIZE_AT_END,
};

FIXTURE_SETUP(cpus)
{
	self->ring.fd = -1;
	if (variant->bit)
		REQUIRE_SIZE_AT_END();
	ASSERT_TRUE(faults_init(&self->faults, 1 << 16));
}

FIXTURE_TEARDOWN(cpus)
{
	ring_close(&self->ring);
	faults_free(&self->faults);
}

static struct perf_event_attr fault_attr(uint64_t bits)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ADDR |
					   PERF_SAMPLE_CPU | bits);

	return attr;
}

/* Layout of the sample: pid and tid, address, CPU */
static uint32_t sample_tid(const struct record *record)
{
	return record->words[1] >> 32;
}

static uint32_t sample_cpu(const struct record *record)
{
	return record->words[3];
}

/* One ring, written to by a task that migrates between two CPUs. */
TEST_F(cpus, migrating_task)
{
	struct perf_event_attr attr = fault_attr(variant->bit);
	uint64_t position, expected = 0, number = 0;
	static struct record record;
	int laps = 200, migrations = 0, last = -1;

	if (nth_cpu(1) < 0)
		SKIP(return, "needs two CPUs");
	ASSERT_EQ(0, ring_map(&self->ring, perf_open(&attr, 0, -1), 256,
			      PROT_READ));
	for (int lap = 0; lap < laps; lap++) {
		ASSERT_EQ(0, pin_to_cpu(nth_cpu(lap & 1)));
		for (int i = 0; i < 37; i++)
			fault(&self->faults, number++);
	}
	ioctl(self->ring.fd, PERF_EVENT_IOC_DISABLE, 0);

	ASSERT_LE(ring_head(&self->ring), self->ring.size);
	for (position = 0; position < ring_head(&self->ring);
	     position += record.header.size) {
		uint64_t seen;

		ASSERT_TRUE(ring_record_at(&self->ring, position,
					   ring_head(&self->ring), &record));
		if (variant->bit) {
			ASSERT_TRUE(record_trailer_valid(&record));
		}
		if (!is_fault_of(&self->faults, record.words[2]))
			continue;
		seen = fault_number(&self->faults, record.words[2]);
		ASSERT_EQ(expected++, seen);
		ASSERT_EQ(nth_cpu(seen / 37 & 1), sample_cpu(&record));
		migrations += last != (int)sample_cpu(&record);
		last = sample_cpu(&record);
	}
	EXPECT_EQ(number, expected);
	EXPECT_EQ(laps, migrations);
}

static bool set_online(int cpu, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online",
		 cpu);
	return write_number(path, online);
}

/* Check and count the records of an idle ring. */
static int count_records(struct __test_metadata *_metadata, struct ring *ring,
			 uint64_t sample_type)
{
	uint64_t head = ring_head(ring), at = head;
	uint64_t oldest = head > ring->size ? head - ring->size : 0;
	static struct record record;
	const int size = 8 + 8 * __builtin_popcountll(sample_type);
	int n;

	for (n = 0; at - oldest >= size; n++, at -= size) {
		ASSERT_TRUE(ring_record_at(ring, at - size, at, &record));
		ASSERT_EQ(PERF_RECORD_SAMPLE, record.header.type);
		ASSERT_EQ(size, record.header.size);
		if (sample_type & PERF_SAMPLE_SIZE_AT_END) {
			ASSERT_TRUE(record_trailer_valid(&record));
		}
	}
	return n;
}

/* Rings of a CPU stay readable while it is offline, and after it is back. */
TEST_F_TIMEOUT(cpus, hotplug, 300)
{
	struct fault_thread threads[3];
	int cpu = nth_cpu(1);

	REQUIRE_ROOT();
	if (!getenv("RING_TEST_HOTPLUG"))
		SKIP(return, "RING_TEST_HOTPLUG=1 is not set");
	if (cpu < 0)
		SKIP(return, "needs two CPUs");
	for (int i = 0; i < 3; i++) {
		ASSERT_TRUE(fault_thread_start(&threads[i]));
	}

	for (int round = 0; round < 5; round++) {
		struct perf_event_attr attr = fault_attr(variant->bit);
		struct ring other;
		uint64_t head;
		int fd;

		/* Without ADDR the kernel outputs the sample in one go. */
		if (round & 2)
			attr.sample_type &= ~PERF_SAMPLE_ADDR;
		fd = perf_open(&attr, -1, cpu);
		ASSERT_GE(fd, 0);
		/* Offlining a CPU resets the affinity of its tasks. */
		ASSERT_EQ(0, pin_thread(threads[0].tid, cpu));
		ASSERT_EQ(0, ring_map(&self->ring, fd, 4,
				      round & 1 ? PROT_READ | PROT_WRITE
						: PROT_READ));
		while (ring_head(&self->ring) < 8192)
			usleep(1000);
		if (!set_online(cpu, false))
			SKIP(goto stop, "cannot offline CPU %d: %s", cpu,
			     strerror(errno));
		head = ring_head(&self->ring);
		EXPECT_LT(100, count_records(_metadata, &self->ring,
					     attr.sample_type));

		/* A new event is refused, or its ring stays empty. */
		fd = perf_open(&attr, -1, cpu);
		if (fd >= 0 && !ring_map(&other, fd, 4, PROT_READ)) {
			EXPECT_EQ(0, ring_head(&other));
			ring_close(&other);
		}
		ASSERT_TRUE(set_online(cpu, true));
		EXPECT_EQ(head, ring_head(&self->ring));
		ring_close(&self->ring);
	}
stop:
	for (int i = 0; i < 3; i++)
		fault_thread_stop(&threads[i]);
}

/* The ring has only samples of tasks in the cgroup on that CPU. */
TEST_F(cpus, cgroup)
{
	struct perf_event_attr attr = fault_attr(variant->bit);
	uint64_t position, expected = 0;
	static struct record record;
	char path[256], procs[300], pid[16];
	int cgroup, fd, status;
	pid_t child;

	REQUIRE_ROOT();
	if (!make_cgroup(path, sizeof(path)))
		SKIP(return, "%s", path);
	cgroup = open(path, O_RDONLY | O_CLOEXEC);
	fd = syscall(SYS_perf_event_open, &attr, cgroup, nth_cpu(0), -1,
		     PERF_FLAG_PID_CGROUP);
	EXPECT_GE(fd, 0);
	EXPECT_EQ(0, ring_map(&self->ring, fd, 64, PROT_READ));
	pin_to_cpu(nth_cpu(0));
	child = fork();
	if (!child) {
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
		snprintf(pid, sizeof(pid), "%d", getpid());
		fd = open(procs, O_WRONLY | O_CLOEXEC);
		if (write(fd, pid, strlen(pid)) < 0)
			_exit(1);
		for (int i = 0; i < 503; i++)
			fault(&self->faults, i);
		_exit(0);
	}
	for (int i = 0; i < 503; i++)
		fault(&self->faults, i);
	waitpid(child, &status, 0);
	rmdir(path);
	close(cgroup);
	ASSERT_EQ(0, status);

	ASSERT_LE(ring_head(&self->ring), self->ring.size);
	for (position = 0; position < ring_head(&self->ring);
	     position += record.header.size) {
		ASSERT_TRUE(ring_record_at(&self->ring, position,
					   ring_head(&self->ring), &record));
		if (variant->bit) {
			ASSERT_TRUE(record_trailer_valid(&record));
		}
		if (record.header.type != PERF_RECORD_SAMPLE)
			continue;
		ASSERT_EQ(child, sample_tid(&record));
		if (is_fault_of(&self->faults, record.words[2])) {
			ASSERT_EQ(expected++,
				  fault_number(&self->faults, record.words[2]));
		}
	}
	EXPECT_EQ(503, expected);
}

TEST_HARNESS_MAIN
