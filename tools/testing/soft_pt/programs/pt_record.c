// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run a program under intel_pt and write the AUX area to a file, byte for byte, oldest first.
 *
 * usage: pt_record [-s] [-p PAGES] [-a ADDRESS -r ADDRESS] FILE PROGRAM [ARGUMENT]...
 *	  pt_record [-s] [-p PAGES] -i TIMES FILE PROGRAM
 *	  pt_record [-s] [-p PAGES] [-n TIMES] -c CONFIG1 FILE
 *	-s	overwrite mode: write the last bytes of the area
 *	-p	number of pages of the area; default 1024
 *	-a, -r	breakpoints in the program or the kernel that pause and resume the trace
 *	-i	for a program that never ends: disable and enable the event TIMES times while the
 *		program runs on another CPU. Each time the trace must end with a TIP.PGD; then kill
 *		the program
 *	-c	the event's config1: a synthetic trace without a program
 *	-n	enable and disable the event TIMES times
 * Prints "head HEAD written WRITTEN truncated RECORDS". The exit status is that of the program,
 * or 77 if there is no intel_pt, or no second CPU for -i.
 */
#include <err.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DATA_PAGES	64
#define TIP_PGD		0x01

/* perf_event_attr.aux_action, which is missing in the tools' copy of the header. */
#define AUX_PAUSE	2
#define AUX_RESUME	4

static unsigned int pmu_type(void)
{
	FILE *file = fopen("/sys/bus/event_source/devices/intel_pt/type", "r");
	unsigned int type;

	if (!file || fscanf(file, "%u", &type) != 1)
		exit(77);
	fclose(file);
	return type;
}

static int open_event(pid_t pid, unsigned long long config1)
{
	struct perf_event_attr attr = {
		.type = pmu_type(), .size = sizeof(attr), .config = 1 << 10 | 1 << 13,
		.config1 = config1, .exclude_kernel = 1, .disabled = 1, .enable_on_exec = !config1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0);

	if (fd < 0)
		err(1, "perf_event_open");
	return fd;
}

/* For kernel code, such a breakpoint acts like an NMI. */
static void open_breakpoint(pid_t pid, int group, unsigned long long address, bool pause)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT, .size = sizeof(attr), .sample_period = 1,
		.bp_type = HW_BREAKPOINT_X, .bp_addr = address, .bp_len = sizeof(long),
	};
	const unsigned int action = pause ? AUX_PAUSE : AUX_RESUME;

	/* attr.aux_action, which the tools' header of 6.12 lacks */
	memcpy((char *)&attr + offsetof(struct perf_event_attr, aux_sample_size) +
	       sizeof(attr.aux_sample_size), &action, sizeof(action));
	if (address && syscall(SYS_perf_event_open, &attr, pid, -1, group, 0) < 0)
		err(1, "perf_event_open of a breakpoint at %#llx", address);
}

/* Start a child that executes the program after a byte was written to the pipe @go. */
static pid_t start(char **program, int *go)
{
	int ends[2];
	pid_t pid;
	char c;

	if (pipe2(ends, O_CLOEXEC))
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		close(ends[1]);
		if (read(ends[0], &c, 1) == 1)
			execv(program[0], program);
		err(127, "%s", program[0]);
	}
	close(ends[0]);
	*go = ends[1];
	return pid;
}

/* Wait for exec(), which closes the last read end of the pipe. */
static void await_exec(int go)
{
	struct pollfd writer = { .fd = go };

	if (poll(&writer, 1, -1) != 1)
		err(1, "poll");
}

static void run_on(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(pid, sizeof(set), &set))
		exit(77);
}

/*
 * Disable the event while the program runs. The last packet must be a TIP.PGD without an address.
 * If the program did not run in between, nothing was traced, and the attempt does not count.
 */
