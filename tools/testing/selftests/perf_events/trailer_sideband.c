// SPDX-License-Identifier: GPL-2.0-only
/* Test the trailers of side-band records, one type in each test. */
#include "trailer.h"

#include <limits.h>
#include <linux/bpf.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void map_executable_files(void)
{
	char name[] = "0123456789012345678901234567890123456789";

	for (size_t i = 0; i <= strlen(name); i++) {
		int fd = syscall(SYS_memfd_create, name + i, 0);
		void *map;

		if (ftruncate(fd, page_size()))
			break;
		map = mmap(NULL, page_size(), PROT_READ | PROT_EXEC,
			   MAP_PRIVATE, fd, 0);
		munmap(map, page_size());
		close(fd);
	}
}

TEST_F(trailer, mmap)
{
	struct perf_event_attr attr = ATTR_DUMMY(.mmap = 1);

	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, -1));
	map_executable_files();
	check(_metadata, self, variant);
	EXPECT_EQ(41, self->counts[PERF_RECORD_MMAP]);
}

TEST_F(trailer, mmap2)
{
	struct perf_event_attr attr =
		ATTR_DUMMY(.mmap = 1, .mmap2 = 1, .mmap_data = 1);

	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, -1));
	map_executable_files();
	check(_metadata, self, variant);
	EXPECT_LE(41, self->counts[PERF_RECORD_MMAP2]);
}

/* Nested directories: the kernel omits path names of more than PATH_MAX. */
#define DEPTH		20
#define LONG_NAME	"0123456789abcdef0123456789abcdef" \
			"0123456789abcdef0123456789abcdef" \
			"0123456789abcdef0123456789abcdef" \
			"0123456789abcdef0123456789abcdef" \
			"0123456789abcdef0123456789abcdef" \
			"0123456789abcdef0123456789abcdef"

/*
 * Create nested directories, call @visit, if any, in each, and remove them.
 * Returns their number.
 */
static int visit_deep(void (*visit)(void))
{
	int depth = 0;

	while (depth < DEPTH && !mkdir(LONG_NAME, 0755) && !chdir(LONG_NAME)) {
		if (visit)
			visit();
		depth++;
	}
	for (int left = depth; left && !chdir(".."); left--)
		rmdir(LONG_NAME);
	return depth;
}

static void map_file(void)
{
	int fd = open("file", O_RDWR | O_CREAT, 0600);

	if (!ftruncate(fd, page_size())) {
		void *map = mmap(NULL, page_size(), PROT_EXEC, MAP_PRIVATE,
				 fd, 0);

		munmap(map, page_size());
	}
	close(fd);
	unlink("file");
}

TEST_F(trailer, mmap_long_names)
{
	struct perf_event_attr attr = ATTR_DUMMY(.mmap = 1, .mmap2 = 1);
	char base[] = "/tmp/trailer_XXXXXX";
	static struct record record;
	uint64_t at;
	int longest = 0;

	ASSERT_NE(NULL, mkdtemp(base));
	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, -1));
	ASSERT_EQ(0, chdir(base));
	EXPECT_EQ(DEPTH, visit_deep(map_file));
	rmdir(base);

	check(_metadata, self, variant);
	EXPECT_EQ(DEPTH, self->counts[PERF_RECORD_MMAP2]);
	for (at = 0;
	     ring_record_at(&self->ring, at, ring_head(&self->ring), &record);
	     at += record.header.size)
		if (record.header.size > longest)
			longest = record.header.size;
	/* The longest name is close to the limit. */
	EXPECT_LT(PATH_MAX - sizeof(LONG_NAME), longest);
}

TEST_F(trailer, comm)
{
	struct perf_event_attr attr = ATTR_DUMMY(.comm = 1);
	char name[] = "abcdefghijklmno";

	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, -1));
	for (size_t i = 0; i < strlen(name); i++)
		prctl(PR_SET_NAME, name + i);
	check(_metadata, self, variant);
	EXPECT_EQ(15, self->counts[PERF_RECORD_COMM]);
}

