// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test samples whose size is close to the limit of header.size (16 bits). Each
 * must be complete or counted as lost. None may be truncated, or overwrite
 * other records.
 */
#include "sized.h"

#include <limits.h>
#include <linux/bpf.h>

#define LARGEST		65528		/* largest multiple of 8 in 16 bits */
#define MAX_STACK_FILE	"/proc/sys/kernel/perf_event_max_stack"

FIXTURE(sizes)
{
	struct ring	ring;
	struct faults	faults;
	uint64_t	tail;
	int		samples;	/* number read by last consume() */
	struct record	record;		/* the last sample */
};

FIXTURE_VARIANT(sizes)
{
	uint64_t	bit;
	int		trailer;
};

FIXTURE_VARIANT_ADD(sizes, plain)
{
	.bit = 0,
};

FIXTURE_VARIANT_ADD(sizes, sized)
{
	.bit = PERF_SAMPLE_SIZE_AT_END, .trailer = TRAILER_SIZE,
};

static void enable(FIXTURE_DATA(sizes) *self, bool on)
{
	ioctl(self->ring.fd,
	      on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

FIXTURE_SETUP(sizes)
{
	self->ring.fd = -1;
	if (variant->bit)
		REQUIRE_SIZE_AT_END();
	ASSERT_TRUE(faults_init(&self->faults, 64));
	/* Fault in what these touch, so that it causes no faults later. */
	enable(self, true);
	fault(&self->faults, 0);
}

FIXTURE_TEARDOWN(sizes)
{
	ring_close(&self->ring);
	faults_free(&self->faults);
}

/* Map a streaming ring: the kernel must not overwrite unread records. */
static void start(struct __test_metadata *_metadata, FIXTURE_DATA(sizes) *self,
		  const FIXTURE_VARIANT(sizes) *variant,
		  struct perf_event_attr attr, pid_t pid, int cpu, int pages)
{
	int fd;

	ring_close(&self->ring);
	attr.sample_type |= variant->bit;
	attr.disabled = 1;
	fd = perf_open(&attr, pid, cpu);
	ASSERT_GE(fd, 0)
		TH_LOG("perf_event_open: %s", strerror(errno));
	ASSERT_EQ(0, ring_map(&self->ring, fd, pages, PROT_READ | PROT_WRITE));
	self->tail = 0;
}

/* Read all records, check that they are valid samples, and set data_tail. */
static void consume(struct __test_metadata *_metadata,
		    FIXTURE_DATA(sizes) *self,
		    const FIXTURE_VARIANT(sizes) *variant)
{
	static struct record record;
	uint64_t head = ring_head(&self->ring);

	self->samples = 0;
	for (; self->tail < head; self->tail += record.header.size) {
		ASSERT_TRUE(
			ring_record_at(&self->ring, self->tail, head, &record));
		if (variant->bit) {
			ASSERT_TRUE(record_trailer_valid(&record));
		}
		ASSERT_EQ(PERF_RECORD_SAMPLE, record.header.type);
		self->samples++;
		self->record = record;
	}
	ring_set_tail(&self->ring, self->tail);
}

static void sample_once(struct __test_metadata *_metadata,
			FIXTURE_DATA(sizes) *self,
			const FIXTURE_VARIANT(sizes) *variant)
{
	enable(self, true);
	fault(&self->faults, 0);
	enable(self, false);
	consume(_metadata, self, variant);
}

/*
 * The lost count of PERF_FORMAT_LOST. (A LOST record is written only before the
 * next sample that fits.)
 */
static uint64_t lost_samples(FIXTURE_DATA(sizes) *self)
{
	struct {
		uint64_t value, lost;
	} counts = { };

	if (read(self->ring.fd, &counts, sizeof(counts)) != sizeof(counts))
		return 0;
	return counts.lost;
}

#ifdef __x86_64__
#define ALL_REGISTERS	0xff0fffULL
#define NR_REGISTERS	20
#else
#define ALL_REGISTERS	1
#define NR_REGISTERS	1
#endif

/* The user stack is cut to the space that the other fields leave. */
TEST_F_TIMEOUT(sizes, user_stack_fills_sample, 120)
{
	/* Header, address, ABI and registers, size and dynamic size of stack */
	const int registers = 8 * (1 + NR_REGISTERS);
	const int rest = 8 + 8 + registers + 8 + 8 + variant->trailer;

	for (int stack = LARGEST - 512; stack <= LARGEST; stack += 8) {
		struct perf_event_attr attr =
			ATTR_FAULTS(.sample_type = PERF_SAMPLE_ADDR |
						   PERF_SAMPLE_STACK_USER |
						   PERF_SAMPLE_REGS_INTR,
				    .sample_stack_user = stack,
				    .sample_regs_intr = ALL_REGISTERS);
		int size = stack + rest < LARGEST ? stack + rest : LARGEST;
		uint64_t stack_size;

		start(_metadata, self, variant, attr, 0, -1, 32);
		sample_once(_metadata, self, variant);
		ASSERT_EQ(1, self->samples);
		EXPECT_EQ(size, self->record.header.size);
		stack_size = self->record.words[2];
		EXPECT_EQ(size - rest, stack_size);
		/* No more was copied than the stack has. */
		EXPECT_GE(stack_size, self->record.words[3 + stack_size / 8]);
	}
}

/* In a smaller ring such a sample is lost. */
TEST_F(sizes, sample_larger_than_ring)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_ADDR |
					   PERF_SAMPLE_STACK_USER |
					   PERF_SAMPLE_REGS_INTR,
			    .sample_stack_user = LARGEST,
			    .sample_regs_intr = ALL_REGISTERS,
			    .read_format = PERF_FORMAT_LOST);

	for (int pages = 1; pages <= 16; pages *= 2) {
		bool fits = pages * page_size() > LARGEST;

		start(_metadata, self, variant, attr, 0, -1, pages);
		sample_once(_metadata, self, variant);
		EXPECT_EQ(fits, self->samples);
		EXPECT_EQ(!fits, lost_samples(self));
	}
}

