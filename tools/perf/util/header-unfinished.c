// SPDX-License-Identifier: GPL-2.0-only
/* Find the records of an unfinished or truncated perf.data file, and replace missing features. */
#include <byteswap.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <perf/event.h>
#include <sys/stat.h>
#ifdef HAVE_LIBTRACEEVENT
#include <traceevent/event-parse.h>
#endif
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "header.h"
#include "header-unfinished.h"
#include "trace-event.h"

/*
 * Largest uncompressed size of a compressed record [bytes]. It is at most the size of a ring;
 * recorders write it to the file only when they end.
 */
#define COMPRESSED_MAX	(1 << 20)

/* The beginning of a record, which determines its size */
struct head {
	struct perf_event_header header;
	u64 data;			/* of AUXTRACE: size of the data that follow it [bytes] */
};

/* A buffer for @len bytes of the file, which begin at offset @pos */
struct window {
	int	fd;
	u64	pos;
	ssize_t	len;
	char	data[64 << 10];
};

/* Copy up to @len bytes at offset @pos of the file to @dst. Return: number of bytes copied. */
static ssize_t window__read(struct window *window, u64 pos, void *dst, ssize_t len)
{
	if (pos < window->pos || pos + len > window->pos + window->len) {
		window->pos = pos;
		window->len = max(pread(window->fd, window->data, sizeof(window->data), pos),
				  (ssize_t)0);
	}
	len = min(len, window->len - (ssize_t)(pos - window->pos));
	memcpy(dst, window->data + (pos - window->pos), len);
	return len;
}

/* Return: size of the record at @pos including the data that follow it [bytes], or 0 if none. */
static u64 record_len(const struct perf_header *header, struct window *window, u64 pos)
{
	struct head head = { 0 };

	if (window__read(window, pos, &head, sizeof(head)) < (ssize_t)sizeof(head.header))
		return 0;
	if (header->needs_swap) {
		head.header.type = bswap_32(head.header.type);
		head.header.size = bswap_16(head.header.size);
		head.data = bswap_64(head.data);
	}
	if (head.header.size < sizeof(head.header))
		return 0;
	if (head.header.type != PERF_RECORD_AUXTRACE)
		return head.header.size;
	return head.data > INT64_MAX ? 0 : head.header.size + head.data;
}

/*
 * Return whether features instead of records follow the header: they begin with the table of their
 * sections, and the first section follows it directly.
 */
static bool begins_with_features(const struct perf_header *header, int fd)
{
	int nr = bitmap_weight(header->adds_features, HEADER_FEAT_BITS);
	struct perf_file_section first;

	if (!nr || pread(fd, &first, sizeof(first), header->data_offset) < (ssize_t)sizeof(first))
		return false;
	if (header->needs_swap)
		first.offset = bswap_64(first.offset);
	return first.offset == header->data_offset + nr * sizeof(first);
}

/*
 * Return whether the record that ends at @pos ends with zeros and is followed by zeros, which
 * belong to a block that was not written: then the end of the record may be missing.
 */
static bool runs_into_zeros(struct window *window, u64 pos)
{
	u64 words[2] = { 1, 1 };

	return window__read(window, pos - sizeof(words[0]), words, sizeof(words)) ==
		       sizeof(words) && !words[0] && !words[1];
}

static u64 section_end(const struct perf_header *header, struct perf_file_section section)
{
	if (header->needs_swap) {
		section.offset = bswap_64(section.offset);
		section.size = bswap_64(section.size);
	}
	return section.offset > INT64_MAX || section.size > INT64_MAX ? ULLONG_MAX :
	       section.offset + section.size;
}

/* Return whether the end of the records, or of the features after them, is missing. */
static bool is_truncated(const struct perf_header *header, int fd, u64 size)
{
	u64 pos = header->feat_offset, end = pos;
	int nr = bitmap_weight(header->adds_features, HEADER_FEAT_BITS);
	struct perf_file_section section;

	if (size - header->data_offset < header->data_size)
		return true;
	for (; nr && end <= size; nr--, pos += sizeof(section)) {
		if (pread(fd, &section, sizeof(section), pos) < (ssize_t)sizeof(section))
			return true;
		end = section_end(header, section);
	}
	return end > size;
}

/*
 * @header_size: size of the data section as the file had it, 0 if the file is unfinished [bytes]
 * @ignored: bytes after the complete records
 */
