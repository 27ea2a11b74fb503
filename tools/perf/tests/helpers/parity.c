// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run tasks whose samples are known in advance, for the comparison of recorders (../parity).
 *
 * A batch is what one task does under one name: calls of getppid(2) that carry the number of the
 * run, a tag and their own number, each with one page fault, and then some spinning. All of this
 * happens in WORK(), below a function that the C library calls. Each batch, and each task that
 * waits to be attached to or stays after its work, writes a line to the file $PARITY_FD:
 *
 *	ready PID
 *	batch TAG CALLS SYMBOL NAME
 *	stays
 *
 * Files that include this one define WORK to tell one program from another.
 *
 * flags: -fno-omit-frame-pointer
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sdt.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef WORK
#define WORK work_program
#define HAS_LIBRARIES
#endif
#define STRING_(x) #x
#define STRING(x) STRING_(x)

#define PAGE	4096
#define CODE	1024		/* more than the code of WORK() */

struct work {
	unsigned long run, tag, calls, spins;
	volatile char *pages;
};

static inline void numbered_call(long run, long tag, long number)
{
#if defined(__x86_64__)
	register long r10 asm("r10") = 0;
	long ret;

	asm volatile("syscall" : "=a" (ret)
		     : "a" (SYS_getppid), "D" (run), "S" (tag), "d" (number), "r" (r10)
		     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x8 asm("x8") = SYS_getppid;
	register long x0 asm("x0") = run, x1 asm("x1") = tag, x2 asm("x2") = number;

	asm volatile("svc 0" : "+r" (x0) : "r" (x8), "r" (x1), "r" (x2) : "memory");
#else
	syscall(SYS_getppid, run, tag, number, 0, 0, 0);
#endif
}

/* A copy of this code runs, too: it calls no other function and refers to no data. */
__attribute__((noinline, noclone)) void WORK(const struct work *work)
{
	for (unsigned long i = 1; i <= work->calls; i++) {
		numbered_call(work->run, work->tag, i);
		DTRACE_PROBE(parity, call);
		work->pages[i * PAGE] = 1;
	}
	for (unsigned long i = 0; i < work->spins; i++)
		asm volatile("");
}

#ifndef ONLY_WORK
static const char *self;		/* the path of this program */
static unsigned long calls, spins, run;
static int report;

static unsigned long setting(const char *name, unsigned long otherwise)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 0) : otherwise;
}

static void fail(const char *what)
{
	fprintf(stderr, "parity: %s: %m\n", what);
	exit(1);
}

static void check(int ret, const char *what)
{
	if (ret < 0)
		fail(what);
}

static void wait_go(void)
{
	char pid[16] = "", c;

	/* The pid that those who mounted /proc see */
	if (readlink("/proc/self", pid, sizeof(pid) - 1) < 0)
		snprintf(pid, sizeof(pid), "%d", getpid());
	dprintf(report, "ready %s\n", pid);
	if (read(0, &c, 1) < 0)
		fail("read");
}

/* Stay until the recorder has ended. */
static void wait_end(void)
{
	char c;

	dprintf(report, "stays\n");
	while (read(0, &c, 1) > 0)
		;
}

static __thread struct work now;
static __thread void (*function)(const struct work *work);

static int compare(const void *a, const void *b)
{
	(void)a, (void)b;
	function(&now);
	return 0;
}

/* @tag differs between the batches of a run. */
__attribute__((noinline)) static void batch_by(void (*code)(const struct work *work),
					       const char *symbol, unsigned long tag,
					       const char *name)
{
	size_t size = (calls + 1) * PAGE;
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char two[2] = { };

	if (pages == MAP_FAILED)
		fail("mmap");
	madvise(pages, size, MADV_NOHUGEPAGE);
	prctl(PR_SET_NAME, name);
	now = (struct work){ .run = run, .tag = tag, .calls = calls, .spins = spins,
			     .pages = pages };
	function = code;
	dprintf(report, "batch %lu %lu %s %s\n", tag, calls, symbol, name);
	qsort(two, 2, 1, compare);
	munmap(pages, size);
}

