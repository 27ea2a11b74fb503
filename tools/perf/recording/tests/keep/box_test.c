// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kill a recorder at each store to the file of --keep-file: what remains is whole.
 * timeout: 120
 * tags: parallel
 *
 * The file is mapped without permission to write. So each store to its header and its slots faults
 * first. The handler then reads the file, as perf inject does after a SIGKILL at this instant, lets
 * the store happen by a single step, and protects the file again. Pages of data fault once between
 * two such stores. Nothing is marked in the code under test. Prints KTAP.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#include "recording/keep/box_read.h"
#include "recording/keep/drop.h"
#include "recording/keep/journal.h"
#include "recording/keep/keep.h"
#include "recording/keep/pack.h"
#include "recording/keep/share.h"
#include "recording/output/output.h"
#include "recording/ring/channel.h"
#include "recording/write/zstd_records.h"
#include "no_unpacker.h"
#include "perf/tests/tap.h"

#define FILE_BYTES	(8UL << 20)
#define STATE_RECORDS	600
#define NR_STEPS	260

/* A record of the workload, or of the side-band; its time is @nr. */
struct numbered {
	struct perf_event_header header;
	u64			 nr;
	u64			 state;		/* belongs to the live state up to @nr */
	char			 filler[480];
	u64			 cgroup;
};

/* The output of a fake compressor for records with consecutive numbers */
struct packed {
	struct perf_event_header header;
	u64			 first;
	u64			 nr;
	u64			 state;
};

static u64 monotonic_ns;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	(void)clock;
	*ts = (struct timespec){ .tv_nsec = monotonic_ns };
	return 0;
}

int evlist__parse_sample_timestamp(struct evlist *evlist, union perf_event *event, u64 *timestamp)
{
	(void)evlist;
	*timestamp = ((struct numbered *)event)->nr;
	return 0;
}

int output__write_kept(struct output *output, const struct records *records, u64 raw_len,
		       const struct time_span *span)
{
	(void)output, (void)records, (void)raw_len, (void)span;
	return 0;
}

int output__mark(struct output *output, unsigned int type)
{
	(void)output, (void)type;
	return 0;
}

/* Blocks that are thinned are not packed. */
bool evsel__is_kept(const struct evsel *evsel)
{
	(void)evsel;
	return true;
}

struct keep_packer *keep_packer__new(size_t max_bytes, int level, struct evlist *evlist)
{
	(void)max_bytes, (void)level, (void)evlist;
	return NULL;
}

void keep_packer__free(struct keep_packer *packer)
{
	(void)packer;
}

size_t keep_packer__pack(struct keep_packer *packer, const void *records, size_t len, bool fast,
			 const void **packed)
{
	(void)packer, (void)records, (void)len, (void)fast, (void)packed;
	return 0;
}

/* Side-band records of one extent may begin in the live state and continue behind it. */
ssize_t zstd_records__compress(struct zstd_data *zstd, int level, const void *data, size_t len,
			       void *at, bool end)
{
	const struct numbered *record = data, *stop = data + len;
	struct packed *to = at;

	(void)zstd, (void)level, (void)end;
	while (record < stop) {
		*to = (struct packed){
			.header = { .type = PERF_RECORD_COMPRESSED, .size = sizeof(*to) },
			.first = record->nr, .state = record->state,
		};
		do {
			to->nr++;
			record++;
		} while (record < stop && record->state == to->state &&
			 record->nr == to->first + (to->state ? 0 : to->nr));
		to++;
	}
	return (void *)to - at;
}

/*
 * Read the file, as after a SIGKILL
 */

/**
 * struct found - what a reader finds
 * @first, @last: numbers of the workload's records; 0 if there are none
 * @state:	number up to which the live state is
 * @sideband:	number of the last side-band record
 * @missing:	number of the last record of the workload that is missing before @last; 0: none is
 * @faults:	records that are repeated, and others that are missing
 */
struct found {
	u64		 first;
	u64		 last;
	u64		 state;
	u64		 state_records;
	u64		 sideband;
	u64		 missing;
	struct box_header header;
	unsigned int	 faults;
};

static struct keep keep;
static int file = -1;

static void find(struct found *found, enum box_kind kind, u64 first, u64 nr, u64 state)
{
	if (kind == BOX_EVENTS) {
		found->faults += first <= found->last;
		if (found->last && first > found->last + 1)
			found->missing = first - 1;
		found->first = found->first ?: first;
		found->last = first + nr - 1;
	} else if (state) {
		found->faults += found->state && found->state != first;
		found->state = found->sideband = first;
		found->state_records += nr;
	} else {
		found->faults += first != found->sideband + 1;
		found->sideband = first + nr - 1;
	}
}

