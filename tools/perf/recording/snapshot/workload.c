// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <linux/compiler.h>
#include <sys/wait.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/record.h"
#include "workload.h"

/* Never called: SIGUSR1 is blocked. util sends the signal only if it is given a handler. */
static void ignore_exec_failed(int signo __maybe_unused, siginfo_t *info __maybe_unused,
			       void *context __maybe_unused)
{
}

int workload__prepare(struct workload *workload, struct evlist *evlist, struct record_opts *opts,
		      const char **argv, bool pipe_output)
{
	if (evlist__prepare_workload(evlist, &opts->target, argv, pipe_output,
				     ignore_exec_failed) < 0) {
		pr_err("Cannot start the command %s.\n", argv[0]);
		return -ECHILD;
	}
	workload->evlist = evlist;
	return 0;
}

void workload__start(struct workload *workload)
{
	if (workload->evlist)
		evlist__start_workload(workload->evlist);
}

void workload__exec_failed(struct workload *workload, pid_t pid, int err)
{
	if (workload->evlist && pid == workload->evlist->workload.pid)
		workload->exec_errno = err;
}

/* Wait for this child alone: others are util's, which waits for them itself. */
static bool reap(struct workload *workload, int flags)
{
	if (!workload->evlist || workload->ended)
		return false;
	if (waitpid(workload->evlist->workload.pid, &workload->status, flags) <= 0)
		return false;
	workload->ended = true;
	return true;
}

bool workload__reap(struct workload *workload)
{
	return reap(workload, WNOHANG);
}

void workload__terminate(struct workload *workload)
{
	if (!workload->evlist || workload->ended)
		return;
	evlist__cancel_workload(workload->evlist);	/* if it was never started */
	kill(workload->evlist->workload.pid, SIGTERM);
}

void workload__wait(struct workload *workload)
{
	reap(workload, 0);
}

int workload__exit_status(const struct workload *workload, const char *name)
{
	int status = workload->status;

	if (!workload->ended)
		return 0;
	if (workload->exec_errno) {
		pr_err("Cannot execute %s: %s\n", name, strerror(workload->exec_errno));
		return workload->exec_errno == ENOENT ? 127 : 126;
	}
	if (WIFSIGNALED(status)) {
		pr_err("%s was killed by signal %d (%s).\n", name, WTERMSIG(status),
		       strsignal(WTERMSIG(status)));
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}
