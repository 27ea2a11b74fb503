// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run a command and write its use of time and memory to a file.
 *
 * usage: spend FILE COMMAND [ARGUMENT ...]
 *
 * Write one line: seconds elapsed, CPU seconds in user mode and in the kernel, and peak resident
 * memory in kB, of the command with all threads and the children it waited for. Forward SIGINT and
 * SIGTERM to it. The exit status is that of the command, or 128 + the signal that ended it.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile pid_t child;

static void forward(int signal)
{
	kill(child, signal);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static double cpu_seconds(const struct timeval *time)
{
	return time->tv_sec + time->tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = forward };
	sigset_t forwarded, before;
	struct rusage usage;
	double begin;
	FILE *file;
	int status;

	if (argc < 3)
		errx(2, "usage: spend FILE COMMAND [ARGUMENT ...]");
	file = fopen(argv[1], "we");
	if (!file)
		err(2, "%s", argv[1]);

	/* Block the signals until there is a child to forward them to. */
	sigemptyset(&forwarded);
	sigaddset(&forwarded, SIGINT);
	sigaddset(&forwarded, SIGTERM);
	sigprocmask(SIG_BLOCK, &forwarded, &before);
	begin = seconds();
	child = fork();
	if (child < 0)
		err(2, "fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigprocmask(SIG_SETMASK, &before, NULL);
		execvp(argv[2], argv + 2);
		err(127, "%s", argv[2]);
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);

	while (wait4(child, &status, 0, &usage) < 0) {
		if (errno != EINTR)
			err(2, "wait4");
	}
	fprintf(file, "%.3f %.3f %.3f %ld\n", seconds() - begin, cpu_seconds(&usage.ru_utime),
		cpu_seconds(&usage.ru_stime), usage.ru_maxrss);
	if (fclose(file))
		err(2, "%s", argv[1]);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
