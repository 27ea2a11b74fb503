// SPDX-License-Identifier: GPL-2.0-only
/*
 * Steps a program by ptrace and prints the address of each instruction that it executes.
 *
 * usage: pt_truth [-e] [-b ADDRESS] PROGRAM [ARGUMENT]...
 *	-b	not step by step: only where a breakpoint at ADDRESS stops it
 *	-e	each time that it executes it, also if it is the same as before; of those that repeat
 *		themselves (rep ...) once
 *
 * Without -e repetitions are left out, as by pt_decode. Exits as the program does. Programs with one
 * thread.
 */
#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
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

static bool each;

/* A string instruction with rep or repne; it has no more than two other prefixes here. */
static bool repeats_itself(pid_t pid, unsigned long long ip)
{
	unsigned long bytes = ptrace(PTRACE_PEEKTEXT, pid, ip, 0);
	unsigned char byte = bytes;
	bool rep = false;

	while (byte == 0xf2 || byte == 0xf3 || byte == 0x66 || (byte & 0xf0) == 0x40) {
		rep |= byte >= 0xf2;
		bytes >>= 8;
		byte = bytes;
	}
	return rep && ((byte & 0xfc) == 0x6c || (byte & 0xfc) == 0xa4 || (byte >= 0xaa && byte <= 0xaf));
}

static void executed(pid_t pid, unsigned long long ip)
{
	static unsigned long long last;

	if (ip != last || (each && !repeats_itself(pid, ip)))
		printf("%llx\n", ip);
	last = ip;
}

/*
 * Behind mov %eax, %ss, and in QEMU pause, there is no trap: one more instruction was executed. Behind exec
 * there is one before the first.
 */
static void stepped(pid_t pid, unsigned long long before, bool execed)
{
	long bytes = ptrace(PTRACE_PEEKTEXT, pid, before, 0);

	if (execed && ip_of(pid) == before)
		return;
	executed(pid, before);
	bytes &= 0xffff;
	if ((bytes == 0xd08e || bytes == 0x90f3) && ip_of(pid) != before + 2)
		executed(pid, before + 2);
}

/* What stopped it: a step, something else that is no signal either, or a signal, to be passed on. */
static int signal_of(pid_t pid, int status, unsigned long long before)
{
	static bool execed;
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, pid, 0, &info))
		err(1, "PTRACE_GETSIGINFO");
	if (WSTOPSIG(status) != SIGTRAP)
		return WSTOPSIG(status);
	if (info.si_code == SI_KERNEL) {	/* int3 */
		executed(pid, before);
		return SIGTRAP;
	}
	if (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT)
		stepped(pid, before, execed);
	execed = info.si_code == (SIGTRAP | PTRACE_EVENT_EXEC << 8);
	if (execed)
		executed(pid, before);
	return info.si_code <= 0 ? SIGTRAP : 0;
}

static void step_through(pid_t pid, int *last)
{
	unsigned long long ip;
	int status = *last, sig = 0;

	while (WIFSTOPPED(status)) {
		ip = ip_of(pid);
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, sig) || waitpid(pid, &status, 0) != pid)
			err(1, "PTRACE_SINGLESTEP");
		if (WIFSTOPPED(status))
			sig = signal_of(pid, status, ip);
		else
			executed(pid, ip);	/* exit() */
	}
	*last = status;
}

#define DR7_ENABLE	1

/* Prints each time. */
static void run_to(pid_t pid, int *status, unsigned long long address)
{
	int sig = 0;

	if (ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[0]), address) ||
	    ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[7]), DR7_ENABLE))
		err(1, "a breakpoint at %#llx", address);
	while (WIFSTOPPED(*status)) {
		if (ptrace(PTRACE_CONT, pid, 0, sig) || waitpid(pid, status, 0) != pid)
			err(1, "PTRACE_CONT");
		if (!WIFSTOPPED(*status))
			break;
		sig = WSTOPSIG(*status);
		if (sig == SIGTRAP) {
			printf("%llx\n", ip_of(pid));
			sig = 0;
		}
	}
}

int main(int argc, char **argv)
{
	unsigned long long address = 0;
	int status, opt;
	pid_t pid;

	while ((opt = getopt(argc, argv, "+eb:")) != -1) {
		switch (opt) {
		case 'e': each = true; break;
		case 'b': address = strtoull(optarg, NULL, 16); break;
		default: return 2;
		}
	}
	if (argc == optind)
		return 2;
	argv += optind;
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execv(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		err(1, "%s", argv[0]);
	if (ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEEXEC))
		err(1, "PTRACE_SETOPTIONS");
	if (address)
		run_to(pid, &status, address);
	else
		step_through(pid, &status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
