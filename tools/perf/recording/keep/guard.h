/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Save what the rings have when the recorder is killed, for --keep-file.
 *
 * A guard is a process that maps the rings of the kept streams and of side-band records as well,
 * and the backlog of the latter (sideband/drain_thread.h), and sleeps. When the recorder is gone,
 * it writes what nobody has read yet to FILE.rings, and ends. perf inject --recover-keep adds that
 * to what FILE has. The rings live as long as the guard has their descriptors.
 *
 * A guard costs memory: the pages that the recorder has changed since the fork. The OOM killer
 * prefers the recorder, which has far more.
 *
 * FILE.rings is empty, and locked by the guard, until the recorder is gone:
 *
 *	0			struct rings_header
 *	behind it		@nr of struct rings_entry
 *	@at of each entry	records, as they were in the ring
 *
 * The header is written last.
 */
#ifndef PERF_RECORDING_GUARD_H
#define PERF_RECORDING_GUARD_H

#include <stddef.h>
#include <linux/types.h>
#include <sys/types.h>

#define RINGS_MAGIC	"PERFRING"

/**
 * struct rings_header
 * @magic:	RINGS_MAGIC
 * @box:	checksum in the header of FILE (box_format.h)
 * @nr:		number of entries
 * @sum:	checksum of the entries
 */
struct rings_header {
	char	magic[8];
	u64	box;
	u64	nr;
	u64	sum;
};

/**
 * struct rings_entry - the records of one ring
 * @at:		where they begin [bytes]
 * @len:	[bytes]
 * @sum:	checksum of the records
 * @free:	of the ring [bytes]; where this is less than a record, later ones may be lost. If
 *		@len is 0, too: of a ring that could not be saved, or all that could not be mapped
 */
struct rings_entry {
	u64	at;
	u64	len;
	u64	sum;
	u64	free;
};

/**
 * struct guard
 * @path:	of the file, owned; NULL: there is no guard
 * @pid:	of the process
 * @socket:	to it
 */
struct guard {
	char	*path;
	pid_t	 pid;
	int	 socket;
};

/**
 * guard__start - create the file, and fork the guard
 * @file:	of --keep-file, which is locked
 * @box:	checksum in its header
 *
 * Return: 0, or a negative errno after an error message.
 */
int guard__start(struct guard *guard, const char *file, u64 box);

/**
 * guard__add - let the guard map a ring, and keep the descriptor
 * @bytes:	size of the mapping [bytes]
 *
 * Return: 0, or a negative errno after an error message.
 */
int guard__add(struct guard *guard, int fd, size_t bytes);

/** guard__stop - end the guard, and remove the file; harmless if there is none */
void guard__stop(struct guard *guard);

/** guard__path - Return: the name of the file beside @file, to be freed; or NULL */
char *guard__path(const char *file);

/**
 * guard__lock - lock a file that the guard of an earlier recorder may still be writing
 * @operation:	LOCK_SH or LOCK_EX
 * @tries:	how often, each 50 ms after the one before
 *
 * Return: 0, or a negative errno.
 */
int guard__lock(int fd, int operation, int tries);

#endif
