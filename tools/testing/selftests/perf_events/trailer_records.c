// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every kind of record of an event with PERF_SAMPLE_SIZE_AT_END ends with a trailer that tells its
 * size and position, and its sample ids stand right before it. Each test causes one kind; then the
 * ring is read upward by header.size and downward by trailers, and that must give the same.
 */
#include "ring.h"

#include <linux/bpf.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define IDS		(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define RING_PAGES	64
#define MAX_RECORDS	65536

#define RATE_FILE	"/proc/sys/kernel/perf_event_max_sample_rate"

FIXTURE(trailer)
{
	struct ring	ring;
	struct faults	faults;
	uint64_t	id;
	int		counts[PERF_RECORD_MAX];
};

FIXTURE_VARIANT(trailer)
{
	int		prot;
	uint64_t	ids;
};

FIXTURE_VARIANT_ADD(trailer, overwrite)
{
	.prot = PROT_READ, .ids = IDS,
};

FIXTURE_VARIANT_ADD(trailer, overwrite_without_ids)
{
	.prot = PROT_READ,
};

FIXTURE_VARIANT_ADD(trailer, streaming)
{
	.prot = PROT_READ | PROT_WRITE, .ids = IDS,
};

FIXTURE_SETUP(trailer)
{
	self->ring.fd = -1;
	REQUIRE_SIZE_AT_END();
	ASSERT_TRUE(faults_init(&self->faults, 1024));
}

FIXTURE_TEARDOWN(trailer)
{
	ring_close(&self->ring);
	faults_free(&self->faults);
}

/* Opens and maps, enabled; fails only if mapping does. Returns false if the event is refused. */
static bool start(struct __test_metadata *_metadata, FIXTURE_DATA(trailer) *self,
		  const FIXTURE_VARIANT(trailer) *variant, struct perf_event_attr attr, pid_t pid,
		  int cpu)
{
	int fd;

	attr.sample_type |= PERF_SAMPLE_SIZE_AT_END | variant->ids;
	attr.sample_id_all = !!variant->ids;
	attr.disabled = 1;
	fd = perf_open(&attr, pid, cpu);
	if (fd < 0)
		return false;
	ASSERT_EQ(0, ring_map(&self->ring, fd, RING_PAGES, variant->prot));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ID, &self->id));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	return true;
}

static void check_record(struct __test_metadata *_metadata, FIXTURE_DATA(trailer) *self,
			 const FIXTURE_VARIANT(trailer) *variant, const struct record *record)
{
	int words = record->header.size / 8;

	EXPECT_TRUE(record_trailer_is_right(record))
		TH_LOG("record of type %u, %u bytes, at %llu", record->header.type,
		       record->header.size, (unsigned long long)record->position);
	if (variant->ids) {
		int at = record->header.type == PERF_RECORD_SAMPLE ? 1 : words - 2;

		EXPECT_EQ(self->id, record->words[at])
			TH_LOG("type %u", record->header.type);
	}
	ASSERT_LT(record->header.type, (unsigned int)PERF_RECORD_MAX);
	self->counts[record->header.type]++;
}

/* Stops and reads [@begin, head): upward, then downward. */
static void check_from(struct __test_metadata *_metadata, FIXTURE_DATA(trailer) *self,
		       const FIXTURE_VARIANT(trailer) *variant, uint64_t begin)
{
	static uint64_t positions[MAX_RECORDS];
	static struct record record;
	uint64_t head, position;
	int n = 0;

	ioctl(self->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	head = ring_head(&self->ring);
	memset(self->counts, 0, sizeof(self->counts));
	for (position = begin; position < head; position += record.header.size) {
		ASSERT_TRUE(ring_record_at(&self->ring, position, head, &record));
		check_record(_metadata, self, variant, &record);
		ASSERT_LT(n, MAX_RECORDS);
		positions[n++] = position;
	}
	EXPECT_EQ(head, position);

	for (position = head; position > begin; position = record.position) {
		ASSERT_TRUE(ring_record_before(&self->ring, position, begin, &record));
		ASSERT_GT(n, 0);
		ASSERT_EQ(positions[--n], record.position);
	}
	EXPECT_EQ(0, n);
}

static void check(struct __test_metadata *_metadata, FIXTURE_DATA(trailer) *self,
		  const FIXTURE_VARIANT(trailer) *variant)
{
	ASSERT_LE(ring_head(&self->ring), self->ring.size);
	check_from(_metadata, self, variant, 0);
}

static void cause_faults(FIXTURE_DATA(trailer) *self, int n)
{
	for (int i = 0; i < n; i++)
		fault(&self->faults, i);
}

TEST_F(trailer, samples)
{
	for (int bit = 0; 1ULL << bit < PERF_SAMPLE_MAX; bit++) {
		struct perf_event_attr attr = ATTR_FAULTS(
			.sample_type = 1ULL << bit, .sample_regs_user = 1, .sample_regs_intr = 1,
			.sample_stack_user = 1024,
			.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_ID);

		/* Branch stacks and AUX data are not for software events. */
		if (!start(_metadata, self, variant, attr, 0, -1)) {
			TH_LOG("sample_type 1 << %d: %s", bit, strerror(errno));
			continue;
		}
		cause_faults(self, 7);
		check(_metadata, self, variant);
		EXPECT_LE(7, self->counts[PERF_RECORD_SAMPLE])
			TH_LOG("sample_type 1 << %d", bit);
		ring_close(&self->ring);
	}
}

TEST_F(trailer, samples_with_many_fields)
{
	struct perf_event_attr attr = ATTR_FAULTS(
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_READ |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW |
			       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
			       PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |
			       PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR,
		.sample_regs_user = 1, .sample_stack_user = 512,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID | PERF_FORMAT_LOST);

	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, -1));
	cause_faults(self, 101);
	check(_metadata, self, variant);
	EXPECT_LE(101, self->counts[PERF_RECORD_SAMPLE]);
}

