// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <linux/kernel.h>
#include <sys/signalfd.h>
#include "signals.h"

static const int watched_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1, SIGUSR2 };

/*
 * SIGCHLD may be inherited as ignored: then the kernel reaps children itself, and tells nobody. A
 * write beyond a limit, or to a closed pipe, is an error of the output and must not kill the
 * recorder.
 */
static const struct {
	int		 signo;
	sighandler_t	 handler;
} claimed_signals[] = {
	{ SIGCHLD, SIG_DFL },
	{ SIGPIPE, SIG_IGN },
	{ SIGXFSZ, SIG_IGN },
};

static sighandler_t inherited_handlers[ARRAY_SIZE(claimed_signals)];
static sigset_t inherited_mask;
static bool claimed;

static void restore_inherited(void)
{
	size_t i;

	if (!claimed)
		return;
	for (i = 0; i < ARRAY_SIZE(claimed_signals); i++)
		signal(claimed_signals[i].signo, inherited_handlers[i]);
	sigprocmask(SIG_SETMASK, &inherited_mask, NULL);
}

void signals__claim(void)
{
	static bool restored_in_children;
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, &inherited_mask);
	for (i = 0; i < ARRAY_SIZE(claimed_signals); i++)
		inherited_handlers[i] = signal(claimed_signals[i].signo,
					       claimed_signals[i].handler);
	claimed = true;
	if (!restored_in_children)
		restored_in_children = !pthread_atfork(NULL, NULL, restore_inherited);
}

static bool is_ignored(int signo)
{
	struct sigaction action;

	return !sigaction(signo, NULL, &action) && action.sa_handler == SIG_IGN;
}

/* A signalfd would receive an ignored signal all the same. */
int signals__watch(void)
{
	sigset_t set;
	size_t i;
	int fd;

	sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(watched_signals); i++)
		sigaddset(&set, watched_signals[i]);
	if (is_ignored(SIGHUP))
		sigdelset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

void signals__restore(void)
{
	if (!claimed)
		return;
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	restore_inherited();
	signal(SIGUSR1, SIG_DFL);
	claimed = false;
}