/* Fork a child that inherits the event, on the CPU of the event. */
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

static void exec_on(struct __test_metadata *_metadata, int cpu)
{
	pid_t child = spawn_on(cpu);

	if (!child) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	wait_for(_metadata, child);
}

TEST_F(trailer, fork_and_exit)
{
	struct perf_event_attr attr = ATTR_DUMMY(.task = 1, .inherit = 1);
	int cpu = nth_cpu(0);

	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, cpu));
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
	struct perf_event_attr attr = ATTR_DUMMY(.mmap = 1, .comm = 1,
						 .comm_exec = 1, .task = 1,
						 .inherit = 1);
	int cpu = nth_cpu(0);

	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, cpu));
	exec_on(_metadata, cpu);
	check(_metadata, self, variant);
	EXPECT_EQ(1, self->counts[PERF_RECORD_COMM]);
	EXPECT_LT(0, self->counts[PERF_RECORD_MMAP]);
}

/*
 * A PERF_RECORD_READ is written when an inherited event is removed from a task
 * that still runs, here by remove_on_exec. The parent gets an additional event
 * that is not inherited: tasks with equal events swap contexts when the kernel
 * switches between them.
 */
TEST_F(trailer, read)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.inherit = 1, .inherit_stat = 1,
			    .remove_on_exec = 1,
			    .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED);
	struct perf_event_attr not_inherited = ATTR_DUMMY();
	int cpu = nth_cpu(0), other = perf_open(&not_inherited, 0, -1);

	ASSERT_GE(other, 0);
	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, cpu));
	exec_on(_metadata, cpu);
	check(_metadata, self, variant);
	EXPECT_EQ(1, self->counts[PERF_RECORD_READ]);
	close(other);
}

TEST_F(trailer, context_switch)
{
	struct perf_event_attr attr = ATTR_DUMMY(.context_switch = 1);

	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, -1));
	for (int i = 0; i < 5; i++)
		usleep(1000);
	check(_metadata, self, variant);
	EXPECT_LE(2, self->counts[PERF_RECORD_SWITCH]);
}

TEST_F(trailer, context_switch_cpu_wide)
{
	struct perf_event_attr attr = ATTR_DUMMY(.context_switch = 1);
	int cpu = nth_cpu(0);

	REQUIRE_ROOT();
	pin_to_cpu(cpu);
	ASSERT_TRUE(start(_metadata, self, variant, attr, -1, cpu));
	for (int i = 0; i < 5; i++)
		usleep(1000);
	check(_metadata, self, variant);
	EXPECT_LE(2, self->counts[PERF_RECORD_SWITCH_CPU_WIDE]);
}

static int load_bpf_program(void)
{
	const struct bpf_insn instructions[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
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
	struct perf_event_attr attr = ATTR_DUMMY(.ksymbol = 1, .bpf_event = 1);
	int program;

	REQUIRE_ROOT();
	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, -1));
	program = load_bpf_program();
	if (program < 0)
		SKIP(return, "bpf: %s", strerror(errno));
	close(program);
	check(_metadata, self, variant);
	EXPECT_LT(0, self->counts[PERF_RECORD_BPF_EVENT]);
	if (read_number("/proc/sys/net/core/bpf_jit_enable") > 0) {
		EXPECT_LT(0, self->counts[PERF_RECORD_KSYMBOL]);
	}
}

TEST_F(trailer, namespaces)
{
	struct perf_event_attr attr = ATTR_DUMMY(.namespaces = 1, .inherit = 1);
	int cpu = nth_cpu(0);
	pid_t child;

	REQUIRE_ROOT();
	if (access("/proc/self/ns/uts", F_OK))
		SKIP(return, "no UTS namespaces: %s", strerror(errno));
	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, cpu));
	child = spawn_on(cpu);
	if (!child)
		_exit(unshare(CLONE_NEWUTS) ? 1 : 0);
	wait_for(_metadata, child);
	check(_metadata, self, variant);
	EXPECT_LT(0, self->counts[PERF_RECORD_NAMESPACES]);
}

