// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bound the memory of the whole recorder by what --keep says.
 *
 *	limit of the blocks = --keep - (anonymous memory of the process - blocks) - reserved
 *
 * The second term is everything else: the live state of tasks and maps, data that wait for the
 * disk, util's structures. Reserved is what the first snapshot will allocate: the part of
 * --write-buffer that was never used so far, and KEEP_RESTORE_BYTES. When the state grows in a
 * storm of processes, blocks are dropped, and with the oldest record the state may forget as well.
 * The blocks of rare events are small: if dropping them down to KEEP_MIN_BLOCKS_BYTES is not
 * enough, sideband__tidy() drops more of them (keep__drop_oldest()), but for the newest ones.
 *
 * With --keep-file, the limit of the blocks is that of the file, less what it has of the live state
 * (journal.h). The file has a fixed size, and everything else comes on top: the live state may grow
 * by a quarter of --keep, but by no more than KEEP_DEFAULT_BYTES.
 *
 * The rings are locked memory of the kernel, and not counted (-m).
 *
 * Another time would need:
 *
 *	needed = memory before anything was kept + blocks that are filled or compressed
 *		 + wanted time / measured time * all that has come since
 *
 * The compressed records and the live state have come since: both grow with the time.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <fcntl.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <internal/lib.h>
#include "util/debug.h"
#include "recording/lib/memory_limit.h"
#include "budget.h"
#include "drop.h"
#include "keep_data.h"

/* The block that is filled, one that is being compressed, and spare memory. */
#define WORKING_BYTES	((KEEP_MAX_SPARE + 2) * KEEP_BLOCK_BYTES + KEEP_BUFFER_BYTES)

/* Return: the anonymous memory of this process [bytes], or 0 if /proc does not tell. */
static u64 anonymous_bytes(void)
{
	unsigned long resident, shared;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	char line[128];
	ssize_t len;

	if (fd < 0)
		return 0;
	len = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (len <= 0)
		return 0;
	line[len] = '\0';
	if (sscanf(line, "%*u %lu %lu", &resident, &shared) != 2 || resident < shared)
		return 0;
	return (u64)(resident - shared) * page_size;
}

/* @all: anonymous memory of this process [bytes]. Caller holds @lock. */
static u64 other_bytes(const struct keep *keep, u64 all)
{
	u64 blocks = keep->box ? 0 : keep->bytes;

	return (all > blocks ? all - blocks : 0) +
	       __atomic_load_n(&keep->reserved_bytes, __ATOMIC_RELAXED) +
	       (keep->level && !keep->restored ? KEEP_RESTORE_BYTES : 0);
}

u64 keep__growth_limit(const struct keep *keep)
{
	u64 used = keep->base_bytes + KEEP_MIN_BLOCKS_BYTES;

	if (keep->box)
		return min(keep->max_bytes / 4, (u64)KEEP_DEFAULT_BYTES);
	return keep->max_bytes > used ? keep->max_bytes - used : 0;
}

u64 keep__other_bytes(struct keep *keep)
{
	u64 all = anonymous_bytes(), others;

	pthread_mutex_lock(&keep->lock);
	others = other_bytes(keep, all);
	pthread_mutex_unlock(&keep->lock);
	return others;
}

/* Return: the memory that is not for blocks, out of @max [bytes]. Caller holds @lock. */
static u64 taken_bytes(const struct keep *keep, u64 all, u64 *max)
{
	if (!keep->box) {
		*max = keep->max_bytes;
		return other_bytes(keep, all);
	}
	*max = keep_box__capacity(keep->box);
	return keep->journal.mapped;
}

void keep__measure(struct keep *keep)
{
	u64 all = anonymous_bytes(), others, max_bytes;

	pthread_mutex_lock(&keep->lock);
	others = taken_bytes(keep, all, &max_bytes);
	keep->limit_bytes = max_bytes > others + KEEP_MIN_BLOCKS_BYTES ?
			    max_bytes - others : KEEP_MIN_BLOCKS_BYTES;
	keep->peak_bytes = max(keep->peak_bytes, all + (keep->box ? keep->box->bytes : 0));
	keep__trim(keep);
	pthread_mutex_unlock(&keep->lock);
}

void keep__reserve(struct keep *keep, u64 bytes)
{
	__atomic_store_n(&keep->reserved_bytes, bytes, __ATOMIC_RELAXED);
}

/* The cgroup also counts other maps of BPF, its programs, page tables and pages of files. */
#define SPARE_BYTES	(8ULL << 20)

/* Return: memory that the kernel cannot reclaim [bytes]. Pages of a file on a disk it can. */
static u64 needed_bytes(const struct keep *keep)
{
	struct statfs fs;

	if (!keep->box)
		return keep->max_bytes;
	return KEEP_MIN_BYTES + keep__growth_limit(keep) +
	       (!fstatfs(keep->box->fd, &fs) && fs.f_type == TMPFS_MAGIC ? keep->box->bytes : 0);
}

void keep__check_limit(const struct keep *keep, u64 ring_bytes)
{
	u64 needed = needed_bytes(keep) + ring_bytes + SPARE_BYTES;
	char file[PATH_MAX];
	u64 limit = memory_limit__find("", file, sizeof(file));

	if (!limit || limit >= needed)
		return;
	pr_warning("--keep: perf needs up to %" PRIu64 " MB, and its cgroup may use %" PRIu64
		   " MB (%s). When perf needs more,\n"
		   "the kernel kills it. Use a smaller --keep, or allow more: MemoryMax= of a "
		   "service, docker run --memory.\n",
		   needed >> 20, limit >> 20, file);
}

void keep__begin(struct keep *keep)
{
	if (keep__enabled(keep))
		keep->base_bytes = keep__other_bytes(keep);
}

/* An eighth more: blocks are dropped as a whole, and not every minute is like the other. */
u64 keep__needed_bytes(const struct keep *keep, u64 bytes, u64 ns, u64 wanted_ns)
{
	u64 needed = keep->base_bytes + WORKING_BYTES + 1.125 * bytes * wanted_ns / ns;

	return max((u64)KEEP_MIN_BYTES, needed);
}

u64 keep__needed_instead(const struct keep *keep, u64 ns)
{
	u64 fixed = keep->base_bytes + WORKING_BYTES, bytes = KEEP_MIN_BLOCKS_BYTES;

	if (keep->max_bytes > fixed + bytes)
		bytes = keep->max_bytes - fixed;
	return keep__needed_bytes(keep, bytes, ns, keep->max_ns);
}
