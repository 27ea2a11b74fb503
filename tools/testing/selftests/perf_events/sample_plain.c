// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test events whose samples the kernel outputs in one go (plain samples), where
 * they have to be output in another way: with a limit, another period, a
 * signal, a BPF program, in another namespace. Change such events while they
 * are written.
 */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include <linux/bpf.h>

#include "ring.h"

#define FIELDS (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID)

struct plain_sample {
	struct perf_event_header	header;
	uint64_t			id, ip;
	uint32_t			pid, tid;
};

FIXTURE(plain)
{
	struct faults	faults;
	struct ring	ring;
	uint64_t	id;
};

FIXTURE_SETUP(plain)
{
	struct perf_event_attr attr = ATTR_FAULTS(.sample_type = FIELDS,
						  .disabled = 1);
	int fd;

	ASSERT_TRUE(faults_init(&self->faults, 64));
	fd = perf_open(&attr, 0, -1);
	ASSERT_GE(fd, 0)
		TH_LOG("perf_event_open: %s", strerror(errno));
	ASSERT_EQ(0, ring_map(&self->ring, fd, 8, PROT_READ | PROT_WRITE));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ID, &self->id));
}

FIXTURE_TEARDOWN(plain)
{
	ring_close(&self->ring);
	faults_free(&self->faults);
}

/* Return header.misc of a sample at @ip. */
static uint16_t mode_of(uint64_t ip)
{
	return ip >> 63 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
}

/*
 * Check the fields of the samples in [@at, @head). @id: 0 for any event.
 * Returns the number of those of task @tid of process @pid, or of all tasks if
 * @tid is 0; -1 if a record is wrong.
 */
static int check_samples(const struct ring *ring, uint64_t at, uint64_t head,
			 uint64_t id, pid_t pid, pid_t tid)
{
	static struct record record;
	const struct plain_sample *sample = (const void *)record.bytes;
	int nr = 0;

	for (; at < head; at += record.header.size) {
		if (!ring_record_at(ring, at, head, &record))
			return -1;
		if (record.header.type != PERF_RECORD_SAMPLE)
			continue;
		if (record.header.size != sizeof(*sample) ||
		    (id && sample->id != id) || !sample->ip ||
		    record.header.misc != mode_of(sample->ip))
			return -1;
		nr += !tid || (sample->pid == pid && sample->tid == tid);
	}
	return nr;
}

/* Read the samples of a streaming ring. */
static int count_samples(struct ring *ring, uint64_t id, pid_t pid, pid_t tid)
{
	uint64_t head = ring_head(ring);
	int nr = check_samples(ring, ring->page->data_tail, head, id, pid, tid);

	ring_set_tail(ring, head);
	return nr;
}

/* Cause @nr page faults while the event is as it is. Returns new samples. */
static int sample(FIXTURE_DATA(plain) *self, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		fault(&self->faults, i);
	return count_samples(&self->ring, self->id, getpid(), gettid());
}

/*
 * Other code of this process may cause a page fault as well. It does not once it
 * has run.
 */
