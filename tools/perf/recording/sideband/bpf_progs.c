// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include <linux/rbtree.h>
#include <linux/time64.h>
#include "util/debug.h"
#include "util/env.h"
#include "util/time-utils.h"
#include "recording/lib/clock_pair.h"
#include "recording/lib/compat.h"
#include "bpf_progs.h"
#ifdef HAVE_LIBBPF_SUPPORT
#include <bpf/bpf.h>
#include "util/bpf-event.h"
#include "util/bpf-utils.h"
#endif

/* Finding out what the rings refer to takes time: wait longer each time that it does not help. */
#define MIN_WAIT_NS	NSEC_PER_SEC
#define MAX_WAIT_NS	(60 * NSEC_PER_SEC)

void bpf_progs__init(struct bpf_progs *progs, struct perf_env *env)
{
	*progs = (struct bpf_progs){ .env = env, .max_count = BPF_PROGS_MIN_COUNT };
}

void bpf_progs__exit(struct bpf_progs *progs)
{
	free(progs->unloaded);
	progs->unloaded = NULL;
	progs->nr = 0;
}

#ifdef HAVE_LIBBPF_SUPPORT
#define for_each_node(root, pos, next)						\
	for (pos = rb_first(root); pos && (next = rb_next(pos), true); pos = next)

static struct bpf_prog_info_node *info_of(struct rb_node *node)
{
	return rb_entry(node, struct bpf_prog_info_node, rb_node);
}

static struct btf_node *btf_of(struct rb_node *node)
{
	return rb_entry(node, struct btf_node, rb_node);
}

static u32 count(struct perf_env *env)
{
	u32 nr;

	down_read(&env->bpf_progs.lock);
	nr = env->bpf_progs.infos_cnt;
	up_read(&env->bpf_progs.lock);
	return nr;
}

static size_t bytes_of(struct perf_env *env)
{
	struct rb_node *pos, *next;
	size_t bytes = 0;

	down_read(&env->bpf_progs.lock);
	for_each_node(&env->bpf_progs.infos, pos, next)
		bytes += sizeof(struct perf_bpil) + info_of(pos)->info_linear->data_len;
	for_each_node(&env->bpf_progs.btfs, pos, next)
		bytes += btf_of(pos)->data_size;
	up_read(&env->bpf_progs.lock);
	return bytes;
}

/*
 * Look for programs
 */

/* Get the ids of all programs, ascending. Return: an array of @nr, or NULL. */
static u32 *get_ids(struct perf_env *env, size_t *nr)
{
	struct rb_node *pos, *next;
	u32 *ids;

	*nr = 0;
	down_read(&env->bpf_progs.lock);
	ids = calloc(env->bpf_progs.infos_cnt + 1, sizeof(*ids));
	if (ids) {
		for_each_node(&env->bpf_progs.infos, pos, next)
			ids[(*nr)++] = info_of(pos)->info_linear->info.id;
	}
	up_read(&env->bpf_progs.lock);
	return ids;
}

/* Leave only those that no program has. Return: their number, 0 if that is unknown. */
static size_t leave_unloaded(u32 *ids, size_t nr)
{
	size_t i, nr_unloaded = 0;
	u32 loaded = 0;

	for (i = 0; i < nr; i++) {
		if (loaded < ids[i] && bpf_prog_get_next_id(ids[i] - 1, &loaded)) {
			if (errno != ENOENT)
				return 0;
			loaded = UINT32_MAX;
		}
		if (ids[i] != loaded)
			ids[nr_unloaded++] = ids[i];
	}
	return nr_unloaded;
}

/* There is nothing to drop: wait until the number of programs has doubled. */
static void wait_for_more(struct bpf_progs *progs)
{
	bpf_progs__exit(progs);
	progs->max_count = max(2 * count(progs->env), (u32)BPF_PROGS_MIN_COUNT);
}

