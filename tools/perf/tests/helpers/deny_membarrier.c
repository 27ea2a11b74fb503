// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run a command for which membarrier(2) fails with EINVAL, as on a kernel with nohz_full CPUs or
 * without CONFIG_MEMBARRIER.
 *
 * usage: deny_membarrier [--affinity] COMMAND [ARGUMENT ...]
 *
 * A recorder must then visit each CPU to find out which records of a snapshot are whole. With
 * --affinity sched_setaffinity(2) fails as well, as in a cpuset that lacks CPUs.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const bool affinity = argc > 1 && !strcmp(argv[1], "--affinity");
	/* The architecture is not checked: the command has the same one. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			 affinity ? SYS_sched_setaffinity : SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	argv += 1 + affinity;
	if (!argv[0] || argv[0][0] == '-') {
		fprintf(stderr, "usage: deny_membarrier [--affinity] COMMAND [ARGUMENT ...]\n");
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		fprintf(stderr, "deny_membarrier: cannot install the filter: %s\n",
			strerror(errno));
		return 2;
	}
	if (syscall(SYS_membarrier, 0, 0, 0) != -1 || errno != EINVAL) {
		fprintf(stderr, "deny_membarrier: membarrier is not refused\n");
		return 2;
	}
	execvp(argv[0], argv);
	fprintf(stderr, "deny_membarrier: %s: %s\n", argv[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