static void warm_up(FIXTURE_DATA(plain) *self)
{
	ioctl(self->ring.fd, PERF_EVENT_IOC_ENABLE, 0);
	sample(self, 1);
	ioctl(self->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	sample(self, 1);
}

TEST_F(plain, enable_and_disable)
{
	warm_up(self);
	EXPECT_EQ(0, sample(self, 7));
	ASSERT_EQ(0, ioctl(self->ring.fd, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_EQ(7, sample(self, 7));
	ASSERT_EQ(0, ioctl(self->ring.fd, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(0, sample(self, 7));
}

TEST_F(plain, refresh_limits_samples)
{
	warm_up(self);
	ASSERT_EQ(0, ioctl(self->ring.fd, PERF_EVENT_IOC_REFRESH, 3));
	EXPECT_EQ(3, sample(self, 11));
	ASSERT_EQ(0, ioctl(self->ring.fd, PERF_EVENT_IOC_REFRESH, 5));
	EXPECT_EQ(5, sample(self, 11));
}

TEST_F(plain, period_changes)
{
	uint64_t period = 3;

	warm_up(self);
	ASSERT_EQ(0, ioctl(self->ring.fd, PERF_EVENT_IOC_PERIOD, &period));
	ASSERT_EQ(0, ioctl(self->ring.fd, PERF_EVENT_IOC_ENABLE, 0));
	sample(self, 3);	/* the first period begins anywhere */
	EXPECT_EQ(5, sample(self, 15));
	period = 1;
	ASSERT_EQ(0, ioctl(self->ring.fd, PERF_EVENT_IOC_PERIOD, &period));
	EXPECT_EQ(13, sample(self, 13));
}

/* Only breakpoints can be modified in this way. */
TEST_F(plain, attributes_cannot_be_modified)
{
	struct perf_event_attr attr = ATTR_FAULTS(.sample_type = FIELDS,
						  .exclude_user = 1);

	warm_up(self);
	ASSERT_EQ(0, ioctl(self->ring.fd, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_EQ(-1, ioctl(self->ring.fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES,
			    &attr));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_LE(7, sample(self, 7));
}

static volatile sig_atomic_t signals;

static void count_signal(int signal)
{
	signals++;
}

TEST_F(plain, each_sample_signals)
{
	int fd = self->ring.fd;

	ASSERT_NE(SIG_ERR, signal(SIGIO, count_signal));
	ASSERT_EQ(0, fcntl(fd, F_SETOWN, getpid()));
	warm_up(self);
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_EQ(5, sample(self, 5));
	EXPECT_EQ(0, signals);
	ASSERT_EQ(0, fcntl(fd, F_SETFL, O_ASYNC));
	/* The handler's first run may cause faults. */
	EXPECT_LE(5, sample(self, 5));
	EXPECT_LE(1, signals);
	ASSERT_EQ(0, fcntl(fd, F_SETFL, 0));
	sample(self, 1);
	signals = 0;
	EXPECT_EQ(5, sample(self, 5));
	EXPECT_EQ(0, signals);
}

/* Load a program that drops each sample. Returns its descriptor, or -1. */
static int load_dropping_program(void)
{
	const struct bpf_insn instructions[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_PERF_EVENT;
	attr.insn_cnt = sizeof(instructions) / sizeof(*instructions);
	attr.insns = (uintptr_t)instructions;
	attr.license = (uintptr_t)"GPL";
	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

TEST_F(plain, program_drops_samples)
{
	int program = load_dropping_program(), fd = self->ring.fd;
	uint64_t before, after;

	if (program < 0)
		SKIP(return, "bpf: %s", strerror(errno));
	warm_up(self);
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_EQ(5, sample(self, 5));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_SET_BPF, program));
	ASSERT_EQ(sizeof(before), read(fd, &before, sizeof(before)));
	EXPECT_EQ(0, sample(self, 5));
	ASSERT_EQ(sizeof(after), read(fd, &after, sizeof(after)));
	EXPECT_LE(before + 5, after);
	close(program);
}

/* Count samples of faults of a process that is number 1 of a namespace. */
static int sample_in_namespace(struct faults *faults)
{
	struct perf_event_attr attr = ATTR_FAULTS(.sample_type = FIELDS);
	struct ring ring;
	uint64_t id;
	int fd = perf_open(&attr, 0, -1), i;

	if (fd < 0 || ring_map(&ring, fd, 8, PROT_READ | PROT_WRITE) ||
	    ioctl(fd, PERF_EVENT_IOC_ID, &id))
		return -1;
	for (i = 0; i < 5; i++)
		fault(faults, i);
	return count_samples(&ring, id, 1, 1);
}

TEST_F(plain, pid_of_namespace)
{
	int status = 1;
	pid_t child;

	REQUIRE_ROOT();
	if (unshare(CLONE_NEWPID))
		SKIP(return, "no PID namespaces: %s", strerror(errno));
	child = fork();
	if (!child)
		_exit(sample_in_namespace(&self->faults) < 5);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

/* Children write to the ring of their parent, with its id. */
TEST_F(plain, inherited)
{
	struct perf_event_attr attr = ATTR_FAULTS(.sample_type = FIELDS,
						  .inherit = 1);
	struct ring ring;
	uint64_t id;
	int cpu = nth_cpu(0), fd, i;
	pid_t child;

	ASSERT_EQ(0, pin_to_cpu(cpu));
	fd = perf_open(&attr, 0, cpu);
	ASSERT_GE(fd, 0)
		TH_LOG("perf_event_open: %s", strerror(errno));
	ASSERT_EQ(0, ring_map(&ring, fd, 64, PROT_READ | PROT_WRITE));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ID, &id));
	child = fork();
	if (!child) {
		for (i = 0; i < 50; i++)
			fault(&self->faults, i);
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	EXPECT_LE(50, count_samples(&ring, id, child, child));
	ring_close(&ring);
}

/*
 * Open an event of this task only. A switch from this task to its child then
 * no longer exchanges their events: the child has its inherited ones.
 */
static int keep_own_events(void)
{
	struct perf_event_attr attr = ATTR_DUMMY();

	return perf_open(&attr, 0, -1);
}

/* A child's samples signal the owner of its parent's event. */
TEST_F(plain, inherited_signals)
{
	struct perf_event_attr attr = ATTR_FAULTS(.sample_type = FIELDS,
						  .inherit = 1);
	int fd = perf_open(&attr, 0, -1), round, i;
	pid_t child;

	ASSERT_GE(fd, 0)
		TH_LOG("perf_event_open: %s", strerror(errno));
	ASSERT_NE(SIG_ERR, signal(SIGIO, count_signal));
	ASSERT_EQ(0, fcntl(fd, F_SETOWN, getpid()));
	child = fork();
	if (!child) {
		for (round = 0; round < 3; round++) {
			raise(SIGSTOP);
			for (i = 0; i < 5; i++)
				fault(&self->faults, i);
		}
		_exit(0);
	}
	ASSERT_LE(0, keep_own_events());
	ASSERT_EQ(0, fcntl(fd, F_SETFL, O_ASYNC));
	/* This process causes page faults in the first rounds as well. */
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(child, waitpid(child, NULL, WUNTRACED));
		signals = 0;
		ASSERT_EQ(0, kill(child, SIGCONT));
	}
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	EXPECT_LE(1, signals);
	close(fd);
}

/* The filter is that of the parent's event. */
TEST(inherited_filter)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.sample_type = FIELDS,
		.sample_period = 1,
		.inherit = 1,
	};
	int id = tracepoint_id("raw_syscalls/sys_enter"), fd, i;
	char filter[32];
	struct ring ring;
	pid_t child;

	REQUIRE_ROOT();
	if (id < 0)
		SKIP(return, "no tracepoint raw_syscalls:sys_enter");
	attr.config = id;
	ASSERT_EQ(0, pin_to_cpu(nth_cpu(0)));
	fd = perf_open(&attr, 0, nth_cpu(0));
	ASSERT_GE(fd, 0)
		TH_LOG("perf_event_open: %s", strerror(errno));
	snprintf(filter, sizeof(filter), "id == %d", SYS_getppid);
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter));
	ASSERT_EQ(0, ring_map(&ring, fd, 64, PROT_READ | PROT_WRITE));
	child = fork();
	if (!child) {
		raise(SIGSTOP);
		for (i = 0; i < 50; i++)
			syscall(i < 19 ? SYS_getppid : SYS_getpid);
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, NULL, WUNTRACED));
	ASSERT_LE(0, keep_own_events());
	ASSERT_EQ(0, kill(child, SIGCONT));
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	EXPECT_EQ(19, count_samples(&ring, 0, child, child));
	ring_close(&ring);
}

/*
 * A tracepoint that counts more than one: with a period of 1 there are as many
 * samples, up to the limit of a tick, unless a sample has its own period.
 */
TEST(counts_of_tracepoint)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.sample_period = 1,
	};
	int id = tracepoint_id("sched/sched_stat_runtime"), nr[2], i;
	static struct record record;
	struct ring rings[2];

	REQUIRE_ROOT();
	if (id < 0)
		SKIP(return, "no tracepoint sched:sched_stat_runtime");
	attr.config = id;
	for (i = 0; i < 2; i++) {
		attr.sample_type = FIELDS | (i ? PERF_SAMPLE_PERIOD : 0);
		ASSERT_EQ(0, ring_map(&rings[i], perf_open(&attr, 0, -1), 256,
				      PROT_READ | PROT_WRITE));
	}
	for (i = 0; i < 10; i++)
		usleep(1000);
	for (i = 0; i < 2; i++) {
		ioctl(rings[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		nr[i] = ring_head(&rings[i]) /
			(sizeof(struct plain_sample) + 8 * i);
	}
	ASSERT_LT(0, nr[1]);
	ASSERT_TRUE(ring_record_at(&rings[1], 0, ring_head(&rings[1]),
				   &record));
	EXPECT_LT(1, record.words[sizeof(struct plain_sample) / 8]);
	EXPECT_LT(nr[1], nr[0]);
	ring_close(&rings[0]);
	ring_close(&rings[1]);
}

/* A wake-up counts for the task that is woken, in the context of another one. */
TEST(wakeups_of_other_task)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.sample_type = FIELDS,
		.sample_period = 1,
	};
	int id = tracepoint_id("sched/sched_wakeup"), fds[4], fd, i;
	uint64_t count;
	char filter[32];
	char byte = 0;
	pid_t child;

	REQUIRE_ROOT();
	if (id < 0)
		SKIP(return, "no tracepoint sched:sched_wakeup");
	attr.config = id;
	ASSERT_EQ(0, pin_to_cpu(nth_cpu(0)));
	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ(0, pipe(fds + 2));
	child = fork();
	if (!child) {
		close(fds[1]);
		while (read(fds[0], &byte, 1) == 1 &&
		       write(fds[3], &byte, 1) == 1)
			;
		_exit(0);
	}
	/* Only events on one CPU are counted in the context of another task. */
	fd = perf_open(&attr, child, nth_cpu(0));
	ASSERT_GE(fd, 0)
		TH_LOG("perf_event_open: %s", strerror(errno));
	/* Without a filter, the event would count wake-ups by the child. */
	snprintf(filter, sizeof(filter), "pid == %d", child);
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(1, write(fds[1], &byte, 1));
		ASSERT_EQ(1, read(fds[2], &byte, 1));
	}
	ASSERT_EQ(sizeof(count), read(fd, &count, sizeof(count)));
	EXPECT_LT(0, count);
	close(fds[1]);
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	close(fd);
}

