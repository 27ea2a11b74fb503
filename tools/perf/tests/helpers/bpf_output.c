// SPDX-License-Identifier: GPL-2.0-only
/*
 * Let a BPF program write one record to a bpf-output event of another process.
 *
 * usage: bpf_output PID
 *
 * The BPF program needs the descriptor of the event in a map. Duplicate the descriptors of process
 * PID (pidfd_getfd(2)), one after the other, and run the program with each on every CPU
 * (BPF_PROG_TEST_RUN), until an event accepts the record.
 *
 * Exit status: 0 an event accepted the record, 1 none did, 2 no BPF, 3 another error.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INSN(code_, dst, src, off_, imm_) \
	((struct bpf_insn){ .code = (code_), .dst_reg = (dst), .src_reg = (src), .off = (off_), \
			    .imm = (imm_) })

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

static int new_map(int nr_cpus)
{
	union bpf_attr attr = {
		.map_type    = BPF_MAP_TYPE_PERF_EVENT_ARRAY,
		.key_size    = 4,
		.value_size  = 4,
		.max_entries = nr_cpus,
	};

	return bpf(BPF_MAP_CREATE, &attr);
}

/* Load: return bpf_perf_event_output(ctx, map, BPF_F_CURRENT_CPU, "trigger", 8); */
static int load_program(int map)
{
	const struct bpf_insn insns[] = {
		INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_2, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ALU | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, BPF_F_CURRENT_CPU),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_4, BPF_REG_10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_4, 0, 0, -8),
		INSN(BPF_ST | BPF_DW | BPF_MEM, BPF_REG_10, 0, -8, 0x67697274),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_5, 0, 0, 8),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_perf_event_output),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insns	   = (uintptr_t)insns,
		.insn_cnt  = sizeof(insns) / sizeof(*insns),
		.license   = (uintptr_t)"GPL",
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

/*
 * Return what the program returned, 0 if the event of descriptor @fd accepted the record, or
 * -errno.
 */
static int output(int program, int map, int cpu, int fd)
{
	union bpf_attr update = {
		.map_fd = map,
		.key	= (uintptr_t)&cpu,
		.value	= (uintptr_t)&fd,
	};
	union bpf_attr run = {
		.test.prog_fd = program,
		.test.flags   = BPF_F_TEST_RUN_ON_CPU,
		.test.cpu     = cpu,
	};

	if (bpf(BPF_MAP_UPDATE_ELEM, &update))
		return -errno;
	return bpf(BPF_PROG_TEST_RUN, &run) ? -errno : (int)run.test.retval;
}

int main(int argc, char **argv)
{
	int nr_cpus = sysconf(_SC_NPROCESSORS_CONF), map, program, pidfd;
	char path[64];
	struct dirent *entry;
	DIR *dir;

	if (argc != 2)
		errx(3, "usage: bpf_output PID");
	map = new_map(nr_cpus);
	program = map < 0 ? -1 : load_program(map);
	pidfd = syscall(__NR_pidfd_open, atoi(argv[1]), 0);
	if (program < 0 || pidfd < 0) {
		printf("Cannot use BPF or pidfds: %s\n", strerror(errno));
		return 2;
	}
	snprintf(path, sizeof(path), "/proc/%d/fd", atoi(argv[1]));
	dir = opendir(path);
	if (!dir)
		err(3, "%s", path);
	while ((entry = readdir(dir))) {
		int fd = syscall(__NR_pidfd_getfd, pidfd, atoi(entry->d_name), 0), cpu;

		if (fd < 0 || *entry->d_name == '.')
			continue;
		for (cpu = 0; cpu < nr_cpus; cpu++)
			if (!output(program, map, cpu, fd))
				return 0;
		close(fd);
	}
	printf("process %s has no bpf-output event\n", argv[1]);
	return 1;
}
