// SPDX-License-Identifier: GPL-2.0-only
/*
 * Steps a program by ptrace and prints the address of each instruction that it executes.
 *
 * usage: pt_truth PROGRAM [ARGUMENT]...
 *
 * Repetitions are left out, as by pt_decode. Exits as the program does. Programs with one thread.
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* The next instruction. A vsyscall is none: the kernel goes on, without a trap, where it was called. */
static unsigned long long ip_of(pid_t pid)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, 0, &regs))
		err(1, "PTRACE_GETREGS");
	if ((long long)regs.rip < 0)
		return ptrace(PTRACE_PEEKDATA, pid, regs.rsp, 0);
	return regs.rip;
}

static void executed(unsigned long long ip)
{
	static unsigned long long last;

	if (ip != last)
		printf("%llx\n", ip);
	last = ip;
}

/* Behind mov %eax, %ss, and in QEMU pause, there is no trap: one more instruction was executed. */
static void stepped(pid_t pid, unsigned long long before)
{
	long bytes = ptrace(PTRACE_PEEKTEXT, pid, before, 0);

	executed(before);
	bytes &= 0xffff;
	if ((bytes == 0xd08e || bytes == 0x90f3) && ip_of(pid) != before + 2)
		executed(before + 2);
}

/* What stopped it: a step, something else that is no signal either, or a signal, to be passed on. */
static int signal_of(pid_t pid, int status, unsigned long long before)
{
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, pid, 0, &info))
		err(1, "PTRACE_GETSIGINFO");
	if (WSTOPSIG(status) != SIGTRAP)
		return WSTOPSIG(status);
	if (info.si_code == SI_KERNEL) {	/* int3 */
		executed(before);
		return SIGTRAP;
	}
	if (info.si_code == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
		executed(before);
	if (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT)
		stepped(pid, before);
	return info.si_code <= 0 ? SIGTRAP : 0;
}

int main(int argc, char **argv)
{
	unsigned long long ip;
	int status, sig = 0;
	pid_t pid;

	if (argc < 2)
		return 2;
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execv(argv[1], argv + 1);
		err(127, "%s", argv[1]);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		err(1, "%s", argv[1]);
	if (ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEEXEC))
		err(1, "PTRACE_SETOPTIONS");
	while (WIFSTOPPED(status)) {
		ip = ip_of(pid);
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, sig) || waitpid(pid, &status, 0) != pid)
			err(1, "PTRACE_SINGLESTEP");
		if (WIFSTOPPED(status))
			sig = signal_of(pid, status, ip);
		else
			executed(ip);	/* exit() */
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