/*
 * Change an event in all ways while another thread causes it. Each record must
 * be complete, in whichever ring it is.
 */
TEST(changed_while_written)
{
	struct perf_event_attr attr = ATTR_FAULTS(.sample_type = FIELDS);
	struct perf_event_attr target = ATTR_DUMMY(.sample_type = FIELDS);
	struct fault_thread thread;
	struct ring rings[2];
	uint64_t id, end, rounds;
	int fd, i, nr, samples = 0;

	ASSERT_TRUE(fault_thread_start(&thread));
	fd = perf_open(&attr, thread.tid, -1);
	ASSERT_GE(fd, 0)
		TH_LOG("perf_event_open: %s", strerror(errno));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ID, &id));
	for (i = 0; i < 2; i++) {
		int ring_fd = perf_open(&target, thread.tid, -1);

		ASSERT_GE(ring_fd, 0);
		ASSERT_EQ(0, ring_map(&rings[i], ring_fd, 8,
				      PROT_READ | PROT_WRITE));
	}

	end = now_ms() + 2000;
	for (rounds = 0; now_ms() < end || !samples; rounds++) {
		uint64_t period = 1 + rounds % 3;
		int ring = rounds % 3;

		ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT,
				   ring < 2 ? (long)rings[ring].fd : -1L))
			TH_LOG("ring %d: %s", ring, strerror(errno));
		ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
		/* The descriptor has no owner, so nobody receives the signals. */
		fcntl(fd, F_SETFL, rounds & 4 ? O_ASYNC : 0);
		if (rounds % 5 == 0)
			ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		if (rounds % 7 == 0)
			ioctl(fd, PERF_EVENT_IOC_REFRESH, 2);
		if (rounds % 11 == 0)
			ioctl(rings[0].fd, PERF_EVENT_IOC_PAUSE_OUTPUT,
			      rounds % 2);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		for (i = 0; i < 2; i++) {
			nr = count_samples(&rings[i], id, getpid(), thread.tid);
			ASSERT_LE(0, nr);
			samples += nr;
		}
		ASSERT_LT(now_ms(), end + 60000);
	}
	fault_thread_stop(&thread);
	for (i = 0; i < 2; i++) {
		EXPECT_LE(0, count_samples(&rings[i], id, getpid(),
					   thread.tid));
		ring_close(&rings[i]);
	}
	close(fd);
}