/* The longest there is: header.size is 16 bits wide, the trailer included. */
TEST_F(trailer, samples_as_large_as_can_be)
{
	struct perf_event_attr attr = ATTR_FAULTS(.sample_type = PERF_SAMPLE_STACK_USER,
						  .sample_stack_user = 65528);

	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, -1));
	cause_faults(self, 3);
	check(_metadata, self, variant);
	EXPECT_LE(3, self->counts[PERF_RECORD_SAMPLE]);
	EXPECT_LE(3 * 65000, ring_head(&self->ring));
}

TEST_F(trailer, samples_of_a_tracepoint)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT, .sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN,
	};
	int id = tracepoint_id("raw_syscalls/sys_enter");

	REQUIRE_ROOT();
	if (id < 0)
		SKIP(return, "no tracepoint raw_syscalls:sys_enter");
	attr.config = id;
	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, -1));
	for (int i = 0; i < 101; i++)
		getppid();
	check(_metadata, self, variant);
	EXPECT_LE(101, self->counts[PERF_RECORD_SAMPLE]);
}

static void map_executable_files(void)
{
	char name[] = "0123456789012345678901234567890123456789";

	for (size_t i = 0; i <= strlen(name); i++) {
		int fd = syscall(SYS_memfd_create, name + i, 0);
		void *map;

		if (ftruncate(fd, page_size()))
			break;
		map = mmap(NULL, page_size(), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		munmap(map, page_size());
		close(fd);
	}
}

TEST_F(trailer, mmap)
{
	ASSERT_TRUE(start(_metadata, self, variant, (struct perf_event_attr)ATTR_DUMMY(.mmap = 1),
			  0, -1));
	map_executable_files();
	check(_metadata, self, variant);
	EXPECT_EQ(41, self->counts[PERF_RECORD_MMAP]);
}

TEST_F(trailer, mmap2)
{
	ASSERT_TRUE(start(_metadata, self, variant,
			  (struct perf_event_attr)ATTR_DUMMY(.mmap = 1, .mmap2 = 1,
							     .mmap_data = 1), 0, -1));
	map_executable_files();
	check(_metadata, self, variant);
	EXPECT_LE(41, self->counts[PERF_RECORD_MMAP2]);
}

TEST_F(trailer, comm)
{
	char name[] = "abcdefghijklmno";

	ASSERT_TRUE(start(_metadata, self, variant, (struct perf_event_attr)ATTR_DUMMY(.comm = 1),
			  0, -1));
	for (size_t i = 0; i < strlen(name); i++)
		prctl(PR_SET_NAME, name + i);
	check(_metadata, self, variant);
	EXPECT_EQ(15, self->counts[PERF_RECORD_COMM]);
}

/* A child that inherits the event, on the CPU whose ring it is. */
static pid_t spawn_on(int cpu)
{
	pin_to_cpu(cpu);
	return fork();
}

static void wait_for(struct __test_metadata *_metadata, pid_t child)
{
	int status;

	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(trailer, fork_and_exit)
{
	int cpu = nth_cpu(0);

	ASSERT_TRUE(start(_metadata, self, variant,
			  (struct perf_event_attr)ATTR_DUMMY(.task = 1, .inherit = 1), 0, cpu));
	for (int i = 0; i < 11; i++) {
		pid_t child = spawn_on(cpu);

		if (!child)
			_exit(0);
		wait_for(_metadata, child);
	}
	check(_metadata, self, variant);
	EXPECT_EQ(11, self->counts[PERF_RECORD_FORK]);
	EXPECT_EQ(11, self->counts[PERF_RECORD_EXIT]);
}

TEST_F(trailer, exec)
{
	int cpu = nth_cpu(0);
	pid_t child;

	ASSERT_TRUE(start(_metadata, self, variant,
			  (struct perf_event_attr)ATTR_DUMMY(.mmap = 1, .comm = 1, .comm_exec = 1,
							     .task = 1, .inherit = 1), 0, cpu));
	child = spawn_on(cpu);
	if (!child) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	wait_for(_metadata, child);
	check(_metadata, self, variant);
	EXPECT_EQ(1, self->counts[PERF_RECORD_COMM]);
	EXPECT_LT(0, self->counts[PERF_RECORD_MMAP]);
}

/*
 * What a child counted is told when it loses its event, and is still there to tell of. It must have
 * an event of its own: tasks that have the same events swap them when one is switched to another.
 */
TEST_F(trailer, read)
{
	struct perf_event_attr attr = ATTR_FAULTS(.inherit = 1, .inherit_stat = 1,
						  .remove_on_exec = 1,
						  .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED);
	struct perf_event_attr not_inherited = ATTR_DUMMY();
	int cpu = nth_cpu(0), other = perf_open(&not_inherited, 0, -1);
	pid_t child;

	ASSERT_GE(other, 0);
	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, cpu));
	child = spawn_on(cpu);
	if (!child) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	wait_for(_metadata, child);
	check(_metadata, self, variant);
	EXPECT_EQ(1, self->counts[PERF_RECORD_READ]);
	close(other);
}

