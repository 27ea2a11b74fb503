// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes records as core.c does: each field is given to perf_output_put(). Here that is what the
 * internal.h makes of it that this is built with, as it is in core.c.
 */
#include <stdlib.h>
#include <linux/perf_event.h>
#include "internal.h"
#include "bench_side.h"

#ifdef IMPL_IS_UPSTREAM
#define THIS_SIDE		bench_upstream
#define ring_page(page)		(rb->data_pages[page])
#define TRAILER_SIZE		0
#define RING_BUFFER_BACKWARD	0	/* its rings do not need to be told */
#define RING_BUFFER_TRAILER	0
#else
#define THIS_SIDE		bench_ours
#define ring_page(page)		page_address(rb->pages[page])
#define TRAILER_SIZE		sizeof(struct perf_event_trailer)
#endif

#define NR_FIELDS		7	/* with the header, 64 bytes */

static struct perf_event event;
static struct perf_buffer *rb;
static enum bench_mode ring_mode;
static u64 fields[NR_FIELDS];
static unsigned char block[8192];

static void side_open(enum bench_mode mode)
{
	int flags[] = {
		[BENCH_FORWARD] = RING_BUFFER_WRITABLE,
		[BENCH_BACKWARD] = RING_BUFFER_BACKWARD,
		[BENCH_SIZED] = RING_BUFFER_TRAILER,
	};

	ring_mode = mode;
	rb = rb_alloc(BENCH_RING_PAGES, 0, -1, flags[mode]);
	if (!rb)
		abort();
	event = (struct perf_event){ .rb = rb, .attr.write_backward = mode == BENCH_BACKWARD };
	for (unsigned int i = 0; i < sizeof(block); i++)
		block[i] = i * 7;
}

static void side_close(void)
{
	rb_free(rb);
}

/*
 * Up to 64 bytes are put one by one; what is more is one block, as raw data and stacks are.
 * Inlined with constants, as the fields of a given event are chosen by tests that always come out
 * the same way.
 */
static __always_inline void write_record(unsigned int bytes, bool backward, unsigned int trailer)
{
	unsigned int nr_fields = bytes < 64 ? bytes / 8 - 1 : NR_FIELDS;
	struct perf_event_header header = {
		.type = PERF_RECORD_SAMPLE,
		.size = bytes + trailer,
	};
	struct perf_output_handle handle;
	struct perf_sample_data data;
	int err;

	err = backward ? perf_output_begin_backward(&handle, &data, &event, header.size) :
			 perf_output_begin_forward(&handle, &data, &event, header.size);
	if (err)
		return;

	perf_output_put(&handle, header);
	perf_output_put(&handle, fields[0]);
	if (nr_fields > 1) {
		perf_output_put(&handle, fields[1]);
		perf_output_put(&handle, fields[2]);
		perf_output_put(&handle, fields[3]);
		perf_output_put(&handle, fields[4]);
		perf_output_put(&handle, fields[5]);
		perf_output_put(&handle, fields[6]);
	}
	if (bytes > 64)
		perf_output_copy(&handle, block, bytes - 64);
	perf_output_end(&handle);
}

/* The loop is out of line for each kind of record, so that nothing is chosen within it. */
#define DEFINE_WRITE(bytes, name, backward, trailer)			\
static noinline void write_##name##_##bytes(unsigned int nr)		\
{									\
	while (nr--) {							\
		fields[0]++;						\
		write_record(bytes, backward, trailer);			\
	}								\
}

#define DEFINE_WRITES(bytes)						\
	DEFINE_WRITE(bytes, forward, false, 0)				\
	DEFINE_WRITE(bytes, backward, true, 0)				\
	DEFINE_WRITE(bytes, sized, false, TRAILER_SIZE)

DEFINE_WRITES(16)
DEFINE_WRITES(64)
DEFINE_WRITES(256)
DEFINE_WRITES(1024)
DEFINE_WRITES(8192)

#define WRITES(bytes)							\
	{								\
		bytes, {						\
			[BENCH_FORWARD] = write_forward_##bytes,	\
			[BENCH_BACKWARD] = write_backward_##bytes,	\
			[BENCH_SIZED] = write_sized_##bytes,		\
		}							\
	}

static const struct {
	unsigned int bytes;
	void (*write[BENCH_NR_MODES])(unsigned int nr);
} writes[] = { WRITES(16), WRITES(64), WRITES(256), WRITES(1024), WRITES(8192) };

/* The reader takes everything as soon as it is half full. */
static void side_write(unsigned int bytes, unsigned int nr)
{
	unsigned int i = 0, batch = (BENCH_RING_PAGES << PAGE_SHIFT) / 2 / bytes;

	while (writes[i].bytes != bytes)
		i++;
	while (nr) {
		unsigned int now = nr < batch ? nr : batch;

		writes[i].write[ring_mode](now);
		if (ring_mode == BENCH_FORWARD)
			WRITE_ONCE(rb->user_page->data_tail, rb->user_page->data_head);
		nr -= now;
	}
}

/* Neither mapping is used: what a reader sees are the pages. */
static void read_ring(u64 position, void *dst, unsigned int len)
{
	unsigned char *byte = dst;

	for (; len--; position++)
		*byte++ = ((unsigned char *)ring_page(position >> PAGE_SHIFT &
						      (BENCH_RING_PAGES - 1)))
			[offset_in_page(position)];
}

static bool side_written(unsigned int bytes, unsigned long long nr)
{
	unsigned int size = bytes + (ring_mode == BENCH_SIZED ? TRAILER_SIZE : 0);
	u64 head = rb->user_page->data_head;
	u64 newest = ring_mode == BENCH_BACKWARD ? head : head - size;
	struct {
		struct perf_event_header	header;
		u64				number;
	} record;
	unsigned char last;

	read_ring(newest, &record, sizeof(record));
	read_ring(newest + bytes - 1, &last, 1);
	return (ring_mode == BENCH_BACKWARD ? -head : head) == nr * size &&
	       record.header.type == PERF_RECORD_SAMPLE && record.header.size == size &&
	       record.number == fields[0] && (bytes <= 64 || last == block[bytes - 65]);
}

const struct bench_side THIS_SIDE = {
	.open = side_open,
	.close = side_close,
	.write = side_write,
	.written = side_written,
};