/* Close events while they are written to the ring of another one. */
TEST(removed_while_written)
{
	struct perf_event_attr attr = ATTR_FAULTS(.sample_type = FIELDS);
	struct perf_event_attr target = ATTR_DUMMY(.sample_type = FIELDS);
	struct fault_thread thread;
	uint64_t end, deadline;
	int round, fd, cpu;
	struct ring ring;

	ASSERT_TRUE(fault_thread_start(&thread));
	for (round = 0; round < 24; round++) {
		bool on_cpu = round & 1 && !geteuid();
		pid_t tid = on_cpu ? -1 : thread.tid;

		/* Let the task run on both CPUs, if there are two. */
		cpu = nth_cpu(round & 2 && nth_cpu(1) >= 0);
		ASSERT_EQ(0, pin_thread(thread.tid, cpu));
		if (!on_cpu)
			cpu = -1;
		ASSERT_EQ(0, ring_map(&ring, perf_open(&target, tid, cpu), 256,
				      round & 4 ? PROT_READ :
						  PROT_READ | PROT_WRITE));
		fd = perf_open(&attr, tid, cpu);
		ASSERT_GE(fd, 0);
		ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring.fd));
		deadline = now_ms() + 60000;
		while (!ring_head(&ring)) {
			ASSERT_LT(now_ms(), deadline);
			usleep(100);
		}
		close(fd);

		/* The event is gone: the ring is idle, and all is complete. */
		end = ring_head(&ring);
		if (end <= ring.size) {
			ASSERT_LT(0, check_samples(&ring, 0, end, 0, 0, 0));
		}
		usleep(1000);
		ASSERT_EQ(end, ring_head(&ring));
		ring_close(&ring);
	}
	fault_thread_stop(&thread);
}