TEST_F(sizes, tracepoint_all_fields)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN |
			       PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_ADDR |
			       PERF_SAMPLE_WEIGHT | PERF_SAMPLE_PHYS_ADDR,
		.sample_stack_user = LARGEST,
		.sample_regs_user = ALL_REGISTERS,
		.sample_regs_intr = ALL_REGISTERS,
	};
	int id = tracepoint_id("raw_syscalls/sys_enter");

	REQUIRE_ROOT();
	if (id < 0)
		SKIP(return, "no tracepoint raw_syscalls:sys_enter");
	attr.config = id;
	start(_metadata, self, variant, attr, 0, -1, 64);
	enable(self, true);
	getppid();
	enable(self, false);
	consume(_metadata, self, variant);
	EXPECT_LE(1, self->samples);
	EXPECT_EQ(LARGEST, self->record.header.size);
}

#ifdef __x86_64__

#define ADDRESSES_END	0x7ffffffff000UL	/* TASK_SIZE of 47 bits */

/*
 * Read from @address with the given stack and frame pointers. No signal may be
 * delivered meanwhile, for it would use that stack.
 */
static void fault_with(const void *address, uint64_t sp, const void *bp)
{
	asm volatile("mov %%rsp, %%r12\n\t"
		     "mov %%rbp, %%r13\n\t"
		     "mov %[sp], %%rsp\n\t"
		     "mov %[bp], %%rbp\n\t"
		     "movb (%[address]), %%al\n\t"
		     "mov %%r13, %%rbp\n\t"
		     "mov %%r12, %%rsp"
		     :
		     : [address] "D" (address), [sp] "S" (sp), [bp] "d" (bp)
		     : "rax", "r12", "r13", "memory");
}

/* The stack is cut at TASK_SIZE; the record size is still a multiple of 8. */
TEST_F(sizes, stack_pointer_near_task_size)
{
	static const int distances[] = {
		1, 7, 8, 9, 100, 4097, 65527, 65528, 65535, 65536,
	};
	struct perf_event_attr attr = ATTR_FAULTS(
		.sample_type = PERF_SAMPLE_ADDR | PERF_SAMPLE_STACK_USER,
		.sample_stack_user = LARGEST - 512);
	void *map;

	map = mmap((void *)ADDRESSES_END, page_size(), PROT_READ,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (map != MAP_FAILED)
		SKIP(return, "addresses have more than 47 bits");
	for (size_t i = 0; i < sizeof(distances) / sizeof(*distances); i++) {
		int size = 8 + 8 + 8 + variant->trailer;
		int stack = distances[i] & ~7;

		if (stack > LARGEST - 512)
			stack = LARGEST - 512;
		if (stack)
			size += stack + 8;
		start(_metadata, self, variant, attr, 0, -1, 32);
		enable(self, true);
		fault_with(self->faults.base + i * page_size(),
			   ADDRESSES_END - distances[i], NULL);
		enable(self, false);
		consume(_metadata, self, variant);
		ASSERT_EQ(1, self->samples);
		EXPECT_EQ(size, self->record.header.size)
			TH_LOG("%d bytes below the end", distances[i]);
		EXPECT_EQ(stack, self->record.words[2]);
	}
}

/* Callchains of chosen lengths, made by a linked list of artificial frames. */
TEST_F(sizes, callchain_lengths)
{
	struct frame {
		const struct frame	*next;
		uint64_t		return_address;
	} *frames = calloc(9000, sizeof(*frames));
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_CALLCHAIN,
			    .exclude_callchain_kernel = 1,
			    .sample_max_stack = 9000,
			    .read_format = PERF_FORMAT_LOST);
	/* Header and number of entries; entries are context, IP and frames. */
	const int rest = 8 + 8 + 8 + 8 + variant->trailer;
	const int max_frames = (LARGEST - rest) / 8;
	const int lengths[] = {
		0, 10, max_frames - 1, max_frames, max_frames + 1,
		max_frames + 2, max_frames + 100, 8950,
	};
	int old = read_number(MAX_STACK_FILE);

	REQUIRE_ROOT();
	if (!write_number(MAX_STACK_FILE, 9000))
		SKIP(return, MAX_STACK_FILE ": %s", strerror(errno));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		int n = lengths[i];

		for (int j = 0; j < n; j++)
			frames[j] = (struct frame){
				.next = j + 1 < n ? &frames[j + 1] : NULL,
				.return_address = 0x10000 + j,
			};
		start(_metadata, self, variant, attr, 0, -1, 32);
		enable(self, true);
		fault_with(self->faults.base + i * page_size(),
			   (uintptr_t)__builtin_frame_address(0) - 4096,
			   n ? frames : NULL);
		enable(self, false);
		consume(_metadata, self, variant);
		EXPECT_EQ(n <= max_frames, self->samples)
			TH_LOG("%d frames", n);
		EXPECT_EQ(n > max_frames, lost_samples(self));
		if (n <= max_frames) {
			EXPECT_EQ(rest + 8 * n, self->record.header.size);
			EXPECT_EQ(2 + n, self->record.words[1]);
		}
	}
	ring_close(&self->ring);
	EXPECT_TRUE(write_number(MAX_STACK_FILE, old));
	free(frames);
}

