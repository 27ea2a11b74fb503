/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * util's side-band thread, which collects what HEADER_BPF_PROG_INFO needs of BPF programs that are loaded
 * while we record.
 *
 * It looks whether it is to end once a second only; an eventfd wakes it up. It watches all tasks:
 * attached to ours, it would be kept busy by the hang-up of one that exits.
 */
#ifndef PERF_RECORDING_BPF_THREAD_H
#define PERF_RECORDING_BPF_THREAD_H

struct evlist;
struct perf_env;

/**
 * struct bpf_thread
 * @evlist:	util's event, polled by util's thread; NULL if it does not run
 * @wake_fd:	wakes that thread up, so that it ends
 */
struct bpf_thread {
	struct evlist	*evlist;
	int		 wake_fd;
};

/** bpf_thread__start - programs are added to @env, under its lock. Says in debug output if it cannot */
void bpf_thread__start(struct bpf_thread *watch, struct perf_env *env);

/** bpf_thread__stop - wait for the thread's end; harmless if it does not run */
void bpf_thread__stop(struct bpf_thread *watch);

#endif
