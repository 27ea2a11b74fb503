// SPDX-License-Identifier: GPL-2.0-only
/*
 * Load and unload BPF programs, one after the other.
 *
 * usage: bpf_load NUMBER NAME
 *        bpf_load --hold NUMBER NAME
 *        bpf_load --probe
 *
 * Load NUMBER programs called NAME. When bpf_load exits, the kernel has written all records of
 * them. With --hold, load all of them, and unload them at the end of standard input. With --probe,
 * test whether the kernel overstates the size of such records if several events ask for them.
 *
 * Exit status: 0 done, or the size is overstated; 1 the size is right; 2 no BPF, or no such events;
 * 3 another error.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

static int load(const char *name)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns	   = (uintptr_t)insns,
		.insn_cnt  = sizeof(insns) / sizeof(*insns),
		.license   = (uintptr_t)"GPL",
	};

	snprintf(attr.prog_name, sizeof(attr.prog_name), "%s", name);
	return bpf(BPF_PROG_LOAD, &attr);
}

/* Unload a program, and wait until its id is free: the kernel has written the records by then. */
static void unload(int program)
{
	struct bpf_prog_info info = { 0 };
	union bpf_attr attr = {
		.info.bpf_fd   = program,
		.info.info_len = sizeof(info),
		.info.info     = (uintptr_t)&info,
	};
	int fd;

	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
		err(3, "BPF_OBJ_GET_INFO_BY_FD");
	close(program);
	for (;;) {
		memset(&attr, 0, sizeof(attr));
		attr.prog_id = info.id;
		fd = bpf(BPF_PROG_GET_FD_BY_ID, &attr);
		if (fd < 0 && errno == ENOENT)
			return;
		if (fd >= 0)
			close(fd);
		usleep(1000);
	}
}

/* Exiting would close the programs, but not wait until they are unloaded. */
static int hold(int nr, const char *name)
{
	int programs[nr], i;

	for (i = 0; i < nr; i++) {
		programs[i] = load(name);
		if (programs[i] < 0) {
			printf("Cannot load a BPF program: %s\n", strerror(errno));
			return 2;
		}
	}
	while (getchar() != EOF)
		;
	while (nr--)
		unload(programs[nr]);
	return 0;
}

static struct perf_event_mmap_page *open_event(int cpu)
{
	struct perf_event_attr attr = {
		.size	       = sizeof(attr),
		.type	       = PERF_TYPE_SOFTWARE,
		.config	       = PERF_COUNT_SW_DUMMY,
		.sample_type   = PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER,
		.sample_id_all = 1,
		.bpf_event     = 1,
	};
	int fd = syscall(__NR_perf_event_open, &attr, -1, cpu, -1, 0);
	void *page;

	if (fd < 0)
		return NULL;
	page = mmap(NULL, 2 * sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return page == MAP_FAILED ? NULL : page;
}

static unsigned int size_of_first(const struct perf_event_mmap_page *page)
{
	const struct perf_event_header *header = (const void *)page + page->data_offset;

	return page->data_head ? header->size : 0;
}

/* Compare the sizes of the same record in two rings. */
static int probe(void)
{
	const struct perf_event_mmap_page *first, *second;
	int cpu = sched_getcpu(), program;
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	sched_setaffinity(0, sizeof(here), &here);
	first = open_event(cpu);
	second = open_event(cpu);
	program = load("probe");
	if (!first || !second || program < 0) {
		printf("Cannot load a BPF program or open an event for it: %s\n", strerror(errno));
		return 2;
	}
	unload(program);
	return size_of_first(first) == size_of_first(second);
}

int main(int argc, char **argv)
{
	int i, program;

	if (argc == 2 && !strcmp(argv[1], "--probe"))
		return probe();
	if (argc == 4 && !strcmp(argv[1], "--hold"))
		return hold(atoi(argv[2]), argv[3]);
	if (argc != 3)
		errx(3, "usage: bpf_load [--hold] NUMBER NAME | --probe");
	for (i = 0; i < atoi(argv[1]); i++) {
		program = load(argv[2]);
		if (program < 0) {
			printf("Cannot load a BPF program: %s\n", strerror(errno));
			return 2;
		}
		unload(program);
	}
	return 0;
}
