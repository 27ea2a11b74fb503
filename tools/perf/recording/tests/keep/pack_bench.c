// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure how densely kept records are packed, and what it costs.
 *
 * usage: pack_bench FILE...
 *
 * Each FILE is a perf.data file that is not compressed. Its samples are cut into blocks of
 * KEEP_BLOCK_BYTES, as --keep cuts them. The blocks are compressed by zstd as they are, and packed
 * as columns, in turns; then they are restored, and compared. Prints RESULT lines: bytes and CPU
 * time of a sample, the medians of NR_ROUNDS rounds with the smallest and the largest value, and
 * the minutes that 256 MB of packed records are at 200,000 samples a second.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <linux/perf_event.h>
#include <zstd.h>

#include "recording/keep/box_format.h"
#include "recording/keep/pack.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/header.h"
#include "../bench.h"

#define LEVEL		1
#define MAX_IDS		4096

enum { ZSTD_NS, PACK_NS, RESTORE_NS, NR_FIGURES };

static const struct figure figures[] = {
	[ZSTD_NS]    = { "zstd-ns", "ns" },
	[PACK_NS]    = { "pack-ns", "ns" },
	[RESTORE_NS] = { "restore-ns", "ns" },
};

/* The samples of a file. */
static char *samples;
static size_t samples_len;
static long nr_samples;

static struct evlist evlist;
static struct evsel evsels[64];
static struct {
	u64		id;
	struct evsel	*evsel;
} ids[MAX_IDS];
static size_t nr_ids;

struct evsel *evlist__id2evsel(struct evlist *list __maybe_unused, u64 id)
{
	size_t i;

	for (i = 0; i < nr_ids && ids[i].id != id; i++)
		;
	return i < nr_ids ? ids[i].evsel : NULL;
}

static void read_attr(const char *file, const char *attr, size_t size, int idx)
{
	const struct perf_file_section *section = (const void *)attr + size - sizeof(*section);
	const u64 *id = (const void *)file + section->offset,
		  *end = (const void *)id + section->size;

	memcpy(&evsels[idx].core.attr, attr,
	       min(size - sizeof(*section), sizeof(evsels[idx].core.attr)));
	evsels[idx].core.idx = idx;
	list_add_tail(&evsels[idx].core.node, &evlist.core.entries);
	for (; id < end && nr_ids < MAX_IDS; id++) {
		ids[nr_ids].id = *id;
		ids[nr_ids++].evsel = &evsels[idx];
	}
}

static void copy_samples(const char *data, size_t len)
{
	const struct perf_event_header *header;
	size_t pos;

	samples = malloc(len);
	samples_len = nr_samples = 0;
	for (pos = 0; pos < len; pos += header->size) {
		header = (const void *)data + pos;
		if (header->size < sizeof(*header))
			errx(1, "damaged, or compressed");
		if (header->type != PERF_RECORD_SAMPLE)
			continue;
		memcpy(samples + samples_len, header, header->size);
		samples_len += header->size;
		nr_samples++;
	}
	if (!nr_samples)
		errx(1, "no samples, or compressed");
}

static void read_samples(const char *path)
{
	const struct perf_file_header *header;
	const char *file;
	struct stat st;
	size_t i, nr;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		err(1, "%s", path);
	file = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		err(1, "%s", path);
	header = (const void *)file;
	nr = header->attrs.size / header->attr_size;
	if (nr > ARRAY_SIZE(evsels))
		errx(1, "%s: too many events", path);
	INIT_LIST_HEAD(&evlist.core.entries);
	nr_ids = 0;
	for (i = 0; i < nr; i++)
		read_attr(file, file + header->attrs.offset + i * header->attr_size,
			  header->attr_size, i);
	copy_samples(file + header->data.offset, header->data.size);
	munmap((void *)file, st.st_size);
	close(fd);
}

/* Return: length of the block that begins at @pos [bytes]. */
static size_t block_len(size_t pos)
{
	const struct perf_event_header *header;
	size_t end = pos;

	while (end < samples_len) {
		header = (const void *)samples + end;
		if (end + header->size - pos > KEEP_BLOCK_BYTES)
			break;
		end += header->size;
	}
	return end - pos;
}

/* Return: length of all blocks, compressed as they are [bytes]. */
static size_t compress_all(double *ns)
{
	size_t pos, len, size, sum = 0, space = ZSTD_compressBound(KEEP_BLOCK_BYTES);
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	void *to = malloc(space);
	double begin;

	*ns = 0;
	for (pos = 0; pos < samples_len; pos += len) {
		len = block_len(pos);
		begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
		size = ZSTD_compressCCtx(zstd, to, space, samples + pos, len, LEVEL);
		*ns += (seconds(CLOCK_PROCESS_CPUTIME_ID) - begin) * 1e9 / nr_samples;
		if (ZSTD_isError(size))
			errx(1, "%s", ZSTD_getErrorName(size));
		sum += size;
	}
	free(to);
	ZSTD_freeCCtx(zstd);
	return sum;
}

/* Return: length of all blocks, packed [bytes]. */
static size_t pack_all(double *pack_ns, double *restore_ns)
{
	struct keep_packer *packer = keep_packer__new(KEEP_BLOCK_BYTES, LEVEL, &evlist);
	struct keep_unpacker *unpacker = keep_unpacker__new(KEEP_BLOCK_BYTES);
	double begin, packed_at, end;
	size_t pos, len, size, sum = 0;
	const void *packed;
	void *records;

	*pack_ns = *restore_ns = 0;
	for (pos = 0; pos < samples_len; pos += len) {
		len = block_len(pos);
		begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
		size = keep_packer__pack(packer, samples + pos, len, false, &packed);
		packed_at = seconds(CLOCK_PROCESS_CPUTIME_ID);
		if (!size ||
		    keep_unpacker__unpack(unpacker, packed, size, &records) != (ssize_t)len)
			errx(1, "a block cannot be packed, or restored");
		end = seconds(CLOCK_PROCESS_CPUTIME_ID);
		if (memcmp(records, samples + pos, len))
			errx(1, "a block is not what it was");
		*pack_ns += (packed_at - begin) * 1e9 / nr_samples;
		*restore_ns += (end - packed_at) * 1e9 / nr_samples;
		sum += size;
	}
	keep_packer__free(packer);
	keep_unpacker__free(unpacker);
	return sum;
}

static void print_density(const char *name, const char *way, double bytes)
{
	printf("RESULT %s-%s-bytes %.2f bytes\n", name, way, bytes);
	printf("RESULT %s-%s-minutes %.1f min\n", name, way, (256 << 20) / bytes / 200000 / 60);
}

static void measure(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	double values[NR_FIGURES][NR_ROUNDS];
	size_t zstd = 0, packed = 0;
	char label[64];
	int i;

	read_samples(path);
	for (i = 0; i < NR_ROUNDS; i++) {
		zstd = compress_all(&values[ZSTD_NS][i]);
		packed = pack_all(&values[PACK_NS][i], &values[RESTORE_NS][i]);
	}
	printf("# %s: %ld samples of %.0f bytes\n", name, nr_samples,
	       (double)samples_len / nr_samples);
	print_density(name, "zstd", (double)zstd / nr_samples);
	print_density(name, "packed", (double)packed / nr_samples);
	for (i = 0; i < NR_FIGURES; i++) {
		snprintf(label, sizeof(label), "%s-%s", name, figures[i].name);
		print_result(label, values[i], figures[i].unit);
	}
	free(samples);
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 2)
		errx(1, "usage: pack_bench FILE...");
	for (i = 1; i < argc; i++)
		measure(argv[i]);
	return 0;
}
