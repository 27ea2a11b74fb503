// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include "task_history.h"
#include "recording/state/task_refs.h"

void task_history__init(struct task_history *history, u64 len)
{
	*history = (struct task_history){ .len = len };
}

void task_history__exit(struct task_history *history)
{
	free(history->stretches);
	history->stretches = NULL;
	history->nr = history->room = 0;
}

static bool is_overwritten(const struct task_history *history, const struct aux_stretch *stretch)
{
	return history->written - stretch->end >= history->len;
}

/* Drop stretches that are overwritten, or older than @time. */
static void forget(struct task_history *history, u64 time)
{
	size_t from, to = 0;

	for (from = 0; from < history->nr; from++) {
		const struct aux_stretch *stretch = &history->stretches[from];

		if (!is_overwritten(history, stretch) && stretch->until >= time)
			history->stretches[to++] = *stretch;
		else
			history->overwritten = *stretch;
	}
	history->nr = to;
}

static bool make_room(struct task_history *history)
{
	size_t most = history->len / TASK_HISTORY_MIN_BYTES + 1, room;
	struct aux_stretch *stretches;

	if (history->nr < history->room)
		return true;
	forget(history, 0);
	if (history->nr < history->room / 2)
		return true;
	room = min(history->room * 2 ?: 64, most);
	if (room > history->room) {
		stretches = realloc(history->stretches, room * sizeof(*stretches));
		if (!stretches)
			return false;
		history->stretches = stretches;
		history->room = room;
	}
	return history->nr < history->room;
}

/*
 * Extend the last stretch if the same task continued, unless a long one would be kept only for its
 * end.
 */
static bool extend(struct task_history *history, u64 bytes, u32 pid, u32 tid, u64 time)
{
	struct aux_stretch *last;

	if (!history->nr)
		return false;
	last = &history->stretches[history->nr - 1];
	if (last->pid != pid || last->tid != tid || last->bytes + bytes > history->len / 256)
		return false;
	last->bytes += bytes;
	last->end = history->written;
	last->until = max(last->until, time);
	return true;
}

void task_history__add(struct task_history *history, u64 offset, u64 bytes, u32 pid, u32 tid,
		       u64 time)
{
	u64 from = history->time;

	offset %= history->len;
	if (!bytes)
		bytes = (offset + history->len - history->offset) % history->len;
	history->offset = offset;
	history->written += bytes;
	history->time = max(history->time, time);
	if (extend(history, bytes, pid, tid, time))
		return;
	if (!make_room(history)) {
		task_history__lose(history, time);
		return;
	}
	history->stretches[history->nr++] = (struct aux_stretch){
		.bytes = bytes,
		.end   = history->written,
		.from  = from,
		.until = time,
		.pid   = pid,
		.tid   = tid,
	};
}

void task_history__lose(struct task_history *history, u64 time)
{
	history->gap = max(history->gap, time);
}

u64 task_history__since(const struct task_history *history)
{
	return history->nr ? history->stretches[0].from : UINT64_MAX;
}

void task_history__refer(struct task_history *history, u64 horizon, struct task_refs *refs)
{
	const struct aux_stretch *stretch;

	forget(history, horizon);
	if (history->gap && history->gap >= horizon)
		refs->incomplete = true;
	if (history->nr && history->overwritten.end)
		task_refs__add(refs, history->overwritten.pid, history->overwritten.tid,
			       task_history__since(history));
	for (stretch = history->stretches; stretch < history->stretches + history->nr; stretch++) {
		task_refs__add(refs, stretch->pid, stretch->tid, stretch->from);
		task_refs__add(refs, stretch->pid, stretch->tid, stretch->until);
	}
}
