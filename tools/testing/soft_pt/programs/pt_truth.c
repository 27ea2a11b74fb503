// SPDX-License-Identifier: GPL-2.0-only
/*
 * Single-step a program by ptrace and print the address of each executed instruction.
 *
 * usage: pt_truth [-e] [-b ADDRESS] PROGRAM [ARGUMENT]...
 *	-b	do not step: print ADDRESS each time that a breakpoint there stops the program
 *	-e	print each execution, even if the address equals the one before; repeated string
 *		instructions (rep ...) once
 *
 * Without -e an address that equals the one before it is not printed, as by pt_decode. The exit
 * status is that of the program, which must have a single thread.
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

/*
 * Return the address of the next instruction. The kernel emulates vsyscalls and continues,
 * without a trap, at the return address.
 */
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

/* Is it a string instruction with rep or repne, and at most two other prefixes? */
static bool is_repeated(pid_t pid, unsigned long long ip)
{
	unsigned long bytes = ptrace(PTRACE_PEEKTEXT, pid, ip, 0);
	unsigned char byte = bytes;
	bool rep = false;

	while (byte == 0xf2 || byte == 0xf3 || byte == 0x66 || (byte & 0xf0) == 0x40) {
		rep |= byte >= 0xf2;
		bytes >>= 8;
		byte = bytes;
	}
	return rep && ((byte & 0xfc) == 0x6c || (byte & 0xfc) == 0xa4 ||
		       (byte >= 0xaa && byte <= 0xaf));
}

static void executed(pid_t pid, unsigned long long ip)
{
	static unsigned long long last;

	if (ip != last || (each && !is_repeated(pid, ip)))
		printf("%llx\n", ip);
	last = ip;
}

/*
 * Print what a step executed. mov %eax, %ss, and pause in QEMU, inhibit the trap: the instruction
 * that follows was executed as well. After exec a trap comes before the first instruction.
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

/* Return the signal to deliver, or 0 if a step or another ptrace event stopped the program. */
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

/* Run to the breakpoint at @address again and again, and print its address each time. */
static void run_to(pid_t pid, int *status, unsigned long long address)
{
	int sig = 0;

	if (ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[0]), address) ||
	    ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[7]), DR7_ENABLE))
		err(1, "Cannot set a breakpoint at %#llx", address);
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
