/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drop the descriptions of BPF programs (HEADER_BPF_PROG_INFO, HEADER_BPF_BTF) that no file needs
 * any more.
 *
 * util adds the code, and the types, of each program that is loaded, and never drops any. A machine
 * that loads a program for each container would fill the memory of a recorder, and all its files.
 *
 *	unloaded programs --> @unloaded, before @time --> dropped, when all that can still be
 *	are looked for                                    written is newer than @time
 *
 * The ids of programs are not reused, and the kernel takes the id away as it writes the records
 * that say that the program is unloaded. So a program without id is in no record newer than that.
 * These records are not waited for: only a system-wide recording gets them for each program.
 *
 * For the main thread. util's thread adds programs meanwhile (bpf_thread.h).
 */
#ifndef PERF_RECORDING_BPF_PROGS_H
#define PERF_RECORDING_BPF_PROGS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct perf_env;

/* Fewer programs are not looked at. */
#define BPF_PROGS_MIN_COUNT	64

/* Where records reach back for long, unloaded programs are dropped above this size [bytes]. */
#define BPF_PROGS_MAX_BYTES	(64UL << 20)

/**
 * struct bpf_progs
 * @env:	has the programs, and their lock
 * @unloaded:	ids of programs that are to be dropped, ascending
 * @nr:		number of @unloaded
 * @time:	all @unloaded were unloaded before this time [ns of the clock of events]
 * @max_count:	number of programs above which to look for unloaded ones
 * @wait_ns:	time from one look to the next [ns]
 * @check_at:	when to look next [ns of CLOCK_MONOTONIC]
 * @nr_missing:	programs that were dropped although records may refer to them
 */
struct bpf_progs {
	struct perf_env	*env;
	u32		*unloaded;
	size_t		 nr;
	u64		 time;
	u32		 max_count;
	u64		 wait_ns;
	u64		 check_at;
	u64		 nr_missing;
};

/** bpf_progs__init - watch the programs of @env. To be freed with bpf_progs__exit(). */
void bpf_progs__init(struct bpf_progs *progs, struct perf_env *env);

void bpf_progs__exit(struct bpf_progs *progs);

/** bpf_progs__due - is it time for bpf_progs__tidy()? @now: of CLOCK_MONOTONIC [ns] */
bool bpf_progs__due(struct bpf_progs *progs, u64 now);

/**
 * bpf_progs__tidy - look for programs that were unloaded, or drop those that were found
 * @now:	of CLOCK_MONOTONIC [ns]
 * @newest:	time of the newest record that is known [ns]
 * @horizon:	all records of the present file, and of later ones, are newer than this [ns]
 * @limited:	drop what is needed as well, above BPF_PROGS_MAX_BYTES
 */
void bpf_progs__tidy(struct bpf_progs *progs, u64 now, u64 newest, u64 horizon, bool limited);

#endif
