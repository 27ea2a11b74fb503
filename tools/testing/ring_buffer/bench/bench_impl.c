// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write records as core.c does: each field by perf_output_put(), as the internal.h of the
 * implementation defines it.
 */
#include <stdlib.h>
#include <linux/perf_event.h>
#include "internal.h"
#include "bench_impl.h"

#ifdef IMPL_IS_UPSTREAM
#define THIS_IMPL		bench_upstream
#define ring_page(rb, page)	((rb)->data_pages[page])
#define TRAILER_SIZE		0
#define RING_BUFFER_BACKWARD	0	/* upstream's rb_alloc() has no such flags */
#define RING_BUFFER_TRAILER	0
#else
#define THIS_IMPL		bench_ours
#define ring_page(rb, page)	page_address((rb)->pages[page])
#define TRAILER_SIZE		sizeof(struct perf_event_trailer)
#endif

#define NR_FIELDS		7	/* with the header, 64 bytes */

static struct perf_event events[BENCH_NR_MODES];	/* each with a ring */
static u64 fields[NR_FIELDS];
static unsigned char block[8192];

static void impl_open(enum bench_mode mode)
{
	int flags[] = {
		[BENCH_FORWARD] = RING_BUFFER_WRITABLE,
		[BENCH_BACKWARD] = RING_BUFFER_BACKWARD,
		[BENCH_SIZED] = RING_BUFFER_TRAILER,
		[BENCH_PLAIN] = 0,
	};
	struct perf_buffer *rb = rb_alloc(BENCH_RING_PAGES, 0, -1, flags[mode]);

	if (!rb)
		abort();
	events[mode] = (struct perf_event){
		.rb = rb,
		.attr.write_backward = mode == BENCH_BACKWARD,
	};
	for (unsigned int i = 0; i < sizeof(block); i++)
		block[i] = i * 7;
}

static void impl_close(enum bench_mode mode)
{
	rb_free(events[mode].rb);
}

/*
 * Write up to 64 bytes as single fields, and the rest as one block, as raw data and stacks are.
 * Inlined with constants: for a given event, the branches that select fields are predictable.
 */
static __always_inline void write_record(enum bench_mode mode, unsigned int bytes)
{
	unsigned int trailer = mode == BENCH_SIZED ? TRAILER_SIZE : 0;
	unsigned int nr_fields = bytes < 64 ? bytes / 8 - 1 : NR_FIELDS;
	struct perf_event_header header = {
		.type = PERF_RECORD_SAMPLE,
		.size = bytes + trailer,
	};
	struct perf_output_handle handle;
	struct perf_sample_data data;
	int err;

	err = mode == BENCH_BACKWARD ?
	      perf_output_begin_backward(&handle, &data, &events[mode], header.size) :
	      perf_output_begin_forward(&handle, &data, &events[mode], header.size);
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

/* One out-of-line loop for each mode and size, without branches on these. */
#define DEFINE_WRITE(bytes, mode)					\
static noinline void write_##mode##_##bytes(unsigned int nr)		\
{									\
	while (nr--) {							\
		fields[0]++;						\
		write_record(mode, bytes);				\
	}								\
}

#define DEFINE_WRITES(bytes)						\
	DEFINE_WRITE(bytes, BENCH_FORWARD)				\
	DEFINE_WRITE(bytes, BENCH_BACKWARD)				\
	DEFINE_WRITE(bytes, BENCH_SIZED)				\
	DEFINE_WRITE(bytes, BENCH_PLAIN)

DEFINE_WRITES(16)
DEFINE_WRITES(64)
DEFINE_WRITES(256)
DEFINE_WRITES(1024)
DEFINE_WRITES(8192)

#define WRITES(bytes)							\
	{								\
		bytes, {						\
			[BENCH_FORWARD] = write_BENCH_FORWARD_##bytes,	\
			[BENCH_BACKWARD] = write_BENCH_BACKWARD_##bytes, \
			[BENCH_SIZED] = write_BENCH_SIZED_##bytes,	\
			[BENCH_PLAIN] = write_BENCH_PLAIN_##bytes,	\
		}							\
	}

static const struct {
	unsigned int bytes;
	void (*write[BENCH_NR_MODES])(unsigned int nr);
} writes[] = { WRITES(16), WRITES(64), WRITES(256), WRITES(1024), WRITES(8192) };

/* The reader consumes all records each time that the ring is half full. */
static void impl_write(enum bench_mode mode, unsigned int bytes, unsigned int nr)
{
	struct perf_event_mmap_page *page = events[mode].rb->user_page;
	unsigned int i = 0, batch = (BENCH_RING_PAGES << PAGE_SHIFT) / 2 / bytes;

	while (writes[i].bytes != bytes)
		i++;
	while (nr) {
		unsigned int now = nr < batch ? nr : batch;

		writes[i].write[mode](now);
		if (mode == BENCH_FORWARD)
			WRITE_ONCE(page->data_tail, page->data_head);
		nr -= now;
	}
}

/* Read the pages themselves, not through a mapping. */
static void read_ring(struct perf_buffer *rb, u64 position, void *dst, unsigned int len)
{
	unsigned char *byte = dst;

	for (; len--; position++)
		*byte++ = ((unsigned char *)ring_page(rb, position >> PAGE_SHIFT &
							  (BENCH_RING_PAGES - 1)))
			[offset_in_page(position)];
}

static bool impl_written(enum bench_mode mode, unsigned int bytes, unsigned long long nr)
{
	unsigned int size = bytes + (mode == BENCH_SIZED ? TRAILER_SIZE : 0);
	struct perf_buffer *rb = events[mode].rb;
	u64 head = rb->user_page->data_head;
	u64 newest = mode == BENCH_BACKWARD ? head : head - size;
	struct {
		struct perf_event_header	header;
		u64				number;
	} record;
	unsigned char last;

	read_ring(rb, newest, &record, sizeof(record));
	read_ring(rb, newest + bytes - 1, &last, 1);
	return (mode == BENCH_BACKWARD ? -head : head) == nr * size &&
	       record.header.type == PERF_RECORD_SAMPLE && record.header.size == size &&
	       record.number == fields[0] && (bytes <= 64 || last == block[bytes - 65]);
}

const struct bench_impl THIS_IMPL = {
	.open = impl_open,
	.close = impl_close,
	.write = impl_write,
	.written = impl_written,
};