#endif /* __x86_64__ */

/*
 * Output of a BPF program, which can be as large as a map value
 */

#define VALUE_SIZE	(256 << 10)

static int bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int new_map(int type, int value_size)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = type;
	attr.key_size = 4;
	attr.value_size = value_size;
	attr.max_entries =
		type == BPF_MAP_TYPE_ARRAY ? 1 : sysconf(_SC_NPROCESSORS_CONF);
	return bpf(BPF_MAP_CREATE, &attr);
}

static int set_map(int map, int key, const void *value)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = map;
	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)value;
	return bpf(BPF_MAP_UPDATE_ELEM, &attr);
}

/*
 * return bpf_perf_event_output(ctx, events, BPF_F_CURRENT_CPU, &data[0], size);
 */
static int load_program(int events, int data, int size)
{
	const struct bpf_insn instructions[] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 2,
		  .src_reg = BPF_PSEUDO_MAP_FD, .imm = events },
		{ },
		{ .code = BPF_ALU | BPF_MOV | BPF_K, .dst_reg = 3,
		  .imm = BPF_F_CURRENT_CPU },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 4,
		  .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = data },
		{ },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 5,
		  .imm = size },
		{ .code = BPF_JMP | BPF_CALL,
		  .imm = BPF_FUNC_perf_event_output },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	attr.insn_cnt = sizeof(instructions) / sizeof(*instructions);
	attr.insns = (uintptr_t)instructions;
	attr.license = (uintptr_t)"GPL";
	return bpf(BPF_PROG_LOAD, &attr);
}

/* Run on this CPU. Returns the return value of the program, or INT_MIN. */
static int run_program(int program)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = program;
	return bpf(BPF_PROG_TEST_RUN, &attr) ? INT_MIN : (int)attr.test.retval;
}

TEST_F_TIMEOUT(sizes, bpf_output_sizes, 120)
{
	static const int sizes[] = {
		64, 4096, LARGEST - 16, LARGEST - 8, LARGEST, LARGEST + 8,
		LARGEST + 16, 65600, 65536 + 4096, 131072 - 8, 131072,
		131072 + 64, 196608 + 128, 262144,
	};
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_period = 1,
		.wakeup_events = 1,
		.sample_type = PERF_SAMPLE_RAW,
		.read_format = PERF_FORMAT_LOST,
	};
	static const int pages[] = { 1, 4, 16, 32, 128 };
	static unsigned char bytes[VALUE_SIZE];
	int events, data, cpu = nth_cpu(0);

	REQUIRE_ROOT();
	events = new_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4);
	data = new_map(BPF_MAP_TYPE_ARRAY, VALUE_SIZE);
	if (events < 0 || data < 0)
		SKIP(return, "bpf: %s", strerror(errno));
	for (int i = 0; i < VALUE_SIZE; i++)
		bytes[i] = i * 7 + i / 256;
	ASSERT_EQ(0, set_map(data, 0, bytes));
	ASSERT_EQ(0, pin_to_cpu(cpu));

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		/* The u32 size of the data and the data are a multiple of 8. */
		int size = sizes[i], raw = size - 8 - 4 - variant->trailer;
		int program = load_program(events, data, raw);

		ASSERT_GE(program, 0)
			TH_LOG("bpf: %s", strerror(errno));
		for (size_t j = 0; j < sizeof(pages) / sizeof(*pages); j++) {
			int area = pages[j] * page_size();
			bool fits = size <= LARGEST && size < area;

			start(_metadata, self, variant, attr, -1, cpu,
			      pages[j]);
			ASSERT_EQ(0, set_map(events, cpu, &self->ring.fd));
			enable(self, true);
			EXPECT_EQ(fits ? 0 : -ENOSPC, run_program(program))
				TH_LOG("%d bytes, %d pages", size, pages[j]);
			enable(self, false);
			consume(_metadata, self, variant);
			EXPECT_EQ(fits, self->samples);
			EXPECT_EQ(!fits, lost_samples(self));
			if (!fits) {
				EXPECT_EQ(0, ring_head(&self->ring));
				continue;
			}
			EXPECT_EQ(size, self->record.header.size);
			EXPECT_EQ(raw, *(uint32_t *)(self->record.bytes + 8));
			EXPECT_EQ(0,
				  memcmp(self->record.bytes + 12, bytes, raw));
		}
		close(program);
	}
	close(events);
	close(data);
}

