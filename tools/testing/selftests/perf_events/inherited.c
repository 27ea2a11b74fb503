// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test events of tasks that are forked, execute programs and exit.
 *
 * The events of children, which write to the ring of the parent's event, must
 * never write to one ring on two CPUs at once: writers on one CPU nest, and
 * nothing else keeps them apart.
 */
#include "ring.h"

#include <sys/wait.h>

#define CHILDREN	7	/* for each CPU */
#define THREADS		31
#define MAX_CPUS	64

FIXTURE(inherited)
{
	struct ring	rings[MAX_CPUS];
	int		nr_cpus;
	int		unshared;	/* an event that is not inherited */
};

FIXTURE_SETUP(inherited)
{
	struct perf_event_attr attr = ATTR_DUMMY();

	while (self->nr_cpus < MAX_CPUS && nth_cpu(self->nr_cpus) >= 0)
		self->rings[self->nr_cpus++].fd = -1;
	/* Tasks with equal events swap them instead of switching them. */
	self->unshared = perf_open(&attr, 0, -1);
	ASSERT_GE(self->unshared, 0);
}

FIXTURE_TEARDOWN(inherited)
{
	for (int i = 0; i < self->nr_cpus; i++)
		ring_close(&self->rings[i]);
	close(self->unshared);
}

/* Where each record says which task it is about, and which CPU wrote it. */
struct read_record {
	struct perf_event_header	header;
	uint32_t			pid, tid;
	uint64_t			value;
	struct {
		uint32_t		pid, tid;
		uint32_t		cpu, reserved;
	}				id;
};

/* Let each ring count tasks that are forked from now on. */
static void count_children(struct __test_metadata *_metadata,
			   FIXTURE_DATA(inherited) *self, bool remove_on_exec)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_period = 0, .inherit = 1, .inherit_stat = 1,
			    .remove_on_exec = remove_on_exec,
			    .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CPU,
			    .sample_id_all = 1);

	for (int i = 0; i < self->nr_cpus; i++) {
		int fd = perf_open(&attr, 0, nth_cpu(i));

		ASSERT_GE(fd, 0)
			TH_LOG("perf_event_open: %s", strerror(errno));
		ASSERT_EQ(0, ring_map(&self->rings[i], fd, 8,
				      PROT_READ | PROT_WRITE));
	}
}

/* Run children on each CPU, which end at once or execute a program. */
static void run_children(struct __test_metadata *_metadata,
			 FIXTURE_DATA(inherited) *self, bool exec)
{
	for (int i = 0; i < CHILDREN * self->nr_cpus; i++) {
		int status;
		pid_t child = fork();

		ASSERT_GE(child, 0);
		if (!child) {
			pin_to_cpu(nth_cpu(i % self->nr_cpus));
			if (exec)
				execl("/bin/true", "true", NULL);
			_exit(exec);
		}
		ASSERT_EQ(child, waitpid(child, &status, 0));
		ASSERT_EQ(0, status);
	}
}

/*
 * Check the records of counts in the ring of a CPU: this CPU wrote each of them.
 * Returns their number.
 */
static int check_counts(struct __test_metadata *_metadata,
			const struct ring *ring, int cpu)
{
	static struct record record;
	const struct read_record *read = (const void *)record.bytes;
	uint64_t at = 0, head = ring_head(ring);
	int nr = 0;

	for (; at < head; at += record.header.size) {
		ASSERT_TRUE(ring_record_at(ring, at, head, &record));
		if (record.header.type != PERF_RECORD_READ)
			continue;
		ASSERT_EQ(sizeof(*read), record.header.size);
		EXPECT_EQ(cpu, (int)read->id.cpu);
		EXPECT_EQ(read->pid, read->id.pid);
		EXPECT_EQ(read->tid, read->id.tid);
		nr++;
	}
	return nr;
}

/*
 * Each child wrote its counts to the ring of the CPU that it was pinned to, and
 * to others if it ran there before.
 */
static void check_all_counts(struct __test_metadata *_metadata,
			     FIXTURE_DATA(inherited) *self)
{
	for (int i = 0; i < self->nr_cpus; i++) {
		int nr = check_counts(_metadata, &self->rings[i], nth_cpu(i));

		EXPECT_GE(nr, CHILDREN);
		EXPECT_LE(nr, CHILDREN * self->nr_cpus);
	}
}

/* attr.inherit_stat: the counts of a task are written when it exits. */
TEST_F(inherited, counts_at_exit)
{
	int nr;

	if (self->nr_cpus < 2)
		SKIP(return, "needs two CPUs");
	count_children(_metadata, self, false);
	run_children(_metadata, self, false);
	nr = check_counts(_metadata, &self->rings[0], nth_cpu(0));
	if (!nr)
		SKIP(return, "this kernel writes no counts at exit");
	check_all_counts(_metadata, self);
}

