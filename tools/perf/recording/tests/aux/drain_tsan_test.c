// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drain AUX areas in readers while files are switched, under the thread sanitizer.
 * timeout: 120
 * tags: parallel
 *
 * Producers fill the areas as fast as they can. All files together must have each byte of each
 * trace once and in order, no piece of a trace before the records that tell about it, the hardware
 * ids of all areas at the begin, and an index of all pieces. After a failed write, the file ends
 * with a whole piece, and the index with it.
 *
 * Prints KTAP.
 */
#include "fake_areas.h"
#include "recording/aux/write.h"
#include "recording/write/writer.h"
#include "perf/tests/tap.h"

/* The kernel publishes aux_head without a lock; see struct fake_area. */
const char *__tsan_default_suppressions(void)
{
	return "race:auxtrace_mmap__read_head\n";
}

#define START		4104		/* position where the data begin in the file */
#define FILE_MAX	(96 << 20)
#define SWITCH_BYTES	(8 << 20)
#define POOL_BYTES	(4 << 20)	/* less than what the areas hold: readers wait for chunks */
#define AREA_BYTES	(1 << 20)

/*
 * The file, in memory
 */

static char *file;
static u64 fail_at;			/* position that cannot be written, 0 for none */
static struct chunk *submitted;

static void submit(struct writer *writer, struct chunk *chunk)
{
	(void)writer;
	if (chunk->pos + chunk->len > FILE_MAX)
		errx(1, "the file is too large");
	chunk->done = chunk->len;
	if (fail_at && chunk->pos + chunk->len > fail_at) {
		chunk->err = -ENOSPC;
		chunk->done = chunk->pos < fail_at ? fail_at - chunk->pos : 0;
	}
	memcpy(file + chunk->pos, chunk->data, chunk->done);
	chunk->finished = true;
	submitted = chunk;
}

static struct chunk *complete(struct writer *writer, u64 timeout_ns __maybe_unused)
{
	(void)writer;
	return submitted;
}

static void failed(void *arg, int error, u64 end)
{
	(void)arg, (void)error, (void)end;
}

static const struct writer_ops file_ops = { .name = "file", .submit = submit,
					    .complete = complete };
static struct writer writer = { .ops = &file_ops, .depth = 1, .fd = -1 };

/*
 * Its content
 */

static struct content {
	u64	announced[NR_AREAS];	/* by PERF_RECORD_AUX */
	u64	read[NR_AREAS];		/* bytes of the trace */
	u64	pieces;
	u64	hw_ids;			/* areas whose hardware ids were found */
} content;

static bool piece_is_right(const struct perf_record_auxtrace *piece)
{
	const u64 *words = (const void *)(piece + 1);
	u64 *pos = &content.read[piece->idx], i;

	if (piece->offset != *pos || piece->offset + piece->size > content.announced[piece->idx])
		return false;
	for (i = 0; i < piece->size / 8; i++, *pos += 8) {
		if (words[i] != trace_word(piece->idx, *pos))
			return false;
	}
	content.pieces++;
	return true;
}

static bool is_indexed(u64 pos)
{
	const struct auxtrace_index *block;
	size_t i;

	list_for_each_entry(block, &session.auxtrace_index, list) {
		for (i = 0; i < block->nr; i++) {
			if (block->entries[i].file_offset == pos)
				return true;
		}
	}
	return false;
}

static u64 index_entries(void)
{
	const struct auxtrace_index *block;
	u64 nr = 0;

	list_for_each_entry(block, &session.auxtrace_index, list)
		nr += block->nr;
	return nr;
}

/* Read records up to @end. Return: is all of it right? */
static bool read_file(u64 end)
{
	u64 pos = START, pieces = content.pieces;

	content.hw_ids = 0;
	while (pos < end) {
		const union perf_event *event = (void *)(file + pos);
		bool right = event->header.size;

		switch (event->header.type) {
		case PERF_RECORD_AUX:
			right &= event->aux.aux_offset == content.announced[event->aux.flags];
			content.announced[event->aux.flags] += event->aux.aux_size;
			break;
		case PERF_RECORD_AUX_OUTPUT_HW_ID:
			content.hw_ids |= 1 << event->aux_output_hw_id.hw_id;
			break;
		case PERF_RECORD_AUXTRACE:
			right &= is_indexed(pos) && piece_is_right(&event->auxtrace);
			pos += event->auxtrace.size;
			break;
		default:
			right = false;
		}
		if (!right) {
			printf("# wrong record of type %u at %llu of %llu\n", event->header.type,
			       (unsigned long long)pos, (unsigned long long)end);
			return false;
		}
		pos += event->header.size;
	}
	return pos == end && index_entries() == content.pieces - pieces;
}