TEST_F(trailer, context_switch)
{
	ASSERT_TRUE(start(_metadata, self, variant,
			  (struct perf_event_attr)ATTR_DUMMY(.context_switch = 1), 0, -1));
	for (int i = 0; i < 5; i++)
		usleep(1000);
	check(_metadata, self, variant);
	EXPECT_LE(2, self->counts[PERF_RECORD_SWITCH]);
}

TEST_F(trailer, context_switch_of_a_cpu)
{
	int cpu = nth_cpu(0);

	REQUIRE_ROOT();
	pin_to_cpu(cpu);
	ASSERT_TRUE(start(_metadata, self, variant,
			  (struct perf_event_attr)ATTR_DUMMY(.context_switch = 1), -1, cpu));
	for (int i = 0; i < 5; i++)
		usleep(1000);
	check(_metadata, self, variant);
	EXPECT_LE(2, self->counts[PERF_RECORD_SWITCH_CPU_WIDE]);
}

static int load_bpf_program(void)
{
	const struct bpf_insn instructions[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insn_cnt = 2,
		.insns = (uintptr_t)instructions,
		.license = (uintptr_t)"GPL",
		.prog_name = "trailer",
	};

	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

TEST_F(trailer, bpf)
{
	int program;

	REQUIRE_ROOT();
	ASSERT_TRUE(start(_metadata, self, variant,
			  (struct perf_event_attr)ATTR_DUMMY(.ksymbol = 1, .bpf_event = 1), 0,
			  -1));
	program = load_bpf_program();
	if (program < 0)
		SKIP(return, "bpf: %s", strerror(errno));
	close(program);
	check(_metadata, self, variant);
	EXPECT_LT(0, self->counts[PERF_RECORD_BPF_EVENT]);
	if (!self->counts[PERF_RECORD_KSYMBOL])
		TH_LOG("no KSYMBOL record: programs are interpreted");
}

TEST_F(trailer, namespaces)
{
	int cpu = nth_cpu(0);
	pid_t child;

	REQUIRE_ROOT();
	ASSERT_TRUE(start(_metadata, self, variant,
			  (struct perf_event_attr)ATTR_DUMMY(.namespaces = 1, .inherit = 1), 0,
			  cpu));
	child = spawn_on(cpu);
	if (!child)
		_exit(unshare(CLONE_NEWUTS) ? 1 : 0);
	wait_for(_metadata, child);
	check(_metadata, self, variant);
	EXPECT_LT(0, self->counts[PERF_RECORD_NAMESPACES]);
}

TEST_F(trailer, cgroup)
{
	char path[256];

	REQUIRE_ROOT();
	if (!start(_metadata, self, variant, (struct perf_event_attr)ATTR_DUMMY(.cgroup = 1), 0,
		   -1))
		SKIP(return, "no cgroup events: %s", strerror(errno));
	if (!make_cgroup(path, sizeof(path)))
		SKIP(return, "%s", path);
	rmdir(path);
	check(_metadata, self, variant);
	EXPECT_EQ(1, self->counts[PERF_RECORD_CGROUP]);
}

TEST_F(trailer, text_poke)
{
	struct perf_event_attr tracepoint = {
		.size = sizeof(tracepoint), .type = PERF_TYPE_TRACEPOINT, .sample_period = 1,
	};
	int id = tracepoint_id("sched/sched_process_exit"), fd;

	REQUIRE_ROOT();
	if (!start(_metadata, self, variant, (struct perf_event_attr)ATTR_DUMMY(.text_poke = 1), 0,
		   -1))
		SKIP(return, "no text_poke events: %s", strerror(errno));
	tracepoint.config = id;
	fd = perf_open(&tracepoint, 0, -1);
	if (fd < 0)
		SKIP(return, "no tracepoint to enable");
	close(fd);
	check(_metadata, self, variant);
	if (!self->counts[PERF_RECORD_TEXT_POKE])
		SKIP(return, "enabling a tracepoint changed no code");
}

static void write_rate(const char *rate)
{
	int fd = open(RATE_FILE, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, rate, strlen(rate)) < 0)
		fprintf(stderr, "# " RATE_FILE ": %s\n", strerror(errno));
	close(fd);
}