/* The same if its events are removed because it executes a program. */
TEST_F(inherited, counts_at_exec)
{
	if (self->nr_cpus < 2)
		SKIP(return, "needs two CPUs");
	count_children(_metadata, self, true);
	run_children(_metadata, self, true);
	check_all_counts(_metadata, self);
}

/* Use CPU time without being preempted, and execute a program. */
static void compute_and_exec(long ms)
{
	struct sched_param param = { .sched_priority = 1 };
	struct timespec used;

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		_exit(KSFT_SKIP);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < ms);
	execl("/bin/true", "true", NULL);
	_exit(1);
}

/* attr.remove_on_exec: the parent's event gets all that was counted. */
TEST_F(inherited, sum_at_exec)
{
	struct perf_event_attr attr =
		ATTR_DUMMY(.config = PERF_COUNT_SW_TASK_CLOCK, .inherit = 1,
			   .sample_period = 0, .exclude_kernel = 0,
			   .remove_on_exec = 1);
	int fd = perf_open(&attr, 0, -1), status;
	uint64_t ns;
	pid_t child;

	ASSERT_GE(fd, 0)
		TH_LOG("perf_event_open: %s", strerror(errno));
	child = fork();
	ASSERT_GE(child, 0);
	if (!child)
		compute_and_exec(40);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	if (WEXITSTATUS(status) == KSFT_SKIP)
		SKIP(return, "cannot use SCHED_FIFO");
	ASSERT_EQ(0, status);
	ASSERT_EQ(sizeof(ns), read(fd, &ns, sizeof(ns)));
	close(fd);
	EXPECT_GE(ns, 20000000);
}

/* Execute a program without being preempted, when @fd is written to. */
static void wait_and_exec(int fd)
{
	struct sched_param param = { .sched_priority = 1 };
	char byte;

	if (read(fd, &byte, 1) != 1)
		_exit(1);
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		_exit(KSFT_SKIP);
	execl("/bin/true", "true", NULL);
	_exit(1);
}

/*
 * attr.remove_on_exec: the leader of a group is removed. A sibling that stays
 * goes on counting, here together with an event without a group.
 */
TEST_F(inherited, siblings_at_exec)
{
	struct perf_event_attr
		removed = ATTR_DUMMY(.sample_period = 0, .remove_on_exec = 1),
		faults = ATTR_FAULTS(.sample_period = 0, .disabled = 1,
				     .enable_on_exec = 1);
	int leader, sibling, single, start[2], status;
	uint64_t count, expected;
	pid_t child;

	/* Load the program: faults that read it would switch to other tasks. */
	ASSERT_EQ(0, system("/bin/true"));
	ASSERT_EQ(0, pipe(start));
	child = fork();
	ASSERT_GE(child, 0);
	if (!child)
		wait_and_exec(start[0]);
	leader = perf_open(&removed, child, -1);
	ASSERT_GE(leader, 0)
		TH_LOG("perf_event_open: %s", strerror(errno));
	sibling = syscall(SYS_perf_event_open, &faults, child, -1, leader,
			  PERF_FLAG_FD_CLOEXEC);
	ASSERT_GE(sibling, 0);
	single = perf_open(&faults, child, -1);
	ASSERT_GE(single, 0);
	ASSERT_EQ(1, write(start[1], "", 1));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	if (WEXITSTATUS(status) == KSFT_SKIP)
		SKIP(return, "cannot use SCHED_FIFO");
	ASSERT_EQ(0, status);
	ASSERT_EQ(sizeof(count), read(sibling, &count, sizeof(count)));
	ASSERT_EQ(sizeof(expected), read(single, &expected, sizeof(expected)));
	EXPECT_LT(0, expected);
	EXPECT_EQ(expected, count);
	close(sibling);
	close(single);
	close(leader);
	close(start[0]);
	close(start[1]);
}

static void *exit_at_once(void *arg)
{
	return NULL;
}

/*
 * The last sample of a thread is its last context switch. A thread that is not
 * the leader has been reaped by then.
 */