/*
 * A recording
 */

static void add_hw_ids(void)
{
	struct perf_record_aux_output_hw_id record = {
		.header = { .type = PERF_RECORD_AUX_OUTPUT_HW_ID, .size = sizeof(record) },
	};
	int i;

	for (i = 0; i < NR_AREAS; i++) {
		record.hw_id = i;
		hw_ids__add(&areas[i].hw_ids, (void *)&record, i + 1);
	}
}

static void begin(bool no_threads)
{
	content = (struct content){ 0 };
	create_areas(AREA_BYTES);
	add_hw_ids();
	if (write_queue__init(&queue, POOL_BYTES, failed, NULL))
		errx(1, "no memory");
	write_queue__open(&queue, &writer, 0, START, true);
	if (aux__write_all_hw_ids(&aux, &output))
		errx(1, "cannot append");
	start_readers(no_threads);
	start_producers();
}

/* As files.c does it. Return: position of the end of the file. */
static u64 switch_files(void)
{
	u64 end;

	readers__hold(&readers);
	write_queue__hold(&queue);
	end = write_queue__end(&queue);
	write_queue__next_file(&queue, START);
	aux__end_file(&aux, &output);
	aux__write_all_hw_ids(&aux, &output);
	write_queue__release(&queue);
	readers__release(&readers);
	write_queue__close(&queue);
	return end;
}

static int wait_for(u64 bytes)
{
	bool whole;
	int err = 0;

	while (!err && write_queue__end(&queue) < START + bytes) {
		pollset__wait(&own, 10);
		err = min(readers__visit(&readers, &whole), (ssize_t)0) ?:
		      readers__looked(&readers);
	}
	return err;
}

static u64 published(void)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < NR_AREAS; i++)
		sum += fakes[i].head;
	return sum;
}

static u64 read_bytes(void)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < NR_AREAS; i++)
		sum += content.read[i];
	return sum;
}

static u64 times_full(void)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < NR_AREAS; i++)
		sum += fakes[i].full;
	return sum;
}

static void end(void)
{
	write_queue__exit(&queue);
	free_readers();
	free_areas();
}

static void test_files(bool no_threads, int nr_files)
{
	bool right = true, has_ids = true;
	int i;

	begin(no_threads);
	for (i = 0; i < nr_files; i++) {
		right &= !wait_for(SWITCH_BYTES);
		right &= read_file(switch_files());
		has_ids &= content.hw_ids == (1 << NR_AREAS) - 1;
		write_queue__open(&queue, &writer, 0, START, true);
	}
	end_producers();
	right &= !readers__stop(&readers);
	aux__end_file(&aux, &output);
	right &= !write_queue__close(&queue);
	right &= read_file(write_queue__end(&queue));
	check(right, "each file is right, and so is its index");
	check(has_ids, "each file begins with the hardware ids of all areas");
	check(read_bytes() == published(), "all that was published is in the files");
	printf("# %llu MB in %llu pieces, areas full %llu times, appends locked %llu times\n",
	       (unsigned long long)read_bytes() >> 20, (unsigned long long)content.pieces,
	       (unsigned long long)times_full(), (unsigned long long)queue.counters.locked);
	end();
}

static void test_failed_write(void)
{
	u64 file_end;

	fail_at = START + SWITCH_BYTES / 2 + 12345;
	begin(false);
	check(wait_for(FILE_MAX) == -ENOSPC, "the readers report that a write has failed");
	end_producers();
	readers__stop(&readers);
	aux__end_file(&aux, &output);
	write_queue__close(&queue);
	file_end = write_queue__end(&queue);
	aux_index__cut(&session.auxtrace_index, file_end);
	check(file_end <= fail_at && read_file(file_end),
	      "the file ends with a whole piece, and so does the index");
	end();
}

int main(void)
{
	file = malloc(FILE_MAX);
	if (!file)
		errx(1, "no memory");
	tap.context = "readers, six files";
	test_files(false, 5);
	tap.context = "the main thread alone, two files";
	test_files(true, 1);
	tap.context = "failed write";
	test_failed_write();
	free(file);
	return tap_end();
}
