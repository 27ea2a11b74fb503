// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "bytes.h"
#include "pages.h"

#define TYPE_TIME_EXTEND	30
#define MAX_TYPE_LEN		28	/* longer data has its length in a word of its own */
#define TIME_BITS		27
#define TIME_MASK		((1U << TIME_BITS) - 1)

/* Flags of the word with the length of the data */
#define MISSED_EVENTS		(1U << 31)
#define MISSED_STORED		(1U << 30)	/* their number follows the data */

void pages__init(struct pages *pages, int spool)
{
	*pages = (struct pages){ .spool = spool };
}

void pages__exit(struct pages *pages)
{
	unsigned int i;

	for (i = 0; i < pages->nr_cpus; i++)
		zfree(&pages->cpus[i].page);
	zfree(&pages->cpus);
	zfree(&pages->next_page);
}

unsigned int pages__max_event(const struct pages *pages)
{
	const struct page_format *format = &pages->format;

	/* Two words, and the number of lost events */
	return format->size - format->data_offset - 8 - format->long_size;
}

int pages__grow(struct pages *pages, unsigned int nr_cpus)
{
	struct cpu_pages *cpus;

	if (nr_cpus <= pages->nr_cpus)
		return 0;
	cpus = realloc(pages->cpus, nr_cpus * sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	memset(cpus + pages->nr_cpus, 0, (nr_cpus - pages->nr_cpus) * sizeof(*cpus));
	pages->cpus = cpus;
	pages->nr_cpus = nr_cpus;
	return 0;
}

static int write_spool(int fd, const unsigned char *page, size_t size)
{
	ssize_t written;

	for (; size; page += written, size -= written) {
		written = write(fd, page, size);
		if (written < 0) {
			if (errno != EINTR)
				return -errno;
			written = 0;
		}
	}
	return 0;
}

/* Append the page of @cpu to the temporary file, if it has events. */
static int end_page(struct pages *pages, struct cpu_pages *cpu)
{
	const struct page_format *format = &pages->format;
	unsigned char *end;
	u64 commit = cpu->used;
	u32 *next_page;
	int err;

	if (!cpu->used)
		return 0;
	end = cpu->page + format->data_offset + cpu->used;
	memset(end, 0, format->size - format->data_offset - cpu->used);
	if (cpu->missed) {
		commit |= MISSED_EVENTS | MISSED_STORED;
		put_number(end, cpu->missed, format->long_size, format->big_endian);
	}
	put_number(cpu->page + format->commit_offset, commit, format->long_size,
		   format->big_endian);
	if (pages->nr_pages == pages->max_pages) {
		pages->max_pages = pages->max_pages * 2 ?: 1024;
		next_page = realloc(pages->next_page, pages->max_pages * sizeof(*next_page));
		if (!next_page || pages->nr_pages >= UINT32_MAX)
			return -ENOMEM;
		pages->next_page = next_page;
	}
	err = write_spool(pages->spool, cpu->page, format->size);
	if (err)
		return err;
	if (cpu->nr_pages++)
		pages->next_page[cpu->last_page] = pages->nr_pages;
	else
		cpu->first_page = pages->nr_pages;
	cpu->last_page = pages->nr_pages++;
	cpu->used = 0;
	return 0;
}

static int begin_page(struct pages *pages, struct cpu_pages *cpu, u64 time)
{
	const struct page_format *format = &pages->format;

	if (!cpu->page) {
		cpu->page = zalloc(format->size);
		if (!cpu->page)
			return -ENOMEM;
	}
	put_number(cpu->page, time, 8, format->big_endian);
	cpu->time = time;
	cpu->missed = cpu->pending_lost;
	cpu->nr_lost += cpu->missed;
	cpu->pending_lost = 0;
	cpu->limit = format->size - format->data_offset - (cpu->missed ? format->long_size : 0);
	return 0;
}

static void add_word(const struct pages *pages, struct cpu_pages *cpu, u32 word)
{
	put_number(cpu->page + pages->format.data_offset + cpu->used, word, 4,
		   pages->format.big_endian);
	cpu->used += 4;
}

/* Add the word with which an event begins. */
static void add_header(const struct pages *pages, struct cpu_pages *cpu, u32 type, u32 delta)
{
	add_word(pages, cpu,
		 pages->format.big_endian ? type << TIME_BITS | delta : delta << 5 | type);
}

int pages__add(struct pages *pages, unsigned int cpu_nr, u64 time, const void *data,
	       unsigned int size)
{
	unsigned int words = DIV_ROUND_UP(size, 4), needed;
	struct cpu_pages *cpu;
	bool length_word;
	u64 delta;
	int err;

	err = pages__grow(pages, cpu_nr + 1);
	if (err)
		return err;
	cpu = &pages->cpus[cpu_nr];
	length_word = !words || words > MAX_TYPE_LEN;
	delta = time - cpu->time;
	needed = 4 + 4 * length_word + 4 * words + (delta > TIME_MASK ? 8 : 0);
	/* A page begins with a time of its own: go back in time, or far ahead, only there. */
	if (cpu->used && (needed > cpu->limit - cpu->used || time < cpu->time ||
			  delta >> TIME_BITS > UINT32_MAX)) {
		err = end_page(pages, cpu);
		if (err)
			return err;
	}
	if (!cpu->used) {
		err = begin_page(pages, cpu, time);
		if (err)
			return err;
		delta = 0;
	}
	if (delta > TIME_MASK) {
		add_header(pages, cpu, TYPE_TIME_EXTEND, delta & TIME_MASK);
		add_word(pages, cpu, delta >> TIME_BITS);
		delta = 0;
	}
	add_header(pages, cpu, length_word ? 0 : words, delta);
	if (length_word)
		add_word(pages, cpu, 4 + 4 * words);
	if (words)
		memset(cpu->page + pages->format.data_offset + cpu->used + 4 * words - 4, 0, 4);
	memcpy(cpu->page + pages->format.data_offset + cpu->used, data, size);
	cpu->used += 4 * words;
	cpu->time = time;
	cpu->nr_events++;
	return 0;
}

int pages__lost(struct pages *pages, unsigned int cpu_nr, u64 time, u64 nr)
{
	int err = pages__grow(pages, cpu_nr + 1);

	if (err)
		return err;
	pages->cpus[cpu_nr].pending_lost += nr;
	pages->cpus[cpu_nr].lost_time = time;
	return end_page(pages, &pages->cpus[cpu_nr]);
}

int pages__flush(struct pages *pages)
{
	unsigned int i;
	int err;

	for (i = 0; i < pages->nr_cpus; i++) {
		err = end_page(pages, &pages->cpus[i]);
		if (err)
			return err;
	}
	return 0;
}

static int read_spool(const struct pages *pages, u64 nr, unsigned char *page)
{
	size_t done = 0;
	ssize_t got;

	while (done < pages->format.size) {
		got = pread(pages->spool, page + done, pages->format.size - done,
			    nr * pages->format.size + done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EIO;
		done += got;
	}
	return 0;
}

int pages__copy(struct pages *pages, FILE *file)
{
	unsigned char *page = malloc(pages->format.size);
	struct cpu_pages *cpu = pages->cpus;
	int err = page ? 0 : -ENOMEM;
	u64 i, nr = 0;

	for (; cpu < pages->cpus + pages->nr_cpus && !err; cpu++) {
		for (i = 0; i < cpu->nr_pages && !err; i++) {
			nr = i ? pages->next_page[nr] : cpu->first_page;
			err = read_spool(pages, nr, page);
			if (!err && fwrite(page, pages->format.size, 1, file) != 1)
				err = -errno;
		}
	}
	free(page);
	return err;
}