TEST_F(trailer, cgroup)
{
	struct perf_event_attr attr = ATTR_DUMMY(.cgroup = 1);
	char path[256];
	int depth;

	REQUIRE_ROOT();
	if (!start(_metadata, self, variant, attr, 0, -1))
		SKIP(return, "no cgroup events: %s", strerror(errno));
	if (!make_cgroup(path, sizeof(path)))
		SKIP(return, "%s", path);
	ASSERT_EQ(0, chdir(path));
	depth = visit_deep(NULL);
	rmdir(path);
	check(_metadata, self, variant);
	EXPECT_EQ(DEPTH, depth);
	EXPECT_EQ(1 + depth, self->counts[PERF_RECORD_CGROUP]);
}

TEST_F(trailer, text_poke)
{
	struct perf_event_attr attr = ATTR_DUMMY(.text_poke = 1);
	struct perf_event_attr tracepoint = {
		.size = sizeof(tracepoint),
		.type = PERF_TYPE_TRACEPOINT,
		.sample_period = 1,
	};
	int id = tracepoint_id("sched/sched_process_exit"), fd;

	REQUIRE_ROOT();
	if (!start(_metadata, self, variant, attr, 0, -1))
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

/*
 * A side-band record for several events is built once and written to each with
 * its own sample id and trailer. Without these, the n-th record of each event
 * must have the same size.
 */
#define SEVERAL		6
#define RECORDS		1024

struct several {
	struct ring	ring;
	uint64_t	id;
	int		id_size;		/* of sample id and trailer */
	int		nr;
	uint32_t	type[RECORDS];
	int		size[RECORDS];		/* without @id_size */
};

static bool several_open(struct several *event, uint64_t ids, bool sized)
{
	struct perf_event_attr attr =
		ATTR_DUMMY(.sample_type = ids | PERF_SAMPLE_IDENTIFIER,
			   .sample_id_all = 1, .mmap = 1, .mmap2 = 1, .comm = 1,
			   .task = 1, .namespaces = 1);
	int fd;

	/* Record types that need root; the last two are optional. */
	if (!geteuid()) {
		attr.ksymbol = 1;
		attr.bpf_event = 1;
		attr.text_poke = 1;
		attr.cgroup = 1;
	}
	attr.sample_type |= sized ? PERF_SAMPLE_SIZE_AT_END : 0;
	fd = perf_open(&attr, 0, -1);
	if (fd < 0) {
		attr.text_poke = 0;
		attr.cgroup = 0;
		fd = perf_open(&attr, 0, -1);
	}
	event->id_size = 8 * __builtin_popcountll(attr.sample_type &
						  ~PERF_SAMPLE_SIZE_AT_END) +
			 (sized ? TRAILER_SIZE : 0);
	return fd >= 0 &&
	       !ring_map(&event->ring, fd, RING_PAGES,
			 PROT_READ | PROT_WRITE) &&
	       !ioctl(fd, PERF_EVENT_IOC_ID, &event->id);
}

/* Read all records, and check id and trailer at the end of each. */
static void several_read(struct __test_metadata *_metadata,
			 struct several *event, bool sized)
{
	static struct record record;
	uint64_t head = ring_head(&event->ring), at;

	for (at = 0; at < head; at += record.header.size) {
		ASSERT_TRUE(ring_record_at(&event->ring, at, head, &record));
		EXPECT_EQ(event->id,
			  record.words[record.header.size / 8 - (sized ? 2 : 1)])
			TH_LOG("type %u, %u bytes", record.header.type,
			       record.header.size);
		if (sized)
			EXPECT_TRUE(record_trailer_valid(&record));
		ASSERT_LT(event->nr, RECORDS);
		event->type[event->nr] = record.header.type;
		event->size[event->nr++] = record.header.size - event->id_size;
	}
}

static void cause_mixed_types(void)
{
	struct perf_event_attr tracepoint = {
		.size = sizeof(tracepoint),
		.type = PERF_TYPE_TRACEPOINT,
		.sample_period = 1,
		.config = tracepoint_id("sched/sched_process_exit"),
	};
	char path[256];

	map_executable_files();
	prctl(PR_SET_NAME, "several");
	unshare(CLONE_NEWUTS);
	for (int i = 0; i < 3; i++) {
		close(load_bpf_program());
		close(perf_open(&tracepoint, 0, -1));
	}
	if (make_cgroup(path, sizeof(path)))
		rmdir(path);
}

TEST(record_for_several_events)
{
	static const uint64_t ids[SEVERAL] = {
		0, PERF_SAMPLE_TID, PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		PERF_SAMPLE_STREAM_ID,
		PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			PERF_SAMPLE_CPU, 0,
	};
	static struct several events[SEVERAL];
	int counts[PERF_RECORD_MAX] = { 0 };
	bool sized = has_size_at_end();

	for (int i = 0; i < SEVERAL; i++)
		ASSERT_TRUE(several_open(&events[i], ids[i], sized && i % 2));
	cause_mixed_types();
	for (int i = 0; i < SEVERAL; i++)
		ioctl(events[i].ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	for (int i = 0; i < SEVERAL; i++)
		several_read(_metadata, &events[i], sized && i % 2);

	for (int i = 1; i < SEVERAL; i++) {
		ASSERT_EQ(events[0].nr, events[i].nr);
		for (int n = 0; n < events[0].nr; n++) {
			EXPECT_EQ(events[0].type[n], events[i].type[n]);
			EXPECT_EQ(events[0].size[n], events[i].size[n])
				TH_LOG("type %u, event %d", events[0].type[n],
				       i);
		}
	}
	for (int n = 0; n < events[0].nr; n++)
		counts[events[0].type[n]]++;
	for (int type = 0; type < PERF_RECORD_MAX; type++)
		if (counts[type])
			TH_LOG("type %d: %d records", type, counts[type]);
	EXPECT_EQ(41, counts[PERF_RECORD_MMAP2]);
	EXPECT_EQ(1, counts[PERF_RECORD_COMM]);
	for (int i = 0; i < SEVERAL; i++)
		ring_close(&events[i].ring);
}

/* Records of many types and sizes, in a ring that has wrapped several times. */
TEST_F_TIMEOUT(trailer, mixed_types_wrapped, 120)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_ADDR, .mmap = 1,
			    .comm = 1, .task = 1, .context_switch = 1);
	char name[] = "abcdefghijklmno";
	static struct record record;
	uint64_t begin, head, oldest;

	if (variant->prot & PROT_WRITE)
		SKIP(return, "not for streaming rings");
	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, -1));
	for (int i = 0; ring_head(&self->ring) < 3 * self->ring.size; i++) {
		cause_faults(self, 1 + i % 7);
		prctl(PR_SET_NAME, name + i % 15);
		map_executable_files();
	}
	ioctl(self->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	head = ring_head(&self->ring);
	oldest = head - self->ring.size;
	begin = head;
	while (ring_record_before(&self->ring, begin, oldest, &record))
		begin = record.position;
	EXPECT_GT(512, begin - oldest)
		TH_LOG("the walk did not reach the oldest record");
	check_from(_metadata, self, variant, begin);
	EXPECT_LT(0, self->counts[PERF_RECORD_SAMPLE]);
	EXPECT_LT(0, self->counts[PERF_RECORD_MMAP]);
	EXPECT_LT(0, self->counts[PERF_RECORD_COMM]);
}

TEST_HARNESS_MAIN
