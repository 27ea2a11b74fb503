/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Look up files as another task does: in its mount namespace, and below its root directory.
 *
 * The paths in a task's mmap records begin at its root. setns(CLONE_NEWNS) fails in a program with
 * threads, because they share one root and one working directory, and it knows nothing of
 * chroot(). These functions give the calling thread a root of its own instead, and make it
 * /proc/PID/root. The namespaces of the thread stay as they are.
 */
#ifndef __PERF_TASK_ROOT_H
#define __PERF_TASK_ROOT_H

#include <stdbool.h>
#include <sys/types.h>
#include <linux/types.h>

struct machine;
struct nscookie;
struct thread;

/** task_root__differs - does @pid have another root directory than this program? */
bool task_root__differs(pid_t pid);

/**
 * task_root__enter - make the root of @pid that of the calling thread
 * @nc:	for task_root__leave()
 *
 * Needs CAP_SYS_CHROOT, and the right to trace @pid. Other threads are not affected.
 *
 * Return: false if nothing was changed; task_root__path() may still work.
 */
bool task_root__enter(pid_t pid, struct nscookie *nc);

/** task_root__leave - return to the root and the working directory from before; once */
void task_root__leave(struct nscookie *nc);

/**
 * task_root__path - return the path at which this program finds what @pid has at @path, or NULL
 *
 * Only if the roots differ. Absolute symbolic links are resolved in this program's root. The caller
 * frees the path.
 */
char *task_root__path(pid_t pid, const char *path);

/**
 * thread__check_root - forget the root of a thread's process if the pid belongs to another by now
 * @time:	when the process existed, in the clock of the file; 0 if unknown
 *
 * The pid belongs to another process if the process with that pid has started later than @time, or
 * if the file is of another machine.
 */
void thread__check_root(struct thread *thread, const struct machine *machine, u64 time);

#endif