static void warn(const struct perf_header *header, u64 header_size, u64 ignored)
{
	double read = header->data_size / 1024.0 / 1024.0;

	if (header_size)
		pr_warning("The file is truncated: reading %.3f of %.3f MB of records, and no "
			   "features.\n", read, header_size / 1024.0 / 1024.0);
	else
		pr_warning("The recorder of this file was killed: reading %.3f MB of records, "
			   "ignoring %" PRIu64 " bytes after them.\n", read, ignored);
}

/* Let the records end with the file, which has @size bytes. */
static void cut_records(struct perf_header *header, u64 size)
{
	u64 max = size > header->data_offset ? size - header->data_offset : 0;

	if (header->data_size <= max)
		return;
	header->data_size = max;
	pr_warning("The file ends before its records do, and no complete one was found.\n");
}

bool perf_header__repair(struct perf_header *header, int fd)
{
	u64 pos = header->data_offset, last = pos, len, end, header_size = header->data_size;
	struct window window = { .fd = fd };
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	if ((u64)st.st_size < pos) {
		cut_records(header, st.st_size);
		return false;
	}
	if (header_size ? !is_truncated(header, fd, st.st_size) : begins_with_features(header, fd))
		return false;
	end = st.st_size;
	if (header_size && header_size < end - pos)
		end = pos + header_size;
	while ((len = record_len(header, &window, pos)) && len <= end - pos) {
		last = pos;
		pos += len;
	}
	if (runs_into_zeros(&window, pos))
		pos = last;
	if (pos == header->data_offset) {
		cut_records(header, st.st_size);
		return false;
	}

	header->data_size = pos - header->data_offset;
	header->feat_offset = pos;
	memcpy(header->intended_features, header->adds_features, sizeof(header->adds_features));
	bitmap_zero(header->adds_features, HEADER_FEAT_BITS);
	header->unfinished = true;
	header->truncated = header_size;
	if (test_bit(HEADER_COMPRESSED, header->intended_features)) {
		header->env.comp_type = PERF_COMP_ZSTD;
		header->env.comp_mmap_len = COMPRESSED_MAX;
	}
	warn(header, header_size, end - pos);
	return true;
}

#ifdef HAVE_LIBTRACEEVENT
static void find_tracepoint(struct evsel *evsel)
{
	char *name = tracepoint_id_to_name(evsel->core.attr.config), *event;
	struct tep_event *format = NULL;

	event = name ? strchr(name, ':') : NULL;
	if (event) {
		*event = '\0';
		format = trace_event__tp_format(name, event + 1);
		*event = ':';
	}
	if (IS_ERR_OR_NULL(format)) {
		pr_err("Cannot find the format of tracepoint %d: it is neither in the file nor on "
		       "this machine. Read the file as root on the machine that recorded it.\n",
		       (int)evsel->core.attr.config);
		free(name);
		return;
	}
	evsel->tp_format = format;
	if (!evsel->name)
		evsel->name = name;
	else
		free(name);
}

void perf_header__find_tracepoints(struct perf_header *header, struct evlist *evlist)
{
	struct evsel *evsel;

	if (!header->unfinished)
		return;
	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.type == PERF_TYPE_TRACEPOINT)
			find_tracepoint(evsel);
	}
}
#else
void perf_header__find_tracepoints(struct perf_header *header __maybe_unused,
				   struct evlist *evlist __maybe_unused)
{
}
#endif

void perf_header__describe(struct perf_header *header)
{
	static const int machine_features[] = {
		HEADER_TRACING_DATA, HEADER_HOSTNAME, HEADER_OSRELEASE, HEADER_VERSION, HEADER_ARCH,
		HEADER_NRCPUS, HEADER_CPUDESC, HEADER_CPUID, HEADER_TOTAL_MEM, HEADER_EVENT_DESC,
		HEADER_CPU_TOPOLOGY, HEADER_NUMA_TOPOLOGY, HEADER_PMU_MAPPINGS,
		HEADER_COMPRESSED,
	};
	size_t i;

	if (!header->unfinished)
		return;
	/* Count the CPUs of this machine: newer perf assumes 4096 where the feature is missing. */
	header->env.nr_cpus_avail = 0;
	zfree(&header->env.cpu);
	for (i = 0; i < ARRAY_SIZE(machine_features); i++) {
		if (test_bit(machine_features[i], header->intended_features))
			perf_header__set_feat(header, machine_features[i]);
	}
}