/* The programs must be known before it is found out which are loaded; the time, after that. */
static void find_unloaded(struct bpf_progs *progs, u64 now, u64 newest)
{
	size_t nr;

	progs->unloaded = get_ids(progs->env, &nr);
	if (progs->unloaded)
		progs->nr = leave_unloaded(progs->unloaded, nr);
	progs->time = rdclock();
	if (!progs->nr || clock_pair__from_monotonic(progs->env->clock.clockid, &progs->time)) {
		wait_for_more(progs);
		return;
	}
	/* A clock may have been set back. */
	progs->time = max(progs->time, newest);
	progs->wait_ns = MIN_WAIT_NS;
	progs->check_at = now + progs->wait_ns;
}

/*
 * Drop programs. The caller holds the lock.
 */

static void drop_infos(struct perf_env *env, const u32 *ids, size_t nr)
{
	struct rb_node *pos, *next;
	size_t i = 0;

	for_each_node(&env->bpf_progs.infos, pos, next) {
		struct bpf_prog_info_node *node = info_of(pos);
		const u32 id = node->info_linear->info.id;

		while (i < nr && ids[i] < id)
			i++;
		if (i == nr)
			break;
		if (ids[i] != id)
			continue;
		rb_erase(pos, &env->bpf_progs.infos);
		env->bpf_progs.infos_cnt--;
		bpf_prog_info_node__delete(node);
	}
}

static int compare_ids(const void *a, const void *b)
{
	const u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* util's thread adds the BTF of a program after the program, so none is missing afterwards. */
static void drop_btfs(struct perf_env *env)
{
	u32 *needed = calloc(env->bpf_progs.infos_cnt + 1, sizeof(*needed));
	struct rb_node *pos, *next;
	size_t nr = 0;

	if (!needed)
		return;
	for_each_node(&env->bpf_progs.infos, pos, next)
		needed[nr++] = info_of(pos)->info_linear->info.btf_id;
	qsort(needed, nr, sizeof(*needed), compare_ids);
	for_each_node(&env->bpf_progs.btfs, pos, next) {
		struct btf_node *node = btf_of(pos);

		if (bsearch(&node->id, needed, nr, sizeof(*needed), compare_ids))
			continue;
		rb_erase(pos, &env->bpf_progs.btfs);
		env->bpf_progs.btfs_cnt--;
		free(node);
	}
	free(needed);
}

static void drop_unloaded(struct bpf_progs *progs)
{
	struct perf_env *env = progs->env;

	down_write(&env->bpf_progs.lock);
	drop_infos(env, progs->unloaded, progs->nr);
	drop_btfs(env);
	up_write(&env->bpf_progs.lock);
	pr_debug2("Dropped %zu BPF programs that were unloaded.\n", progs->nr);
	wait_for_more(progs);
}

bool bpf_progs__due(struct bpf_progs *progs, u64 now)
{
	return now >= progs->check_at && count(progs->env) > progs->max_count;
}

void bpf_progs__tidy(struct bpf_progs *progs, u64 now, u64 newest, u64 horizon, bool limited)
{
	if (!progs->nr) {
		find_unloaded(progs, now, newest);
		return;
	}
	if (progs->time < horizon) {
		drop_unloaded(progs);
		return;
	}
	if (limited && bytes_of(progs->env) > BPF_PROGS_MAX_BYTES) {
		progs->nr_missing += progs->nr;
		drop_unloaded(progs);
		return;
	}
	progs->wait_ns = min(2 * progs->wait_ns, (u64)MAX_WAIT_NS);
	progs->check_at = now + progs->wait_ns;
}
#else
bool bpf_progs__due(struct bpf_progs *progs __maybe_unused, u64 now __maybe_unused)
{
	return false;
}

void bpf_progs__tidy(struct bpf_progs *progs __maybe_unused, u64 now __maybe_unused,
		     u64 newest __maybe_unused, u64 horizon __maybe_unused,
		     bool limited __maybe_unused)
{
}
#endif
