// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kill a recorder, and read what its guard has saved of rings that are whole, damaged, and such
 * that cannot be mapped. Start guards where the file exists.
 *
 * tags: fast parallel
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/perf_event.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "recording/keep/guard.h"
#include "recording/lib/checksum.h"
#include "perf/tests/tap.h"

#define BOX		42
#define RING_BYTES	(4UL * page_size)
#define LOCK_TRIES	200

static char *file;

/* The rings of the recorder, in this order, and so many that the guard must allocate twice */
enum { WRAPPED, DAMAGED, UNMAPPED, EMPTY, FULL, RESTARTED, NR_RINGS = 100 };

static u8 byte_at(u64 pos)
{
	return pos * 31 + 7;
}

/* Make a ring that has the bytes from @tail to @head. */
static int make_ring(u64 tail, u64 head)
{
	struct perf_event_mmap_page *page;
	int fd = memfd_create("ring", MFD_CLOEXEC);
	u8 *data;
	u64 pos;

	if (fd < 0 || ftruncate(fd, page_size + RING_BYTES))
		return -1;
	page = mmap(NULL, page_size + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -1;
	data = (u8 *)page + page_size;
	page->data_offset = page_size;
	page->data_size = RING_BYTES;
	page->data_tail = tail;
	page->data_head = head;
	for (pos = tail; pos < head && pos < tail + RING_BYTES; pos++)
		data[pos % RING_BYTES] = byte_at(pos);
	return fd;
}

/* Give the rings to a guard, and be killed. */
static void __attribute__((noreturn)) record(void)
{
	int rings[NR_RINGS] = {
		[WRAPPED]   = make_ring(RING_BYTES - 100, RING_BYTES + 300),
		[DAMAGED]   = make_ring(8, 16 + RING_BYTES),
		[UNMAPPED]  = open("/dev/null", O_RDONLY | O_CLOEXEC),
		[EMPTY]	    = make_ring(64, 64),
		[FULL]	    = make_ring(0, RING_BYTES),
		[RESTARTED] = make_ring(64, 0),
	};
	struct guard guard = { 0 };
	int i;

	if (guard__start(&guard, file, BOX))
		_exit(1);
	for (i = 0; i < NR_RINGS; i++) {
		if (i > RESTARTED)
			rings[i] = make_ring(i, 2 * i);
		if (rings[i] < 0 || guard__add(&guard, rings[i], page_size + RING_BYTES))
			_exit(1);
	}
	raise(SIGKILL);
	_exit(1);
}

static void *saved;
static size_t saved_bytes;

/* Wait for the guard, and read its file. Return: success. */
static bool read_saved(void)
{
	char *path = guard__path(file);
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct stat st;
	bool ok;

	free(path);
	ok = fd >= 0 && !guard__lock(fd, LOCK_SH, LOCK_TRIES) && !fstat(fd, &st);
	if (ok) {
		saved = calloc(1, st.st_size + sizeof(struct rings_header));
		saved_bytes = st.st_size;
		ok = saved && pread(fd, saved, saved_bytes, 0) == (ssize_t)saved_bytes;
	}
	if (fd >= 0)
		close(fd);
	return ok;
}

static const struct rings_entry *entry_of(unsigned int i)
{
	return (struct rings_entry *)((struct rings_header *)saved + 1) + i;
}

/* Does the entry have the bytes from @tail to @head? */
static bool has(const struct rings_entry *entry, u64 tail, u64 head)
{
	const u8 *data = saved + entry->at;
	u64 pos;

	if (entry->len != head - tail || entry->free != RING_BYTES - entry->len ||
	    entry->at > saved_bytes || entry->len > saved_bytes - entry->at ||
	    checksum(data, entry->len) != entry->sum)
		return false;
	for (pos = tail; pos < head; pos++) {
		if (data[pos - tail] != byte_at(pos))
			return false;
	}
	return true;
}

/* Does the entry say that the ring may have had more than was saved? */
static bool may_lack(const struct rings_entry *entry)
{
	return !entry->len && !entry->free;
}

static void check_rings(void)
{
	const struct rings_header *header = saved;
	u64 bytes = header->nr * sizeof(struct rings_entry);

	if (!check(saved_bytes >= sizeof(*header) && header->box == BOX &&
		   !memcmp(header->magic, RINGS_MAGIC, sizeof(header->magic)) &&
		   header->nr == NR_RINGS && sizeof(*header) + bytes <= saved_bytes &&
		   checksum(header + 1, bytes) == header->sum,
		   "the file has an entry for each ring, and for those that are missing"))
		return;
	check(has(entry_of(0), RING_BYTES - 100, RING_BYTES + 300),
	      "a ring whose records begin at its end");
	check(may_lack(entry_of(1)), "a damaged ring may lack records, and spoils no other one");
	check(has(entry_of(2), 64, 64), "an empty ring");
	check(has(entry_of(3), 0, RING_BYTES), "a full ring");
	check(has(entry_of(4), 0, 0), "a backlog that starts over is empty");
	check(has(entry_of(NR_RINGS - 2), NR_RINGS - 1, 2 * (NR_RINGS - 1)), "many rings");
	check(may_lack(entry_of(NR_RINGS - 1)), "a ring that could not be mapped may lack records");
}

/* Start a guard where the file has @len bytes. @left: receives the size of the file then. */
static int start_on(const void *data, size_t len, off_t *left)
{
	char *path = guard__path(file);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct guard guard = { 0 };
	struct stat st;
	int err;

	err = fd < 0 || write(fd, data, len) != (ssize_t)len ? -EIO : 0;
	close(fd);
	err = err ?: guard__start(&guard, file, BOX);
	*left = stat(path, &st) ? -1 : st.st_size;
	guard__stop(&guard);
	unlink(path);
	free(path);
	return err;
}

static void check_existing(void)
{
	static const struct rings_header whole = { .magic = RINGS_MAGIC };
	static const char unfinished[sizeof(whole) + sizeof(struct rings_entry)];
	off_t left;

	check(!start_on(&whole, sizeof(whole), &left) && !left, "the file of another guard");
	check(!start_on(unfinished, sizeof(unfinished), &left) && !left,
	      "the file of a guard that was killed");
	check(start_on("text", 4, &left) == -EEXIST && left == 4, "a file of others is kept");
}

static void run(void)
{
	pid_t recorder = fork();
	int status = 0;

	if (!recorder)
		record();
	if (!check(waitpid(recorder, &status, 0) == recorder && WIFSIGNALED(status),
		   "the recorder is killed") ||
	    !check(read_saved(), "the guard ends"))
		return;
	check_rings();
	free(saved);
}

int main(void)
{
	char *dir = strdup("/tmp/guard_test.XXXXXX"), *path;

	page_size = sysconf(_SC_PAGESIZE);
	if (!dir || !mkdtemp(dir) || asprintf(&file, "%s/box", dir) < 0)
		return 1;
	check_existing();
	run();
	path = guard__path(file);
	unlink(path);
	free(path);
	free(file);
	rmdir(dir);
	free(dir);
	return tap_end();
}
