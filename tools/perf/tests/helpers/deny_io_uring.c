// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run a command for which io_uring_setup(2) fails with EPERM, as in many containers and with
 * kernel.io_uring_disabled.
 *
 * usage: deny_io_uring COMMAND [ARGUMENT ...]
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	/* The architecture is not checked: the command has the same one. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (argc < 2) {
		fprintf(stderr, "usage: deny_io_uring COMMAND [ARGUMENT ...]\n");
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("deny_io_uring: cannot install the filter");
		return 2;
	}
	if (syscall(SYS_io_uring_setup, 0, NULL) != -1 || errno != EPERM) {
		fprintf(stderr, "deny_io_uring: io_uring_setup is not refused\n");
		return 2;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return errno == ENOENT ? 127 : 126;
}
