// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/zalloc.h>
#include "bytes.h"
#include "front.h"
#include "print.h"

#define MAX_PAGE_SIZE	(1U << 20)	/* ftrace has 64 kB at most */

static const char magic[] = "\x17\x08\x44tracing";

enum option {
	OPTION_DONE = 0,
	OPTION_CPU_STATISTICS = 2,
	OPTION_CLOCK = 4,
	OPTION_SYSTEM = 5,
	OPTION_NR_CPUS = 8,
	OPTION_PROGRAM = 9,
};

/* ---- reading */

/**
 * struct cursor - a place in the tracing data
 * @front:	owner of the data
 * @at:		offset
 * @big_endian:	byte order of the data
 * @truncated:	something was read beyond the end
 */
struct cursor {
	const struct front	*front;
	size_t			 at;
	bool			 big_endian;
	bool			 truncated;
};

/* Return: the next @size bytes, or NULL. */
static const unsigned char *take(struct cursor *cursor, u64 size)
{
	const unsigned char *data = cursor->front->data + cursor->at;

	if (cursor->truncated || size > cursor->front->size - cursor->at) {
		cursor->truncated = true;
		return NULL;
	}
	cursor->at += size;
	return data;
}

static u64 take_number(struct cursor *cursor, unsigned int size)
{
	const unsigned char *data = take(cursor, size);

	return data ? get_number(data, size, cursor->big_endian) : 0;
}

/* Return: the string that ends at the next zero, or NULL. */
static const char *take_string(struct cursor *cursor)
{
	size_t left = cursor->front->size - cursor->at;
	const char *text = (const char *)cursor->front->data + cursor->at;

	return (const char *)take(cursor, strnlen(text, left) + 1);
}

/* Take a number of @len bytes and as many bytes as it says. Return: these, or NULL. */
static const unsigned char *take_block(struct cursor *cursor, unsigned int len, u64 *size)
{
	*size = take_number(cursor, len);
	return take(cursor, *size);
}

/* Read offset and size of a field from header_page. Return: 0, or -EINVAL. */
static int read_field(const char *text, const char *name, unsigned int *offset, unsigned int *size)
{
	const char *field = strstr(text, name);

	if (!field || sscanf(field + strlen(name), " offset:%u; size:%u;", offset, size) != 2)
		return -EINVAL;
	return 0;
}

static int read_page_format(const unsigned char *data, size_t len, struct page_format *format)
{
	unsigned int time_offset, time_size, data_size;
	char *text = data ? strndup((const char *)data, len) : NULL;
	int err = -EINVAL;

	if (!text)
		return -EINVAL;
	if (read_field(text, " timestamp;", &time_offset, &time_size) ||
	    read_field(text, " commit;", &format->commit_offset, &format->long_size) ||
	    read_field(text, " data;", &format->data_offset, &data_size))
		goto out;
	format->size = format->data_offset + data_size;
	if (time_offset || time_size != 8 || format->commit_offset != 8 ||
	    (format->long_size != 4 && format->long_size != 8) ||
	    format->data_offset != format->commit_offset + format->long_size ||
	    data_size > MAX_PAGE_SIZE || format->size < 512 || !is_power_of_2(format->size))
		goto out;
	err = 0;
out:
	free(text);
	return err;
}

int front__parse(struct front *front, struct page_format *format)
{
	struct cursor cursor = { .front = front };
	const unsigned char *start, *block;
	u32 systems, events;
	u64 size;

	start = take(&cursor, sizeof(magic) - 1);
	if (!start || memcmp(start, magic, sizeof(magic) - 1) || !take_string(&cursor))
		return -EINVAL;
	cursor.big_endian = take_number(&cursor, 1);
	format->big_endian = cursor.big_endian;
	take_number(&cursor, 1);		/* size of long */
	take_number(&cursor, 4);		/* of a page */
	start = take(&cursor, sizeof("header_page"));
	block = take_block(&cursor, 8, &size);
	if (!start || memcmp(start, "header_page", sizeof("header_page")) ||
	    read_page_format(block, size, format))
		return -EINVAL;
	take(&cursor, sizeof("header_event"));
	take_block(&cursor, 8, &size);
	front->ftrace = cursor.at;
	for (events = take_number(&cursor, 4); events && !cursor.truncated; events--)
		take_block(&cursor, 8, &size);
	for (systems = take_number(&cursor, 4); systems && !cursor.truncated; systems--) {
		take_string(&cursor);
		for (events = take_number(&cursor, 4); events && !cursor.truncated; events--)
			take_block(&cursor, 8, &size);
	}
	front->kallsyms = cursor.at;
	take_block(&cursor, 4, &size);
	front->has_symbols = size;
	take_block(&cursor, 4, &size);		/* formats of trace_printk() */
	front->end = cursor.at;
	return cursor.truncated ? -EINVAL : 0;
}

bool front__prints_symbols(const struct front *front)
{
	const unsigned char *at = front->data, *end = front->data + front->kallsyms;

	while ((at = memmem(at, end - at, "%p", 2))) {
		at += 2;
		if (at < end && *at && strchr("sSfFB", *at))
			return true;
	}
	return false;
}