static void find_slot(struct found *found, const struct box_reader *reader,
		      const struct box_slot *slot)
{
	static char data[KEEP_BLOCK_BYTES];
	const struct numbered *record = (void *)data;
	const struct packed *packed = (void *)data;
	size_t pos;

	if (box_reader__read(reader, slot, data)) {
		found->faults++;
	} else if (slot->encoding == BOX_RECORDS) {
		for (pos = 0; pos < slot->len; pos += sizeof(*record), record++) {
			found->faults += record->header.size != sizeof(*record);
			find(found, slot->kind, record->nr, 1, record->state);
		}
	} else {
		for (pos = 0; pos < slot->len; pos += sizeof(*packed), packed++)
			find(found, slot->kind, packed->first, packed->nr, packed->state);
	}
}

static struct found look(void)
{
	struct found found = { .faults = 0 };
	struct box_reader reader;
	const char *problem;
	unsigned int kind;
	size_t i;

	if (box_reader__init(&reader, file, &problem)) {
		printf("# the file cannot be read: %s\n", problem);
		found.faults = 1;
		return found;
	}
	found.faults += reader.damaged_slots;
	for (kind = BOX_EVENTS; kind <= BOX_SIDEBAND; kind++) {
		for (i = 0; i < reader.nr[kind]; i++)
			find_slot(&found, &reader, &reader.slots[kind][i]);
	}
	found.header = reader.header;
	box_reader__exit(&reader);
	return found;
}

/*
 * Expected records
 */

/**
 * struct model
 * @appended:	records that were appended before this step
 * @appending:	and those that it may append
 * @saved:	records up to this number are in a file that is saved
 * @oldest:	the oldest record before it was saved
 * @sideband, @adding: likewise, of side-band records
 * @thins:	newer records may be kept than some that were dropped
 */
static struct model {
	u64	appended;
	u64	appending;
	u64	saved;
	u64	oldest;
	u64	sideband;
	u64	adding;
	bool	thins;
	u64	looks;
	u64	faults;
	u64	packed;
	u64	dropped;
	u64	generations;
} model;

static void fail(const struct found *found, const char *what)
{
	if (model.faults++ < 5)
		printf("# %s: events %lu to %lu of %lu, dropped %lu, saved %lu, lost %lu, complete %lu; "
		       "side-band: %lu of the state at %lu, last %lu of %lu\n",
		       what, found->first, found->last, model.appending, found->header.dropped_last,
		       model.saved, found->header.lost_since, found->header.complete,
		       found->state_records, found->state, found->sideband, model.adding);
}

static void examine(void)
{
	struct found found = look();
	u64 gone = max(found.header.dropped_last, model.saved);

	model.looks++;
	if (found.faults || (found.missing && !model.thins))
		fail(&found, "missing, repeated or damaged");
	if (found.missing > gone)
		fail(&found, "a newer record is missing than the file says");
	if ((found.first ?: model.appended + 1) > gone + 1)
		fail(&found, "an older record is missing than the file says");
	if (found.first && found.first <= model.saved && found.first != model.oldest)
		fail(&found, "part of a saved snapshot is left");
	if ((found.last ?: gone) < model.appended || found.last > model.appending)
		fail(&found, "the newest record is another");
	if (found.header.complete > model.appended)
		fail(&found, "the file claims to be complete up to what is not there");
	if (found.state_records != STATE_RECORDS || found.sideband < model.sideband ||
	    found.sideband > model.adding)
		fail(&found, "the side-band is another");
}

/*
 * Stop before each store
 */

static void *mapping;

static void protect(void)
{
	mprotect(mapping, FILE_BYTES, PROT_READ);
}

#ifdef __x86_64__
#define TRAP_FLAG	0x100

static void step(ucontext_t *context, bool on)
{
	greg_t *flags = &context->uc_mcontext.gregs[REG_EFL];

	*flags = on ? *flags | TRAP_FLAG : *flags & ~TRAP_FLAG;
}
#define CAN_STEP 1
#else
static void step(ucontext_t *context, bool on)
{
	(void)context, (void)on;
}
#define CAN_STEP 0
#endif

static void on_store(int sig, siginfo_t *info, void *context)
{
	void *page = (void *)((unsigned long)info->si_addr / page_size * page_size);

	if (!mapping || page < mapping || page >= mapping + FILE_BYTES) {
		signal(sig, SIG_DFL);
		return;
	}
	examine();
	mprotect(page, page_size, PROT_READ | PROT_WRITE);
	if (page < mapping + keep.box->header->arena_at)
		step(context, true);
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info;
	protect();
	step(context, false);
}