static void batch(unsigned long tag, const char *name)
{
	batch_by(WORK, STRING(WORK), tag, name);
}

static void reap(void)
{
	int status;

	while (wait(&status) > 0)
		if (WIFEXITED(status) && WEXITSTATUS(status))
			exit(WEXITSTATUS(status));
}

static void child_batch(unsigned long tag, const char *name)
{
	pid_t pid = fork();

	check(pid, "fork");
	if (!pid) {
		batch(tag, name);
		_exit(0);
	}
}

#define NR_EARLY	2
static pthread_barrier_t early;

static void *early_thread(void *arg)
{
	prctl(PR_SET_NAME, "early");
	pthread_barrier_wait(&early);		/* wait_go() follows, */
	pthread_barrier_wait(&early);		/* and has returned */
	batch((unsigned long)arg, "early");
	return NULL;
}

static void *later_thread(void *arg)
{
	batch((unsigned long)arg, "later");
	return NULL;
}

/* Threads that exist before the recorder does, and later ones */
static void threads(void)
{
	pthread_t thread[2 * NR_EARLY];
	unsigned long i;

	pthread_barrier_init(&early, NULL, NR_EARLY + 1);
	for (i = 0; i < NR_EARLY; i++)
		pthread_create(&thread[i], NULL, early_thread, (void *)(1 + i));
	pthread_barrier_wait(&early);
	wait_go();
	pthread_barrier_wait(&early);
	for (; i < 2 * NR_EARLY; i++)
		pthread_create(&thread[i], NULL, later_thread, (void *)(1 + i));
	for (i = 0; i < 2 * NR_EARLY; i++)
		pthread_join(thread[i], NULL);
	batch(1 + i, "leader");
}

/* A child that exists before the recorder does, and later ones, one of them reaped by the kernel */
static void forks(void)
{
	int fds[2];
	pid_t pid;
	char c;

	check(pipe(fds), "pipe");
	pid = fork();
	check(pid, "fork");
	if (!pid) {
		close(fds[1]);
		if (read(fds[0], &c, 1) < 0)
			fail("read");
		batch(1, "early");
		_exit(0);
	}
	wait_go();
	child_batch(2, "later");
	close(fds[1]);
	reap();
	child_batch(3, "later still");
	reap();
	signal(SIGCHLD, SIG_IGN);
	child_batch(4, "ignored");
	reap();
	batch(5, "parent");
}

static void spawn_batch(const char *program, const char *tag, const char *name)
{
	char *argv[] = { (char *)program, "batch", (char *)tag, (char *)name, NULL };
	pid_t pid;

	errno = posix_spawn(&pid, program, NULL, NULL, argv, environ);
	if (errno)
		fail("posix_spawn");
}

static void spawn(void)
{
	pid_t pid;

	wait_go();
	spawn_batch(self, "1", "spawned");
	reap();
	pid = vfork();
	check(pid, "vfork");
	if (!pid) {
		execl(self, self, "batch", "2", "vforked", NULL);
		_exit(1);
	}
	reap();
	batch(3, "parent");
}

/* batch TAG NAME [TAG NAME]...: execute the program again for each further batch. */
static void chain(char **argv)
{
	batch(strtoul(argv[2], NULL, 0), argv[3]);
	if (!argv[4])
		return;
	argv[2] = (char *)self;
	argv[3] = "batch";
	execv(self, argv + 2);
	fail(self);
}

static void *exec_from_thread(void *arg)
{
	(void)arg;
	batch(1, "thread");
	execl(self, self, "batch", "2", "executed", NULL);
	fail(self);
	return NULL;
}

static void thread_exec(void)
{
	pthread_t thread;

	wait_go();
	pthread_create(&thread, NULL, exec_from_thread, NULL);
	pthread_join(thread, NULL);
}

