// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write an image of rings that hold the samples of a perf.data file, as a kernel with
 * PERF_SAMPLE_SIZE_AT_END would have written them.
 *
 * flags: -D_GNU_SOURCE -Itools/include/uapi
 *
 * usage: ring_image FILE PAGES [SEED] > IMAGE
 *
 * Each id (PERF_SAMPLE_IDENTIFIER) has a ring of PAGES pages of 4096 bytes. With SEED, write the
 * pages of all rings in random order, with as many other pages between them. Print the number of
 * samples that are whole in the rings on standard error.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <linux/perf_event.h>
#include <linux/perf_event_trailer.h>

#define PAGE		4096u
#define MAX_RINGS	256

struct ring {
	uint64_t	 id;
	uint64_t	 head;
	uint64_t	 nr;
	uint64_t	*positions;
	unsigned char	*data;
};

static struct ring rings[MAX_RINGS];
static unsigned int nr_rings;
static size_t ring_size;

static struct ring *ring_of(uint64_t id)
{
	struct ring *ring = rings;

	while (ring < rings + nr_rings && ring->id != id)
		ring++;
	if (ring == rings + MAX_RINGS)
		errx(1, "more than %d ids", MAX_RINGS);
	if (ring == rings + nr_rings) {
		nr_rings++;
		ring->id = id;
		ring->data = calloc(1, ring_size);
		if (!ring->data)
			err(1, "memory");
	}
	return ring;
}

static void put(struct ring *ring, const void *from, size_t len)
{
	const unsigned char *byte = from;

	while (len--)
		ring->data[ring->head++ % ring_size] = *byte++;
}

static void add_sample(const struct perf_event_header *event)
{
	struct perf_event_header header = *event;
	struct perf_event_trailer trailer;
	struct ring *ring;
	uint64_t id;

	memcpy(&id, event + 1, sizeof(id));
	ring = ring_of(id);
	if (ring->nr % 1024 == 0) {
		ring->positions = realloc(ring->positions, (ring->nr + 1024) * sizeof(uint64_t));
		if (!ring->positions)
			err(1, "memory");
	}
	ring->positions[ring->nr++] = ring->head;
	header.size += sizeof(trailer);
	trailer = (struct perf_event_trailer){
		.offset_lo = ring->head, .offset_hi = ring->head >> 32, .size = header.size,
	};
	put(ring, &header, sizeof(header));
	put(ring, event + 1, event->size - sizeof(header));
	put(ring, &trailer, sizeof(trailer));
}

/* Add all samples. Header of the file: magic, size, attr_size, attrs and data { offset, size } */
static void add_samples(const char *name)
{
	int fd = open(name, O_RDONLY);
	const struct perf_event_header *event;
	const unsigned char *file, *at, *end;
	const uint64_t *words;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		err(1, "%s", name);
	file = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		err(1, "%s", name);
	words = (const uint64_t *)file;
	end = file + words[5] + words[6];
	for (at = file + words[5]; at < end; at += event->size) {
		event = (const void *)at;
		if (event->size < sizeof(*event))
			errx(1, "%s: no record at %td", name, at - file);
		if (event->type == PERF_RECORD_SAMPLE)
			add_sample(event);
	}
}

static uint64_t count_whole(void)
{
	uint64_t nr = 0, i;
	struct ring *ring;

	for (ring = rings; ring < rings + nr_rings; ring++)
		for (i = 0; i < ring->nr; i++)
			nr += ring->head - ring->positions[i] <= ring_size;
	return nr;
}

static void write_all(const void *data, size_t len)
{
	if (fwrite(data, len, 1, stdout) != 1)
		err(1, "standard output");
}

static void write_shuffled(size_t pages)
{
	size_t nr = 2 * pages * nr_rings, i;
	unsigned char other[PAGE];
	const unsigned char **order = calloc(nr, sizeof(*order));

	if (!order)
		err(1, "memory");
	for (i = 0; i < sizeof(other); i++)
		other[i] = random();
	for (i = 0; i < nr; i++)
		order[i] = i % 2 ? other :
			   rings[i / 2 / pages].data + i / 2 % pages * PAGE;
	for (i = nr; i > 1; i--) {
		size_t j = random() % i;
		const unsigned char *page = order[i - 1];

		order[i - 1] = order[j];
		order[j] = page;
	}
	for (i = 0; i < nr; i++)
		write_all(order[i], PAGE);
	free(order);
}

int main(int argc, char **argv)
{
	size_t pages = argc == 3 || argc == 4 ? strtoul(argv[2], NULL, 0) : 0, i;

	if (!pages)
		errx(1, "usage: ring_image FILE PAGES [SEED] > IMAGE");
	ring_size = pages * PAGE;
	add_samples(argv[1]);
	if (argc > 3) {
		srandom(strtoul(argv[3], NULL, 0));
		write_shuffled(pages);
	} else {
		for (i = 0; i < nr_rings; i++)
			write_all(rings[i].data, ring_size);
	}
	if (fflush(stdout))
		err(1, "standard output");
	fprintf(stderr, "%llu\n", (unsigned long long)count_whole());
	return 0;
}