static void catch(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER };

	sigaction(sig, &action, NULL);
}

/*
 * Steps of a recorder
 */

static struct ring ring;

static struct numbered record_of(u64 nr, u64 state)
{
	return (struct numbered){
		.header = { .type = PERF_RECORD_SAMPLE, .size = sizeof(struct numbered) },
		.nr = nr, .state = state, .cgroup = 1 + !(nr % 4),
	};
}

static void append(unsigned int nr)
{
	static struct numbered run[128];
	struct records records = records__of(run, nr * sizeof(*run));
	unsigned int i;

	for (i = 0; i < nr; i++)
		run[i] = record_of(++model.appending, 0);
	monotonic_ns += nr;
	keep.sink.write(&keep.sink, &records, &ring);
	model.appended = model.appending;
}

static void add_sideband(unsigned int nr)
{
	struct numbered record;
	struct records records = records__of(&record, sizeof(record));

	while (nr--) {
		record = record_of(++model.adding, 0);
		journal__add(&keep, &records);
		model.sideband = model.adding;
	}
}

static void store_state(void)
{
	struct numbered record = record_of(model.sideband, 1);
	struct records records = records__of(&record, sizeof(record));
	unsigned int i;

	journal__begin_state(&keep);
	for (i = 0; i < STATE_RECORDS; i++)
		journal__add(&keep, &records);
	journal__end_state(&keep);
	model.generations++;
}

/* Compress the oldest raw block, as the compressor's thread does. */
static void pack(void)
{
	static char packed[KEEP_BLOCK_BYTES];
	struct keep_block *block;
	void *memory = NULL;
	size_t mapped, len;

	pthread_mutex_lock(&keep.lock);
	list_for_each_entry(block, &keep.blocks, node) {
		if (block->form != KEEP_RAW)
			continue;
		keep__unset_raw(&keep, block);
		mapped = block->mapped;
		len = zstd_records__compress(NULL, 1, block->data, block->len, packed, true);
		memory = keep_block__replace(block, packed, len, true);
		if (memory) {
			block->form = KEEP_COMPRESSED;
			keep.bytes -= mapped - block->mapped;
			keep_box__free(keep.box, memory, mapped);
			model.packed++;
		}
		break;
	}
	pthread_mutex_unlock(&keep.lock);
}

static void snapshot(bool saved)
{
	struct keep_stats stats;

	keep__hand_over(&keep, &stats);
	model.oldest = look().first;
	if (saved)
		model.saved = model.appended;
	keep__end_snapshot(&keep, saved);
}

static void take_step(unsigned int what)
{
	switch (what % 16) {
	case 0 ... 6:
		append(1 + what / 16 % 96);
		break;
	case 7:
	case 8:
		keep__end_round(&keep);
		break;
	case 9 ... 11:
		pack();
		break;
	case 12 ... 13:
		add_sideband(1 + what / 16 % 8);
		break;
	case 14:
		store_state();
		break;
	default:
		if (what / 16 % 4 == 0)
			snapshot(what / 64 % 2);
	}
}

static void store_session(void)
{
	char name[] = "/tmp/box_test_session.XXXXXX";
	int fd = mkstemp(name);

	unlink(name);
	check(fd >= 0 && write(fd, "session", 7) == 7 && !keep__store_session(&keep, fd),
	      "a session is stored");
	close(fd);
}

static void begin(const char *path)
{
	keep = (struct keep){ .max_ns = 16 * 100, .max_bytes = FILE_BYTES, .file = path };
	check(!keep__init(&keep), "the file is created");
	keep.level = 1;			/* without a thread: of the journal alone */
	ring.stats.evlist = (void *)&keep;
	store_state();
	store_session();
	file = open(path, O_RDONLY);
	mapping = keep.box->map;
}

/* Return: did the first cgroup lose samples of the oldest block, and not all? */
static bool thin(void)
{
	struct keep_block *block;
	u64 nr_dropped = keep.dropped.samples;

	pthread_mutex_lock(&keep.lock);
	keep.share.enabled = true;
	keep.share.tail = sizeof(u64);
	list_for_each_entry(block, &keep.blocks, node) {
		keep__unset_raw(&keep, block);
		block->form = KEEP_INCOMPRESSIBLE;
		block->holders = block->holders ?:
				 keep_holders__count(&keep, block->data, block->len);
	}
	keep.limit_bytes = keep.bytes;
	keep__thin(&keep);
	keep__exit_share(&keep);
	block = list_first_entry(&keep.blocks, struct keep_block, node);
	pthread_mutex_unlock(&keep.lock);
	return keep.dropped.samples > nr_dropped && block->len;
}