/* Cause faults in threads, and become another program meanwhile. */
static void fault_and_exec(int start)
{
	struct fault_thread threads[2];
	char byte;
	int i;

	if (read(start, &byte, 1) != 1)
		_exit(1);
	for (i = 0; i < 2; i++)
		if (!fault_thread_start(&threads[i]))
			_exit(1);
	while (!atomic_load(&threads[0].faults) ||
	       !atomic_load(&threads[1].faults))
		sched_yield();
	execl("/bin/true", "true", NULL);
	_exit(1);
}

/*
 * exec() ends the threads of a process while they write to the ring of their
 * parent's event, and may remove the event.
 */
TEST(exec_while_written)
{
	int round, pipes[2], status, cpu = nth_cpu(0);

	ASSERT_EQ(0, pin_to_cpu(cpu));
	for (round = 0; round < 6; round++) {
		struct perf_event_attr attr =
			ATTR_FAULTS(.sample_type = FIELDS, .inherit = 1,
				    .remove_on_exec = round & 1);
		struct ring ring;
		uint64_t id;
		pid_t child;

		ASSERT_EQ(0, pipe(pipes));
		child = fork();
		if (!child)
			fault_and_exec(pipes[0]);
		ASSERT_EQ(0, ring_map(&ring, perf_open(&attr, child, cpu), 1024,
				      PROT_READ | PROT_WRITE));
		ASSERT_EQ(0, ioctl(ring.fd, PERF_EVENT_IOC_ID, &id));
		ASSERT_EQ(1, write(pipes[1], "", 1));
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_EQ(0, status);
		EXPECT_LT(0, count_samples(&ring, id, 0, 0));
		ring_close(&ring);
		close(pipes[0]);
		close(pipes[1]);
	}
}

TEST_HARNESS_MAIN
