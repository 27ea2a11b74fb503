// SPDX-License-Identifier: GPL-2.0-only
/*
 * Let a BPF program of page faults in the kernel interrupt itself, at least once whenever it runs.
 *
 * usage: bpf_fault PROGRAM COUNT
 *
 * Attach to the BPF program with this id: a program that takes a page fault in the kernel each
 * time. Take COUNT page faults in the kernel, at addresses that nobody else uses. Print the first
 * address and the one behind the last. The kernel does not run the program of the tracepoint for
 * the page fault of the other program, and counts a miss.
 *
 * Exit status: 0 done; 2 this kernel does not allow that (before Linux 6.8); 3 another error.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNMAPPED	4096	/* below vm.mmap_min_addr */

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

static int get_program(int id)
{
	union bpf_attr attr = { .prog_id = id };
	int fd = bpf(BPF_PROG_GET_FD_BY_ID, &attr);

	if (fd < 0)
		err(3, "BPF program %d", id);
	return fd;
}

/* Return: the id of the program's function in its BTF. */
static int function_id(int program)
{
	struct bpf_func_info function = { 0 };
	struct bpf_prog_info info = {
		.nr_func_info = 1, .func_info_rec_size = sizeof(function),
		.func_info = (uintptr_t)&function,
	};
	union bpf_attr attr = {
		.info.bpf_fd = program, .info.info_len = sizeof(info),
		.info.info = (uintptr_t)&info,
	};

	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
		err(3, "BPF_OBJ_GET_INFO_BY_FD");
	return function.type_id;
}

/* Return: a program that begins whenever @target does, and reads an address that is not mapped. */
static int load(int target)
{
	const struct bpf_insn insns[] = {
		{ BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_10, 0, 0 },
		{ BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, -8 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 8 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, UNMAPPED },
		{ BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_probe_read_user },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_TRACING,
		.expected_attach_type = BPF_TRACE_FENTRY,
		.attach_prog_fd = target,
		.attach_btf_id = function_id(target),
		.insns = (uintptr_t)insns,
		.insn_cnt = sizeof(insns) / sizeof(*insns),
		.license = (uintptr_t)"GPL",
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

static void attach(int program)
{
	union bpf_attr attr = { .raw_tracepoint.prog_fd = program };

	if (bpf(BPF_RAW_TRACEPOINT_OPEN, &attr) < 0)
		err(3, "cannot attach");
}

/* The kernel writes to each page before it is there. */
static void take_faults(long count)
{
	int zero = open("/dev/zero", O_RDONLY);
	size_t page = sysconf(_SC_PAGESIZE), bytes = count * page, i;
	char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (zero < 0 || area == MAP_FAILED)
		err(3, "memory");
	madvise(area, bytes, MADV_NOHUGEPAGE);		/* fails without huge pages */
	for (i = 0; i < bytes; i += page) {
		if (read(zero, area + i, 1) != 1)
			err(3, "read");
	}
	printf("%#lx %#lx\n", (unsigned long)area, (unsigned long)area + bytes);
}

int main(int argc, char **argv)
{
	int program;

	if (argc != 3)
		errx(3, "usage: bpf_fault PROGRAM COUNT");
	program = load(get_program(atoi(argv[1])));
	if (program < 0) {
		printf("Cannot attach to a BPF program: %s\n", strerror(errno));
		return 2;
	}
	attach(program);
	take_faults(atol(argv[2]));
	return 0;
}
