// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run a command for which system calls fail.
 *
 * usage: deny CALL... -- COMMAND [ARGUMENT ...]
 *
 *	io_uring_setup		EPERM, as in many containers and with kernel.io_uring_disabled
 *	membarrier		EINVAL, as on a kernel with nohz_full CPUs or without
 *				CONFIG_MEMBARRIER: a recorder must visit each CPU to find out which
 *				records are whole
 *	perf_event_open		EPERM, as in many containers
 *	sched_setaffinity	EINVAL, as in a cpuset that lacks CPUs
 */
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct call {
	const char	*name;
	int		 nr;
	int		 error;
} calls[] = {
	{ "io_uring_setup", SYS_io_uring_setup, EPERM },
	{ "membarrier", SYS_membarrier, EINVAL },
	{ "perf_event_open", SYS_perf_event_open, EPERM },
	{ "sched_setaffinity", SYS_sched_setaffinity, EINVAL },
	{ NULL, 0, 0 },
};

static const struct call *find(const char *name)
{
	const struct call *call = calls;

	while (call->name && strcmp(call->name, name))
		call++;
	if (!call->name)
		errx(2, "%s is none of the calls that can be denied", name);
	return call;
}

static void deny(const struct call *call)
{
	/* The architecture is not checked: the command has the same one. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | call->error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		err(2, "cannot install the filter");
	if (syscall(call->nr, 0, 0, 0) != -1 || errno != call->error)
		errx(2, "%s is not refused", call->name);
}

int main(int argc __attribute__((unused)), char **argv)
{
	while (*++argv && strcmp(*argv, "--"))
		deny(find(*argv));
	if (!*argv || !*++argv)
		errx(2, "usage: deny CALL... -- COMMAND [ARGUMENT ...]");
	execvp(argv[0], argv);
	warn("%s", argv[0]);
	return errno == ENOENT ? 127 : 126;
}
