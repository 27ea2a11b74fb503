// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "debug.h"
#include "env.h"
#include "machine.h"
#include "namespaces.h"
#include "task-root.h"
#include "thread.h"

bool task_root__differs(pid_t pid)
{
	struct stat own, other;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	return !stat("/", &own) && !stat(path, &other) &&
	       (own.st_dev != other.st_dev || own.st_ino != other.st_ino);
}

static int open_dir(const char *path)
{
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool set_root(int fd)
{
	return !fchdir(fd) && !chroot(".");
}

bool task_root__enter(pid_t pid, struct nscookie *nc)
{
	char path[32];
	int root;

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	root = open_dir(path);
	nc->root = open_dir("/");
	nc->cwd = open_dir(".");
	/* Threads created since the last call share the root of this one: unshare each time. */
	if (root >= 0 && nc->root >= 0 && nc->cwd >= 0 && !unshare(CLONE_FS)) {
		if (set_root(root)) {
			close(root);
			return true;
		}
		if (fchdir(nc->cwd))
			pr_debug("Cannot return to the working directory: %m\n");
	}
	if (root >= 0)
		close(root);
	if (nc->root >= 0)
		close(nc->root);
	if (nc->cwd >= 0)
		close(nc->cwd);
	nc->root = nc->cwd = -1;
	return false;
}

void task_root__leave(struct nscookie *nc)
{
	if (!set_root(nc->root) || fchdir(nc->cwd))
		pr_err("Cannot return from the root directory of another process: %m\n");
	close(nc->root);
	close(nc->cwd);
	nc->root = nc->cwd = -1;
}

char *task_root__path(pid_t pid, const char *path)
{
	char *result;

	if (pid <= 0 || !task_root__differs(pid) ||
	    asprintf(&result, "/proc/%d/root%s", pid, path) < 0)
		return NULL;
	return result;
}

static s64 clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * (s64)NSEC_PER_SEC + now.tv_nsec;
}

/* Return: how long ago the process has started [ns]; -1 if there is none. */
static s64 process_age(pid_t pid)
{
	unsigned long long ticks;
	char path[32], stat[1024];
	const char *name_end;
	FILE *file;
	bool found;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return -1;
	stat[fread(stat, 1, sizeof(stat) - 1, file)] = '\0';
	fclose(file);
	/* The start is field 22. The name is field 2 and may contain spaces. */
	name_end = strrchr(stat, ')');
	found = name_end && sscanf(name_end + 1, " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
				   " %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &ticks) == 1;
	if (!found)
		return -1;
	return clock_ns(CLOCK_BOOTTIME) - ticks * (NSEC_PER_SEC / sysconf(_SC_CLK_TCK));
}

static bool recorded_here(const struct perf_env *env)
{
	struct utsname uts;

	return !env->hostname || (!uname(&uts) && !strcmp(env->hostname, uts.nodename));
}

/*
 * Return: how long ago @time was [ns]. Without a clock pair, take the clock of the file for
 * CLOCK_MONOTONIC: the kernel's default is close to it.
 */
static s64 time_ago(const struct perf_env *env, u64 time)
{
	if (!env->clock.tod_ns)
		return clock_ns(CLOCK_MONOTONIC) - (s64)time;
	return clock_ns(CLOCK_REALTIME) - (s64)env->clock.tod_ns -
	       (s64)(time - env->clock.clockid_ns);
}

/* Allow a second, and a drift between the clocks of one in a thousand. */
static s64 tolerance(const struct perf_env *env, u64 time)
{
	s64 span = env->clock.tod_ns ? time - env->clock.clockid_ns : time;

	return NSEC_PER_SEC + max(span, (s64)0) / 1000;
}

static bool is_other_process(pid_t pid, const struct perf_env *env, u64 time)
{
	s64 age = process_age(pid);

	if (age < 0 || !recorded_here(env))
		return true;
	if (!time || time == (u64)-1)
		time = env->clock.clockid_ns;
	return time && age + tolerance(env, time) < time_ago(env, time);
}

void thread__check_root(struct thread *thread, const struct machine *machine, u64 time)
{
	struct nsinfo *nsi = thread__nsinfo(thread);

	if (!nsi || !machine->env || !nsinfo__need_setns(nsi) || RC_CHK_ACCESS(nsi)->checked)
		return;
	RC_CHK_ACCESS(nsi)->checked = true;
	if (!is_other_process(nsinfo__pid(nsi), machine->env, time))
		return;
	pr_debug("Process %d is not the one that was recorded\n", nsinfo__pid(nsi));
	nsinfo__clear_need_setns(nsi);
}
