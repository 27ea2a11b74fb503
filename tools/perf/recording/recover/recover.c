// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "util/debug.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/header.h"
#include "util/session.h"
#include "recording/keep/block.h"
#include "recording/keep/box.h"
#include "recording/keep/keep_data.h"
#include "recording/keep/pack.h"
#include "recording/lib/fd.h"
#include "recording/snapshot/cause.h"
#include "recording/snapshot/snapshot_event.h"
#include "internal.h"
#include "recover.h"

/*
 * Open
 */

static int explain(const char *path, const char *problem)
{
	pr_err("Cannot recover from %s: %s.\n", path, problem);
	return -EINVAL;
}

static bool is_image(const struct recovery *recovery)
{
	return recovery->image.fd >= 0;
}

static bool is_box(int fd)
{
	char magic[sizeof(((struct box_header *)NULL)->magic)];

	return preadn(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       !memcmp(magic, BOX_MAGIC, sizeof(magic));
}

/* The copy takes the place of the file. */
static int open_image(struct recovery *recovery)
{
	int err = image_box__extract(recovery->path, recovery->pid, &recovery->image);

	if (err)
		return err;
	close(recovery->fd);
	recovery->fd = recovery->image.fd;
	return 0;
}

/* The recorder has the lock as long as it lives. A copy on another file system has none. */
static int open_box(struct recovery *recovery)
{
	struct stat st;
	int err;

	recovery->fd = open(recovery->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (recovery->fd < 0 || fstat(recovery->fd, &st)) {
		err = -errno;
		pr_err("Cannot open %s: %s\n", recovery->path, strerror(-err));
		return err;
	}
	if (!S_ISREG(st.st_mode))
		return explain(recovery->path, "it is not a regular file");
	if (!is_box(recovery->fd))
		return open_image(recovery);
	if (flock(recovery->fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK) {
		explain(recovery->path,
			"perf record uses it. Send SIGUSR2 to that process for a snapshot instead");
		return -EBUSY;
	}
	return 0;
}

static int copy_session(struct recovery *recovery)
{
	const struct box_slot *slot = recovery->reader.slots[BOX_SESSION];
	void *session = malloc(slot->len ?: 1);
	int err = session ? box_reader__read(&recovery->reader, slot, session) : -ENOMEM;

	recovery->session_fd = memfd_create("session", MFD_CLOEXEC);
	if (err == -EILSEQ) {
		explain(recovery->path, "the description of its events is damaged");
	} else if (err || recovery->session_fd < 0 ||
		   writen(recovery->session_fd, session, slot->len) != (ssize_t)slot->len) {
		err = err ?: -errno;
		pr_err("Cannot copy the description of the events: %s\n", strerror(-err));
	}
	free(session);
	snprintf(recovery->input, sizeof(recovery->input), "/proc/self/fd/%d",
		 recovery->session_fd);
	return err;
}

static bool is_same_boot(const struct box_header *header)
{
	char id[sizeof(header->boot_id)];

	keep_box__read_boot_id(id, sizeof(id));
	return *id && !strcmp(id, header->boot_id);
}

static int open_all(struct recovery *recovery)
{
	const char *problem;
	int err = open_box(recovery);

	if (!err) {
		err = box_reader__init(&recovery->reader, recovery->fd, &problem);
		if (err)
			explain(recovery->path, problem);
	}
	if (err)
		return err;
	recovery->same_boot = is_same_boot(&recovery->reader.header);
	recovery->packed = malloc(KEEP_BLOCK_BYTES);
	recovery->raw = malloc(KEEP_BLOCK_BYTES);
	recovery->unpacker = keep_unpacker__new(KEEP_BLOCK_BYTES);
	return recovery->packed && recovery->raw && recovery->unpacker ?
	       copy_session(recovery) : -ENOMEM;
}

int recovery__new(const char *path, u64 pid, struct recovery **recovery)
{
	/* The cursors of the box have cache lines of their own. */
	struct recovery *new = aligned_alloc(__alignof__(*new), sizeof(*new));
	int err;

	if (!new)
		return -ENOMEM;
	memset(new, 0, sizeof(*new));
	new->path = path;
	new->pid = pid;
	new->fd = new->session_fd = new->image.fd = -1;
	signal(SIGXFSZ, SIG_IGN);	/* beyond ulimit -f, a write then fails with EFBIG */
	err = open_all(new);
	if (err)
		recovery__delete(new, false);
	else
		*recovery = new;
	return err;
}

const char *recovery__input(const struct recovery *recovery)
{
	return recovery->input;
}

/* Only who may write to the file can tell the next recorder that its records are saved. */
static void note_recovered(const struct recovery *recovery)
{
	u64 state = BOX_RECOVERED;
	int fd = open(recovery->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat opened, st;

	if (fd < 0)
		return;
	if (fstat(fd, &opened) || fstat(recovery->fd, &st) || opened.st_ino != st.st_ino ||
	    opened.st_dev != st.st_dev ||
	    pwrite(fd, &state, sizeof(state), offsetof(struct box_header, state)) != sizeof(state))
		pr_debug("Cannot note in %s that it is recovered.\n", recovery->path);
	close(fd);
}

void recovery__delete(struct recovery *recovery, bool saved)
{
	if (saved && !is_image(recovery))
		note_recovered(recovery);
	box_reader__exit(&recovery->reader);
	recovery__free_sideband(&recovery->sideband);
	recovery__free_rings(&recovery->rings);
	free(recovery->packed);
	free(recovery->raw);
	keep_unpacker__free(recovery->unpacker);
	fd__close(&recovery->session_fd);
	fd__close(&recovery->fd);
	free(recovery);
}

/*
 * Write
 */

static int write_header_only(struct recovery *recovery, unsigned int type)
{
	union perf_event event = { .header = { .type = type, .size = sizeof(event.header) } };

	return recovery->write(recovery->tool, &event);
}

static int write_records(struct recovery *recovery, const struct records *records)
{
	struct record_iter iter;
	int err = 0;

	records__for_each(records, iter) {
		union perf_event *event = records->part[0].iov_base + iter.pos;

		recovery__note_written(recovery, event, recovery__time(recovery, event));
		err = recovery__write_record(recovery, event);
		if (err)
			break;
	}
	return err;
}

/*
 * Blocks have numbers without gaps. Where one is missing, or damaged, the span in which nothing is
 * missing begins with the records behind it.
 */
static int write_block(struct recovery *recovery, const struct box_slot *slot, u64 last_seq)
{
	struct records records;
	bool intact = recovery__read_block(recovery, slot, &records);
	int err = write_records(recovery, &records);

	if (last_seq && slot->seq != last_seq + 1)
		recovery->broken = max(recovery->broken, slot->last ?: recovery->last);
	if (!intact) {
		recovery->damaged++;
		recovery->broken = max(recovery->broken, slot->last ?: recovery->last);
	}
	return err;
}

/* As of keep__write(): the last mark is left out, and side-band records go before a mark. */
static int write_blocks(struct recovery *recovery)
{
	const struct box_slot *slot, *slots = recovery->reader.slots[BOX_EVENTS];
	size_t i, nr = recovery->reader.nr[BOX_EVENTS], nr_marks = nr;
	u64 last_seq = 0;
	int err = 0;

	while (nr_marks && !(slots[nr_marks - 1].flags & BOX_ENDS_ROUND))
		nr_marks--;
	for (i = 0; i < nr && !err; i++) {
		slot = &slots[i];
		err = write_block(recovery, slot, last_seq);
		last_seq = slot->seq;
		if (!err && slot->flags & BOX_ENDS_ROUND && i + 1 < nr_marks)
			err = recovery__write_sideband(recovery, recovery->last) ?:
			      write_header_only(recovery, PERF_RECORD_FINISHED_ROUND);
	}
	return err;
}

/* The state of all tasks at the oldest record precedes all blocks. */
static u64 time_of_oldest(const struct recovery *recovery)
{
	const struct box_slot *slots = recovery->reader.slots[BOX_EVENTS];
	size_t i, nr = recovery->reader.nr[BOX_EVENTS];
	u64 first = UINT64_MAX;

	for (i = 0; i < nr; i++) {
		if (slots[i].first)
			first = min(first, (u64)slots[i].first);
	}
	return first;
}

/*
 * Report
 */

static struct keep_stats span(const struct recovery *recovery)
{
	const struct box_header *header = &recovery->reader.header;
	const u64 lost_since = max((u64)header->lost_since, recovery->rings.lost_since);
	struct keep_stats kept = {
		.records = recovery->records, .samples = recovery->samples,
		.begin = recovery->first, .end = min(recovery->last, (u64)header->complete),
		.limit = KEEP_NO_LIMIT,
	};

	/* A recorder that ended has appended everything. */
	if (header->state != BOX_RECORDING)
		kept.end = recovery->last;
	kept.end = max(kept.end, min(recovery->last, recovery->rings.end_time));
	if (header->dropped_last)
		kept.limit = header->limit < KEEP_LIMIT_SPACE ? header->limit : KEEP_LIMIT_SPACE;
	kept.begin = max(kept.begin, (u64)header->dropped_last);
	if (lost_since > kept.begin) {
		kept.begin = lost_since;
		kept.limit = KEEP_LIMIT_LOST;
	}
	kept.begin = max(kept.begin, recovery->broken);
	kept.begin = min(kept.begin, recovery->last);
	kept.end = max(kept.end, kept.begin);
	return kept;
}

static struct evsel *find_snapshot_event(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.type == PERF_TYPE_SOFTWARE &&
		    evsel->core.attr.config == PERF_COUNT_SW_BPF_OUTPUT &&
		    !strcmp(evsel__name(evsel), "snapshot"))
			return evsel;
	}
	return NULL;
}

static const char *reason(const struct recovery *recovery)
{
	if (is_image(recovery))
		return "memory image";
	return recovery->reader.header.state == BOX_RECORDING ? "recorder was killed" :
								"recorder could not save this";
}

static int write_snapshot_event(struct recovery *recovery, const struct keep_stats *kept)
{
	const struct box_header *header = &recovery->reader.header;
	struct snapshot_event event = { .evsel = find_snapshot_event(recovery->evlist) };
	struct snapshot_cause cause = {
		.reason = reason(recovery),
		.pid = header->pid, .tid = header->pid,
	};

	if (!event.evsel)
		return 0;
	snapshot_event__set(&event, &cause, recovery->last, NULL, NULL, kept);
	return recovery->write(recovery->tool, (union perf_event *)event.record);
}

static void report_damage(const struct recovery *recovery)
{
	const struct box_header *header = &recovery->reader.header;

	image_box__report(&recovery->image, recovery->path);
	if (recovery->reader.damaged_slots || recovery->damaged)
		pr_warning("%s is damaged: records are missing from %" PRIu64 " blocks, and the kind of %" PRIu64
			   " others is unknown.\n", recovery->path, recovery->damaged,
			   recovery->reader.damaged_slots);
	if (recovery->damaged_sideband)
		pr_warning("%" PRIu64 " blocks with names and maps of tasks are damaged: some samples may have "
			   "none.\n", recovery->damaged_sideband);
	if (header->incomplete)
		pr_warning("There was no space for %" PRIu64 " names and maps of tasks: some samples may have "
			   "none.\n", (u64)header->incomplete);
}

static double seconds(u64 ns)
{
	return (double)ns / NSEC_PER_SEC;
}

/* Print no more than is true, for perf script --time. */
static double later_microsecond(u64 ns)
{
	return seconds(DIV_ROUND_UP(ns, 1000) * 1000);
}

static double earlier_microsecond(u64 ns)
{
	return seconds(ns / 1000 * 1000);
}

static void report(const struct recovery *recovery, const struct keep_stats *kept)
{
	report_damage(recovery);
	fprintf(stderr, "[ perf inject: Recovered %" PRIu64 " samples of process %" PRIu64
		". Nothing is missing from %.6f to %.6f s (%.6f s) ]\n", recovery->samples,
		(u64)recovery->reader.header.pid, later_microsecond(kept->begin),
		earlier_microsecond(kept->end), seconds(kept->end - kept->begin));
	if (recovery->rings.nr)
		fprintf(stderr, "[ perf inject: %" PRIu64 " records are from rings that nobody had read ]\n",
			recovery->rings.nr_added);
	if (kept->end < recovery->last)
		fprintf(stderr, "[ perf inject: The last %.6f s may lack what the recorder had not read when %s ]\n",
			seconds(recovery->last - kept->end),
			is_image(recovery) ? "the image was taken" : "it was killed");
}

static int explain_write(const struct recovery *recovery, int err)
{
	pr_err("Cannot write what is recovered: %s. It is still in %s.\n", strerror(-err),
	       recovery->path);
	return err;
}

static int write_all(struct recovery *recovery, struct keep_stats *kept)
{
	/* The guard writes its file beside that of --keep-file: there is none beside an image. */
	int err = is_image(recovery) ? 0 : recovery__load_rings(recovery);

	err = err ?: recovery__load_sideband(recovery);
	if (err) {
		pr_err("Not enough memory to recover the names of tasks, and the rings.\n");
		return err;
	}
	err = recovery__write_sideband(recovery, time_of_oldest(recovery));
	err = err ?: write_header_only(recovery, PERF_RECORD_FINISHED_INIT);
	err = err ?: write_blocks(recovery) ?: recovery__write_rings(recovery);
	err = err ?: recovery__write_sideband(recovery, UINT64_MAX);
	*kept = span(recovery);
	if (!err && recovery->records)
		err = write_snapshot_event(recovery, kept);
	err = err ?: write_header_only(recovery, PERF_RECORD_FINISHED_ROUND);
	return err ? explain_write(recovery, err) : 0;
}

int recovery__process(struct recovery *recovery, struct perf_session *session,
		      const struct perf_tool *tool, recover_write_t write)
{
	struct keep_stats kept;
	int err = session->header.data_size ? perf_session__process_events(session) : 0;

	if (err)
		return explain_write(recovery, err);
	recovery->session = session;
	recovery->evlist = session->evlist;
	recovery->tool = tool;
	recovery->write = write;
	err = write_all(recovery, &kept);
	if (err)
		return err;
	session->evlist->first_sample_time = recovery->first;
	session->evlist->last_sample_time = recovery->last;
	perf_session__dsos_hit_all(session);
	perf_header__set_feat(&session->header, HEADER_BUILD_ID);
	report(recovery, &kept);
	return 0;
}