static void names(void)
{
	static const char * const list[] = {
		"V8 Worker", "a\"b\\c", "</script><b>", "caf\xc3\xa9", "(sd-pam)", "swapper",
		"'; drop", "fifteen letters",
	};

	wait_go();
	for (unsigned long i = 0; i < sizeof(list) / sizeof(*list); i++)
		batch(1 + i, list[i]);
}

static void set_uid(void)
{
	wait_go();
	batch(1, "root");
	check(setresgid(65534, 65534, 65534), "setresgid");
	check(setresuid(65534, 65534, 65534), "setresuid");
	batch(2, "nobody");
	child_batch(3, "child");
	reap();
}

static void pid_reuse(void)
{
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid_size = 1 };
	pid_t pid;

	wait_go();
	pid = fork();
	check(pid, "fork");
	if (!pid) {
		batch(1, "first");
		_exit(0);
	}
	reap();
	args.set_tid = (uintptr_t)&pid;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	check(pid, "clone3");
	if (!pid) {
		batch(2, "second");
		_exit(0);
	}
	reap();
}

static void traced(void)
{
	int status;
	pid_t pid;

	wait_go();
	pid = fork();
	check(pid, "fork");
	if (!pid) {
		check(ptrace(PTRACE_TRACEME, 0, 0, 0), "ptrace");
		raise(SIGSTOP);
		batch(1, "traced");
		_exit(0);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_SYSCALL, pid, 0, 0);
}

static void killed(void)
{
	pid_t pid;

	wait_go();
	pid = fork();
	check(pid, "fork");
	if (!pid) {
		batch(1, "killed");
		raise(SIGKILL);
	}
	wait(NULL);
	batch(2, "survivor");
}

/* Remove the file of this program, or replace it by the file @other. */
static void file_gone(const char *other)
{
	wait_go();
	check(other ? rename(other, self) : unlink(self), self);
	batch(1, other ? "replaced" : "removed");
}

static void memory_file(void)
{
	char *argv[] = { "memfd", "batch", "1", "in memory", NULL };
	int fd = memfd_create("parity", MFD_CLOEXEC), file = open(self, O_RDONLY);
	struct stat stat;

	check(file, self);
	check(fstat(file, &stat), self);
	check(sendfile(fd, file, NULL, stat.st_size), "sendfile");
	wait_go();
	fexecve(fd, argv, environ);
	fail("fexecve");
}

#ifdef HAS_LIBRARIES
/* Load each of the libraries, and unload it before the next takes its place. */
static void libraries(char **path)
{
	wait_go();
	for (unsigned long tag = 1; *path; tag++, path++) {
		void *library = dlopen(*path, RTLD_NOW);
		void *work = library ? dlsym(library, "work_library") : NULL;

		if (!work) {
			fprintf(stderr, "parity: %s\n", dlerror());
			exit(1);
		}
		batch_by(work, "work_library", tag, tag == 1 ? "first" : "next");
		dlclose(library);
	}
}

#endif

/* Run a copy of WORK(), with a map of symbols for perf. */
static void jit(void)
{
	char *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[PATH_MAX];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	if (!map || code == MAP_FAILED)
		fail(path);
	memcpy(code, (void *)WORK, CODE);
	__builtin___clear_cache(code, code + CODE);
	fprintf(map, "%lx %x work_compiled\n", (unsigned long)code, CODE);
	fclose(map);
	wait_go();
	batch_by((void *)code, "work_compiled", 1, "compiled");
}

/* The file of a JIT for perf inject -j: tools/perf/Documentation/jitdump-specification.txt */
struct jitdump {
	uint32_t magic, version, size, machine, unused, pid;
	uint64_t time, flags;
	struct {
		uint32_t id, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, address, code_size, index;
		char name[16];
		char code[CODE];
	} load;
};

static uint64_t monotonic(void)
{
	struct timespec spec;

	clock_gettime(CLOCK_MONOTONIC, &spec);
	return spec.tv_sec * 1000000000ULL + spec.tv_nsec;
}

static uint16_t elf_machine(void)
{
	int file = open("/proc/self/exe", O_RDONLY);
	uint16_t machine;

	if (pread(file, &machine, sizeof(machine), 18) != sizeof(machine))
		fail("/proc/self/exe");
	close(file);
	return machine;
}