TEST_F(trailer, throttle)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 10000,
	};
	uint64_t deadline = now_ms() + 100;
	char old[32] = "";
	int fd = open(RATE_FILE, O_RDWR | O_CLOEXEC);

	REQUIRE_ROOT();
	if (fd < 0 || read(fd, old, sizeof(old) - 1) <= 0)
		SKIP(return, RATE_FILE ": %s", strerror(errno));
	close(fd);
	/* The limit is for all of the machine: back with it before anything can fail. */
	write_rate("1000");
	if (start(_metadata, self, variant, attr, 0, -1))
		while (now_ms() < deadline)
			;
	write_rate(old);
	check(_metadata, self, variant);
	EXPECT_LT(0, self->counts[PERF_RECORD_THROTTLE]);
	EXPECT_LT(0, self->counts[PERF_RECORD_UNTHROTTLE]);
}

TEST_F(trailer, lost)
{
	static struct record record;
	uint64_t end = 0, lost = 0;

	ASSERT_TRUE(start(_metadata, self, variant, (struct perf_event_attr)ATTR_FAULTS(), 0, -1));
	cause_faults(self, 3);
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, ioctl(self->ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
		cause_faults(self, 11);
		ASSERT_EQ(0, ioctl(self->ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
		cause_faults(self, 3);
	}
	check(_metadata, self, variant);
	EXPECT_EQ(5, self->counts[PERF_RECORD_LOST]);
	while (ring_record_at(&self->ring, end, ring_head(&self->ring), &record)) {
		if (record.header.type == PERF_RECORD_LOST) {
			EXPECT_LE(11, record.words[2]);
			lost += record.words[2];
			/* What fits comes after it, the first sample since. */
			EXPECT_LT(end + record.header.size, ring_head(&self->ring));
		}
		end += record.header.size;
	}
	EXPECT_LE(55, lost);
	EXPECT_GE(60, lost);
}

/* Many kinds and sizes, in a ring that has been written all over many times. */
TEST_F_TIMEOUT(trailer, many_kinds_wrapped, 120)
{
	struct perf_event_attr attr = ATTR_FAULTS(.sample_type = PERF_SAMPLE_ADDR, .mmap = 1,
						  .comm = 1, .task = 1, .context_switch = 1);
	char name[] = "abcdefghijklmno";
	static struct record record;
	uint64_t begin, head;

	if (variant->prot & PROT_WRITE)
		SKIP(return, "a streaming ring does not overwrite itself");
	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, -1));
	for (int i = 0; ring_head(&self->ring) < 3 * self->ring.size; i++) {
		cause_faults(self, 1 + i % 7);
		prctl(PR_SET_NAME, name + i % 15);
		map_executable_files();
	}
	ioctl(self->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	head = ring_head(&self->ring);
	for (begin = head; ring_record_before(&self->ring, begin, head - self->ring.size, &record);)
		begin = record.position;
	EXPECT_GT(512, begin - (head - self->ring.size))
		TH_LOG("the walk ended before it came to the oldest record");
	check_from(_metadata, self, variant, begin);
	EXPECT_LT(0, self->counts[PERF_RECORD_SAMPLE]);
	EXPECT_LT(0, self->counts[PERF_RECORD_MMAP]);
	EXPECT_LT(0, self->counts[PERF_RECORD_COMM]);
}

TEST_HARNESS_MAIN