TEST_F(inherited, exiting_threads)
{
	struct perf_event_attr attr =
		ATTR_DUMMY(.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
			   .exclude_kernel = 0,
			   .sample_type = PERF_SAMPLE_TID);
	struct ring *ring = &self->rings[0];
	const struct {
		struct perf_event_header	header;
		uint32_t			pid, tid;
	} *sample;
	int fd, own = 0, unknown = 0;
	static struct record record;
	uint64_t at = 0, head;

	pin_to_cpu(nth_cpu(0));
	fd = perf_open(&attr, -1, nth_cpu(0));
	if (fd < 0 && errno == EACCES)
		SKIP(return, "needs CAP_PERFMON");
	ASSERT_EQ(0, ring_map(ring, fd, 256, PROT_READ | PROT_WRITE));
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		ASSERT_EQ(0, pthread_create(&thread, NULL, exit_at_once, NULL));
		ASSERT_EQ(0, pthread_join(thread, NULL));
	}
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	for (head = ring_head(ring); at < head; at += record.header.size) {
		ASSERT_TRUE(ring_record_at(ring, at, head, &record));
		sample = (const void *)record.bytes;
		if (record.header.type != PERF_RECORD_SAMPLE)
			continue;
		own += sample->pid == (uint32_t)getpid();
		unknown += sample->tid == (uint32_t)-1;
	}
	EXPECT_GE(own, THREADS);
	EXPECT_EQ(0, unknown);
}

/*
 * The ring of an event on any CPU moves with its task. The children of another
 * event would write to it on their own CPUs.
 */
TEST_F(inherited, redirected)
{
	struct perf_event_attr attr = ATTR_DUMMY();
	struct ring *ring = &self->rings[0];
	int fd = perf_open(&attr, 0, -1), inherited, same;

	ASSERT_EQ(0, ring_map(ring, fd, 1, PROT_READ | PROT_WRITE));
	attr.inherit = 1;
	inherited = perf_open(&attr, 0, -1);
	ASSERT_GE(inherited, 0);
	EXPECT_EQ(-1, ioctl(inherited, PERF_EVENT_IOC_SET_OUTPUT, fd));
	EXPECT_EQ(EINVAL, errno);
	close(inherited);

	attr.inherit = 0;
	same = perf_open(&attr, 0, -1);
	ASSERT_GE(same, 0);
	EXPECT_EQ(0, ioctl(same, PERF_EVENT_IOC_SET_OUTPUT, fd));
	close(same);
}

#define PUSH_FAULTS	1009	/* more than fit in a ring of one page */

/* Cause page faults, and some more when the ring has space again. */
static void overflow_ring(struct faults *faults, int in, int out)
{
	char byte = 0;

	pin_to_cpu(nth_cpu(0));
	for (int i = 0; i < PUSH_FAULTS; i++)
		fault(faults, i);
	if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
		_exit(1);
	for (int i = 0; i < 11; i++)
		fault(faults, i);
	_exit(0);
}

/*
 * A LOST record has the ids of the parent's event. The sample that it precedes
 * has those of the child's, and its own time.
 */
TEST_F(inherited, sample_after_lost)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.inherit = 1, .sample_id_all = 1,
			    .sample_type = PERF_SAMPLE_STREAM_ID |
					   PERF_SAMPLE_ID | PERF_SAMPLE_ADDR);
	int fd = perf_open(&attr, 0, nth_cpu(0)), down[2], up[2], status;
	uint64_t id, tail, head, lost = 0, samples = 0;
	struct ring *ring = &self->rings[0];
	static struct record record;
	struct faults faults;
	pid_t child;
	char byte;

	ASSERT_TRUE(faults_init(&faults, PUSH_FAULTS));
	ASSERT_EQ(0, ring_map(ring, fd, 1, PROT_READ | PROT_WRITE));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ID, &id));
	ASSERT_EQ(0, pipe(down));
	ASSERT_EQ(0, pipe(up));
	child = fork();
	ASSERT_GE(child, 0);
	if (!child)
		overflow_ring(&faults, down[0], up[1]);
	ASSERT_EQ(1, read(up[0], &byte, 1));
	tail = ring_head(ring);
	ring_set_tail(ring, tail);
	ASSERT_EQ(1, write(down[1], &byte, 1));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_EQ(0, status);

	head = ring_head(ring);
	for (; tail < head; tail += record.header.size) {
		ASSERT_TRUE(ring_record_at(ring, tail, head, &record));
		if (record.header.type == PERF_RECORD_LOST) {
			lost += record.words[2];
			EXPECT_EQ(id, record.words[3]);
			EXPECT_EQ(id, record.words[4]);
		}
		if (record.header.type != PERF_RECORD_SAMPLE ||
		    !is_fault_of(&faults, record.words[1]))
			continue;
		samples++;
		EXPECT_EQ(id, record.words[2]);
		EXPECT_NE(id, record.words[3]);		/* stream_id */
	}
	EXPECT_LT(0, lost);
	EXPECT_EQ(11, samples);
	for (int i = 0; i < 2; i++) {
		close(down[i]);
		close(up[i]);
	}
	faults_free(&faults);
}

TEST_HARNESS_MAIN