/* Run a copy of WORK(), with a dump of its code beside this program. */
static void jitdump(void)
{
	char *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct jitdump dump = {
		.magic = 0x4a695444, .version = 1, .size = offsetof(struct jitdump, load),
		.machine = elf_machine(), .pid = getpid(), .time = monotonic(),
		.load = {
			.size = sizeof(dump.load), .pid = getpid(), .tid = getpid(),
			.vma = (uintptr_t)code, .address = (uintptr_t)code, .code_size = CODE,
			.name = "work_compiled",
		},
	};
	char path[PATH_MAX];
	int file;

	if (code == MAP_FAILED)
		fail("mmap");
	memcpy(code, (void *)WORK, CODE);
	__builtin___clear_cache(code, code + CODE);
	memcpy(dump.load.code, code, CODE);
	wait_go();
	snprintf(path, sizeof(path), "%.*s/jit-%d.dump", (int)(strrchr(self, '/') - self), self,
		 getpid());
	file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	check(file, path);
	/* The mapping tells perf which file it is. */
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED)
		fail(path);
	dump.load.time = monotonic();
	if (write(file, &dump, sizeof(dump)) != sizeof(dump))
		fail(path);
	batch_by((void *)code, "work_compiled", 1, "compiled");
}

static const struct {
	const char *name;
	void (*run)(void);
} workloads[] = {
	{ "wait",	wait_go },
	{ "threads",	threads },
	{ "forks",	forks },
	{ "spawn",	spawn },
	{ "thread-exec", thread_exec },
	{ "names",	names },
	{ "setuid",	set_uid },
	{ "pid-reuse",	pid_reuse },
	{ "traced",	traced },
	{ "killed",	killed },
	{ "memfd",	memory_file },
	{ "jit",	jit },
	{ "jitdump",	jitdump },
};

static int usage(void)
{
	fprintf(stderr, "usage: parity nr | file-gone [FILE] | libraries FILE... | stay NAME |\n"
			"              wait-exec PROGRAM [ARGUMENT]... |\n"
			"              work TAG NAME [TAG NAME]... | batch TAG NAME [TAG NAME]...");
	for (size_t i = 0; i < sizeof(workloads) / sizeof(*workloads); i++)
		fprintf(stderr, " | %s", workloads[i].name);
	fprintf(stderr, "\n");
	return 2;
}

int main(int argc, char **argv)
{
	static char path[PATH_MAX];
	const char *name = argc > 1 ? argv[1] : "";

	report = setting("PARITY_FD", 2);
	run = setting("PARITY_RUN", 1);
	calls = setting("PARITY_CALLS", 23);
	spins = setting("PARITY_SPINS", 0);
	self = argv[0];
	if (!strchr(self, '/') && readlink("/proc/self/exe", path, sizeof(path) - 1) > 0)
		self = path;

	for (size_t i = 0; i < sizeof(workloads) / sizeof(*workloads); i++) {
		if (!strcmp(name, workloads[i].name)) {
			workloads[i].run();
			return 0;
		}
	}
	if (!strcmp(name, "nr")) {
		printf("%d\n", SYS_getppid);
	} else if (!strcmp(name, "file-gone")) {
		file_gone(argv[2]);
#ifdef HAS_LIBRARIES
	} else if (!strcmp(name, "libraries")) {
		libraries(argv + 2);
#endif
	} else if (!strcmp(name, "wait-exec") && argc > 2) {
		wait_go();
		execv(argv[2], argv + 2);
		fail(argv[2]);
	} else if (!strcmp(name, "stay") && argc > 2) {
		wait_go();
		batch(1, argv[2]);
		wait_end();
	} else if (!strcmp(name, "batch") && argc > 3) {
		chain(argv);
	} else if (!strcmp(name, "work") && argc > 3) {
		wait_go();
		chain(argv);
	} else {
		return usage();
	}
	return 0;
}
#endif
