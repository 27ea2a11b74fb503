// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <sys/wait.h>
#include "util/debug.h"
#include "cause.h"
#include "hook.h"

#define for_each_slot(hook, command)						\
	for (command = (hook)->running; command < (hook)->running + HOOK_MAX_RUNNING; command++)

static void report(const struct hook *hook, int status)
{
	if (WIFSIGNALED(status))
		pr_warning("--exec-snapshot: %s was killed by signal %d.\n", hook->command,
			   WTERMSIG(status));
	else if (WEXITSTATUS(status))
		pr_warning("--exec-snapshot: %s has failed with status %d.\n", hook->command,
			   WEXITSTATUS(status));
	else
		pr_debug("--exec-snapshot: %s has ended.\n", hook->command);
}

static void reap(struct hook *hook, int flags)
{
	struct hook_command *command;
	int status;

	for_each_slot(hook, command) {
		if (!command->pid || waitpid(command->pid, &status, flags) != command->pid)
			continue;
		report(hook, status);
		command->pid = 0;
		zfree(&command->file);
	}
}

void hook__reap(struct hook *hook)
{
	if (hook->command)
		reap(hook, WNOHANG);
}

void hook__wait(struct hook *hook)
{
	if (hook->command)
		reap(hook, 0);
}

bool hook__works_on(const struct hook *hook, const char *file)
{
	const struct hook_command *command;

	for_each_slot(hook, command) {
		if (command->pid && !strcmp(command->file, file))
			return true;
	}
	return false;
}

#define REASON	"PERF_SNAPSHOT_REASON="

/* Copy the environment, with @reason. Threads may read the environment, so it is not changed. */
static char **environment(char *reason)
{
	size_t nr = 0, i;
	char **copy;

	while (environ[nr])
		nr++;
	copy = calloc(nr + 2, sizeof(*copy));
	if (!copy)
		return NULL;
	nr = 0;
	copy[nr++] = reason;
	for (i = 0; environ[i]; i++) {
		if (strncmp(environ[i], REASON, strlen(REASON)))
			copy[nr++] = environ[i];
	}
	return copy;
}

/*
 * The recorder blocks signals, may have a real-time priority, and has descriptors of its own open.
 * Undo that for the command. A process group of its own keeps a ^C for the recorder away from it.
 */
static int spawn(const char *script, const char *command, const char *file, char **env, pid_t *pid)
{
	const char *argv[] = { "sh", "-c", script, command, file, NULL };
	const struct sched_param normal = { 0 };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
				 POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSCHEDULER);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setschedpolicy(&attr, SCHED_OTHER);
	posix_spawnattr_setschedparam(&attr, &normal);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
	err = posix_spawn(pid, "/bin/sh", &actions, &attr, (char **)argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return -err;
}

void hook__set_reason(struct hook *hook, const struct snapshot_cause *cause)
{
	if (cause->report.condition)
		snapshot_cause__print(cause, hook->reason, sizeof(hook->reason));
	else
		scnprintf(hook->reason, sizeof(hook->reason), "%s", cause->reason);
}

static struct hook_command *free_slot(struct hook *hook)
{
	struct hook_command *command;

	for_each_slot(hook, command) {
		if (!command->pid)
			return command;
	}
	return NULL;
}

void hook__run(struct hook *hook, const char *file)
{
	char *script = NULL, *reason = NULL, **env = NULL, limit[48] = "";
	struct hook_command *command;
	int err = -ENOMEM;

	if (!hook->command)
		return;
	hook__reap(hook);
	command = free_slot(hook);
	if (!command) {
		pr_warning("--exec-snapshot: not run for %s: %d commands are still running.\n",
			   file, HOOK_MAX_RUNNING);
		return;
	}
	if (hook->max_files)
		scnprintf(limit, sizeof(limit), "ulimit -Sn %" PRIu64 "\n", hook->max_files);
	command->file = strdup(file);
	if (command->file && asprintf(&script, "%s%s \"$@\"", limit, hook->command) >= 0 &&
	    asprintf(&reason, REASON "%s", *hook->reason ? hook->reason : "exit") >= 0)
		env = environment(reason);
	if (env)
		err = spawn(script, hook->command, file, env, &command->pid);
	free(env);
	free(reason);
	free(script);
	if (!err)
		return;
	command->pid = 0;
	zfree(&command->file);
	pr_warning("--exec-snapshot: cannot run the command for %s: %s\n", file, strerror(-err));
}