/* Run a program on @cpu again and again. */
struct runner {
	pthread_t	thread;
	int		program, cpu;
	atomic_int	error;		/* 0: not yet run, 1: none */
	atomic_bool	stop;
};

static void *run_always(void *arg)
{
	struct runner *runner = arg;

	if (pin_to_cpu(runner->cpu))
		atomic_store(&runner->error, errno);
	while (!atomic_load(&runner->stop) && atomic_load(&runner->error) <= 1)
		atomic_store(&runner->error,
			     run_program(runner->program) ? EIO : 1);
	return NULL;
}

/*
 * Siblings come and go while another CPU samples their group: an IPI changes
 * the group in the middle of samples. Each sample must have as many entries as
 * its size says. The samples are the output of a BPF program: interrupts are
 * disabled while other software events are sampled.
 */
TEST_F(sizes, group_changes)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_RAW,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID |
			       PERF_FORMAT_LOST,
	};
	struct perf_event_attr sibling_attr =
		ATTR_DUMMY(.sample_type = variant->bit,
			   .read_format = attr.read_format);
	struct runner runner = { .cpu = nth_cpu(1) };
	long seen[3] = { }, changes = 0, wrong = 0;
	struct record *record = &self->record;
	uint64_t end_ms;
	int events, data;

	REQUIRE_ROOT();
	if (runner.cpu < 0)
		SKIP(return, "needs two CPUs");
	events = new_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4);
	data = new_map(BPF_MAP_TYPE_ARRAY, VALUE_SIZE);
	if (events < 0 || data < 0)
		SKIP(return, "bpf: %s", strerror(errno));
	/* With its size, the data have 8 bytes. */
	runner.program = load_program(events, data, 4);
	ASSERT_GE(runner.program, 0);
	start(_metadata, self, variant, attr, -1, runner.cpu, 1024);
	ASSERT_EQ(0, set_map(events, runner.cpu, &self->ring.fd));
	ASSERT_EQ(0, pin_to_cpu(nth_cpu(0)));
	enable(self, true);
	ASSERT_EQ(0, pthread_create(&runner.thread, NULL, run_always,
				    &runner));
	while (!atomic_load(&runner.error))
		usleep(100);

	end_ms = now_ms() + 1000;
	for (; now_ms() < end_ms && !wrong; changes++) {
		int fd = syscall(SYS_perf_event_open, &sibling_attr, -1,
				 runner.cpu, self->ring.fd,
				 PERF_FLAG_FD_CLOEXEC);
		uint64_t head = ring_head(&self->ring), nr;

		ASSERT_GE(fd, 0);
		for (; self->tail < head; self->tail += record->header.size) {
			ASSERT_TRUE(ring_record_at(&self->ring, self->tail,
						   head, record));
			if (record->header.type != PERF_RECORD_SAMPLE)
				continue;
			nr = record->words[1];
			ASSERT_TRUE(nr == 1 || nr == 2);
			wrong += record->header.size !=
				 8 + 8 + nr * 24 + 8 + variant->trailer;
			seen[nr]++;
		}
		ring_set_tail(&self->ring, self->tail);
		close(fd);
	}
	atomic_store(&runner.stop, true);
	pthread_join(runner.thread, NULL);
	close(runner.program);
	close(events);
	close(data);
	TH_LOG("%ld changes, samples of 1 event: %ld, of 2: %ld", changes,
	       seen[1], seen[2]);
	EXPECT_EQ(0, wrong);
	if (!wrong && (!seen[1] || !seen[2]))
		SKIP(return, "no samples before or after a change");
}

TEST_HARNESS_MAIN
