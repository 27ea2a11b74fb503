/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * util's side-band thread, which collects what HEADER_BPF_PROG_INFO needs of BPF programs that are loaded
 * while we record.
 *
 * It looks whether it is to end once a second only; an eventfd wakes it up. It watches all tasks:
 * attached to ours, it would be kept busy by the hang-up of one that exits.
 */
#ifndef PERF_RECORDING_BPF_WATCH_H
#define PERF_RECORDING_BPF_WATCH_H

struct evlist;
struct perf_env;

/**
 * struct bpf_watch
 * @evlist:	util's event, polled by util's thread; NULL if it does not run
 * @wake_fd:	wakes that thread up, so that it ends
 */
struct bpf_watch {
	struct evlist	*evlist;
	int		 wake_fd;
};

/** bpf_watch__start - programs are added to @env, under its lock. Says in debug output if it cannot */
void bpf_watch__start(struct bpf_watch *watch, struct perf_env *env);

/** bpf_watch__stop - wait for the thread's end; harmless if it does not run */
void bpf_watch__stop(struct bpf_watch *watch);

#endif