/* ---- writing */

static void write_number(FILE *file, u64 number, unsigned int size, bool big_endian)
{
	unsigned char bytes[8];

	put_number(bytes, number, size, big_endian);
	fwrite(bytes, size, 1, file);
}

static void write_option(FILE *file, enum option option, const void *data, u32 size,
			 bool big_endian)
{
	write_number(file, option, 2, big_endian);
	write_number(file, size, 4, big_endian);
	fwrite(data, size, 1, file);
}

static void write_text_option(FILE *file, enum option option, const char *text, bool big_endian)
{
	if (text)
		write_option(file, option, text, strlen(text) + 1, big_endian);
}

/* The statistics are those of per_cpu/cpuN/stats in tracefs: entries are events left in a ring. */
static void write_options(const struct front *front, const struct pages *pages, FILE *file)
{
	bool big_endian = pages->format.big_endian;
	unsigned char nr_cpus[4];
	char text[256];
	unsigned int i;

	fwrite("options  ", 10, 1, file);
	for (i = 0; i < pages->nr_cpus; i++) {
		snprintf(text, sizeof(text),
			 "CPU: %u\nentries: 0\noverrun: 0\ndropped events: %" PRIu64
			 "\nread events: %" PRIu64 "\n", i,
			 pages->cpus[i].nr_lost, pages->cpus[i].nr_events);
		write_text_option(file, OPTION_CPU_STATISTICS, text, big_endian);
	}
	write_text_option(file, OPTION_CLOCK, front->clock, big_endian);
	write_text_option(file, OPTION_SYSTEM, front->system, big_endian);
	write_text_option(file, OPTION_PROGRAM, front->program, big_endian);
	put_number(nr_cpus, pages->nr_cpus, 4, big_endian);
	write_option(file, OPTION_NR_CPUS, nr_cpus, 4, big_endian);
	write_number(file, OPTION_DONE, 2, big_endian);
}

/* Write the formats and symbols from the offset @from on, with the event ftrace:print. */
static void write_formats(const struct front *front, const struct page_format *format, size_t from,
			  FILE *file)
{
	const unsigned char *data = front->data;
	u32 nr_ftrace = get_number(data + front->ftrace, 4, format->big_endian);
	size_t rest = front->kallsyms;

	fwrite(data + from, front->ftrace - from, 1, file);
	write_number(file, nr_ftrace + 1, 4, format->big_endian);
	print__write_format(format, file);
	fwrite(data + front->ftrace + 4, front->kallsyms - front->ftrace - 4, 1, file);
	if (front->symbols) {
		write_number(file, front->symbols_size, 4, format->big_endian);
		fwrite(front->symbols, front->symbols_size, 1, file);
		rest += 4;	/* the length of none */
	}
	fwrite(data + rest, front->end - rest, 1, file);
}

/* Write all up to the table of CPUs. */
static void write_begin(const struct front *front, const struct pages *pages, FILE *file)
{
	bool big_endian = pages->format.big_endian;
	size_t version = sizeof(magic) - 1;
	/* The byte order follows the version, and the size of long and of pages follow that. */
	const unsigned char *order = front->data + version +
				     strlen((const char *)front->data + version) + 1;

	fwrite(magic, sizeof(magic) - 1, 1, file);
	fwrite("6", 2, 1, file);
	fwrite(order, 2, 1, file);
	write_number(file, pages->format.size, 4, big_endian);
	write_formats(front, &pages->format, order + 6 - front->data, file);
	write_number(file, front->comms_size, 8, big_endian);
	fwrite(front->comms, front->comms_size, 1, file);
	write_number(file, pages->nr_cpus, 4, big_endian);
	write_options(front, pages, file);
	fwrite("flyrecord", 10, 1, file);
}

int front__write(const struct front *front, const struct pages *pages, FILE *file)
{
	u64 page_size = pages->format.size, offset, written;
	size_t size = 0;
	char *begin = NULL;
	unsigned int i;
	FILE *memory;

	/* The table has offsets from the begin of the file, whose length is known only then. */
	memory = open_memstream(&begin, &size);
	if (!memory)
		return -ENOMEM;
	write_begin(front, pages, memory);
	if (fclose(memory)) {
		free(begin);
		return -ENOMEM;
	}
	fwrite(begin, size, 1, file);
	free(begin);
	written = size + 16 * pages->nr_cpus;
	offset = roundup(written, page_size);
	for (i = 0; i < pages->nr_cpus; i++) {
		u64 len = pages->cpus[i].nr_pages * page_size;

		write_number(file, offset, 8, pages->format.big_endian);
		write_number(file, len, 8, pages->format.big_endian);
		offset += len;
	}
	for (i = roundup(written, page_size) - written; i; i--)
		putc(0, file);
	return 0;
}

void front__exit(struct front *front)
{
	zfree(&front->data);
	zfree(&front->symbols);
	zfree(&front->system);
	zfree(&front->program);
	zfree(&front->comms);
}