static void test_thin(void)
{
	unsigned int i;

	snapshot(true);
	model.thins = true;
	keep.max_ns = 0;
	for (i = 0; i < 50; i++)
		append(128);
	check(thin() && thin(), "blocks are thinned");
	examine();
}

/* A visit of a round may leave a ring whose next record tells of a loss before that. */
static void test_complete(void)
{
	u64 first;

	append(1);
	first = model.appended;
	keep__end_round(&keep);
	append(1);
	keep__end_round(&keep);
	check(keep.box->header->complete < first, "a loss in a round may be unknown at its end");
	append(1);
	keep__end_round(&keep);
	check(keep.box->header->complete == first, "it is known two rounds later");
}

/* No record may ever tell of what a ring has lost before it was read. */
static void test_full_ring(void)
{
	const struct box_header *header = keep.box->header;
	bool ok;

	ring.stats.is_full = true;
	append(1);
	ring.stats.is_full = false;
	append(1);
	ok = header->lost_since == UINT64_MAX;
	keep__end_round(&keep);
	append(1);
	keep__end_round(&keep);
	check(ok && header->lost_since == UINT64_MAX,
	      "after a ring was full, nothing is claimed for two rounds");
	keep__end_round(&keep);
	check(header->lost_since == UINT64_MAX, "nor before other records come");
	append(1);
	keep__end_round(&keep);
	check(header->lost_since == model.appended, "what comes after these is claimed");
	append(1);
	check(header->lost_since < model.appended, "... as before");
}

/* A snapshot that is being written has all of the file: later records are in memory outside. */
static void test_outside(void)
{
	struct box_header *header = keep.box->header;
	struct keep_stats stats;
	u64 dropped;

	snapshot(true);
	keep.limit_bytes = UINT64_MAX;
	dropped = header->dropped_last;
	while (header->dropped_last == dropped)
		append(128);
	keep__hand_over(&keep, &stats);
	append(128);
	check(keep.filling && !keep.filling->slot && header->dropped_last == model.appended,
	      "records outside of the file are not claimed while their block is filled");
	keep__end_snapshot(&keep, true);
}

/* The records of a state that does not fit are none that are missing: the state before is whole. */
static void store_large_state(void)
{
	struct box_header *header = keep.box->header;
	const u64 before = header->incomplete;
	struct numbered record;
	u64 faults;
	struct records records = records__of(&record, sizeof(record));
	unsigned long i;

	journal__begin_state(&keep);
	for (i = 0; header->incomplete == before && i < FILE_BYTES; i++) {
		record = record_of(random(), random());
		journal__add(&keep, &records);
	}
	check(header->incomplete > before, "a state does not fit");
	journal__end_state(&keep);
	check(header->incomplete == before, "the state before it has all records");
	faults = model.faults;
	add_sideband(128);
	examine();
	check(model.faults == faults, "those that follow continue it");
}

int main(void)
{
	char dir[] = "/tmp/box_test.XXXXXX", path[64];
	unsigned int i, seed = 37;

	setvbuf(stdout, NULL, _IONBF, 0);
	page_size = sysconf(_SC_PAGESIZE);
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/box", dir);
	begin(path);
	if (CAN_STEP) {
		catch(SIGSEGV, on_store);
		catch(SIGTRAP, on_step);
		protect();
	}
	for (i = 0; i < NR_STEPS; i++) {
		take_step(rand_r(&seed));
		examine();
	}
	i = model.faults;
	test_thin();
	check(model.faults == i, "what is left while blocks are thinned is whole");
	mprotect(mapping, FILE_BYTES, PROT_READ | PROT_WRITE);
	signal(SIGSEGV, SIG_DFL);
	printf("# killed %lu times in %lu records, %lu side-band records, %lu blocks packed, %lu generations, "
	       "dropped up to %lu, saved up to %lu\n", model.looks, model.appended, model.sideband,
	       model.packed, model.generations, keep.box->header->dropped_last, model.saved);
	check(!model.faults, "what a killed recorder leaves is whole");
	check(model.packed > 10 && model.generations > 5 && model.saved &&
	      keep.box->header->dropped_last, "blocks were packed, saved and dropped");
	mapping = NULL;
	test_complete();
	test_full_ring();
	test_outside();
	store_large_state();
	keep__exit(&keep);
	check(access(path, F_OK), "a recorder that has saved everything removes the file");
	close(file);
	rmdir(dir);
	return tap_end();
}
