/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Run util's side-band thread, which collects HEADER_BPF_PROG_INFO of BPF programs that are loaded
 * during the recording.
 *
 * util's thread checks only once a second whether it shall end; an eventfd wakes it up. Its event
 * covers all tasks: attached to the recorded tasks, the thread would spin on the hang-up of one
 * that exits.
 */
#ifndef PERF_RECORDING_BPF_THREAD_H
#define PERF_RECORDING_BPF_THREAD_H

struct evlist;
struct perf_env;

/**
 * struct bpf_thread
 * @evlist:	util's event, polled by util's thread; NULL if it does not run
 * @wake_fd:	wakes the thread up, so that it ends
 */
struct bpf_thread {
	struct evlist	*evlist;
	int		 wake_fd;
};

/** bpf_thread__start - add programs to @env, under its lock; a failure is a debug message */
void bpf_thread__start(struct bpf_thread *watch, struct perf_env *env);

/** bpf_thread__stop - end the thread and wait for it; harmless if it does not run */
void bpf_thread__stop(struct bpf_thread *watch);

#endif