static void disable_while_running(pid_t pid, int fd,
				  const volatile struct perf_event_mmap_page *page,
				  const char *aux, unsigned long size, unsigned long times)
{
	unsigned long long before = 0, written;
	unsigned char last;

	while (times) {
		if (waitpid(pid, NULL, WNOHANG))
			errx(1, "the program has ended");
		if (ioctl(fd, PERF_EVENT_IOC_DISABLE, 0))
			err(1, "ioctl");
		written = page->aux_written;
		__sync_synchronize();
		last = aux[(page->aux_head + size - 1) % size];
		if (written != before && last != TIP_PGD)
			errx(1, "the trace ends with %#x, %lu times before its end", last, times);
		times -= written != before;
		before = written;
		if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
			err(1, "ioctl");
	}
}

static unsigned int count_truncated(const struct perf_event_mmap_page *page)
{
	const char *data = (const char *)page + page->data_offset;
	unsigned int found = 0;

	for (__u64 at = 0; at < page->data_head;) {
		const struct perf_event_header *header = (const void *)(data + at);
		const __u64 *fields = (const void *)(header + 1);

		if (header->type == PERF_RECORD_AUX && (fields[2] & PERF_AUX_FLAG_TRUNCATED))
			found++;
		at += header->size;
	}
	return found;
}

static void save(const char *name, const char *aux, unsigned long size, unsigned long begin,
		 unsigned long length)
{
	FILE *file = fopen(name, "w");

	if (!file)
		err(1, "%s", name);
	for (unsigned long i = 0; i < length; i++)
		putc(aux[(begin + i) % size], file);
	if (fclose(file))
		err(1, "%s", name);
}

int main(int argc, char **argv)
{
	unsigned long pages = 1024, times = 1, interrupts = 0, size, length;
	struct perf_event_mmap_page *page;
	unsigned long long config1 = 0, pause = 0, resume = 0;
	int opt, fd, go = -1, status = 0;
	int prot = PROT_READ | PROT_WRITE;
	pid_t pid = 0;
	char *aux;

	while ((opt = getopt(argc, argv, "+sp:n:i:c:a:r:")) != -1) {
		switch (opt) {
		case 's': prot = PROT_READ; break;
		case 'p': pages = strtoul(optarg, NULL, 0); break;
		case 'n': times = strtoul(optarg, NULL, 0); break;
		case 'i': interrupts = strtoul(optarg, NULL, 0); break;
		case 'c': config1 = strtoull(optarg, NULL, 0); break;
		case 'a': pause = strtoull(optarg, NULL, 16); break;
		case 'r': resume = strtoull(optarg, NULL, 16); break;
		default: return 2;
		}
	}
	if (argc - optind < (config1 ? 1 : 2))
		return 2;

	if (!config1)
		pid = start(argv + optind + 1, &go);
	fd = open_event(pid, config1);
	page = mmap(NULL, (DATA_PAGES + 1) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		err(1, "mmap");
	size = pages * 4096;
	page->aux_offset = (DATA_PAGES + 1) * 4096;
	page->aux_size = size;
	aux = mmap(NULL, size, prot, MAP_SHARED, fd, page->aux_offset);
	if (aux == MAP_FAILED)
		err(1, "mmap of the AUX area");

	if (pid) {
		open_breakpoint(pid, fd, pause, true);
		open_breakpoint(pid, fd, resume, false);
		if (interrupts) {
			run_on(0, 0);
			run_on(pid, 1);
		}
		if (write(go, "", 1) != 1)
			err(1, "%s", argv[optind + 1]);
		if (interrupts) {
			await_exec(go);
			disable_while_running(pid, fd, page, aux, size, interrupts);
			kill(pid, SIGKILL);
		}
		if (waitpid(pid, &status, 0) != pid)
			err(1, "%s", argv[optind + 1]);
	} else while (times--) {
		if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) || ioctl(fd, PERF_EVENT_IOC_DISABLE, 0))
			err(1, "ioctl");
	}

	printf("head %llu written %llu truncated %u\n", page->aux_head, page->aux_written,
	       count_truncated(page));
	length = page->aux_written < size ? page->aux_written : size;
	save(argv[optind], aux, size, page->aux_head + size - length, length);
	if (WIFSIGNALED(status))
		errx(128 + WTERMSIG(status), "%s: %s", argv[optind + 1],
		     strsignal(WTERMSIG(status)));
	return WEXITSTATUS(status);
}
