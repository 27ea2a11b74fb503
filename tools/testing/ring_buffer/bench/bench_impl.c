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
#define TRAILER_SIZE		0
#define RING_BUFFER_BACKWARD	0	/* upstream's rb_alloc() has no such flags */
#define RING_BUFFER_TRAILER	0
#else
#define TRAILER_SIZE		sizeof(struct perf_event_trailer)
#endif

#ifdef INLINE_PUT
/*
 * Store a field inline if it ends before its page, and call upstream's function otherwise.
 * Upstream moves on to the next page as soon as a page is full.
 */
static __always_inline void put_inline(struct perf_output_handle *handle, const void *buf,
				       unsigned long len)
{
	void *addr = handle->addr;

	if (unlikely(len >= handle->size)) {
		perf_output_copy(handle, buf, len);
		return;
	}
	memcpy(addr, buf, len);
	handle->addr = addr + len;
	handle->size -= len;
}

#undef perf_output_put
#define perf_output_put(handle, x)	put_inline((handle), &(x), sizeof(x))
#endif

#define NR_FIELDS		7	/* with the header, 64 bytes */

static struct perf_event events[BENCH_NR_MODES];	/* each with a ring */
static u64 fields[NR_FIELDS];
static unsigned char block[8192];

static void impl_open(enum bench_mode mode, unsigned int nr_pages)
{
	int flags[] = {
		[BENCH_FORWARD] = RING_BUFFER_WRITABLE,
		[BENCH_BACKWARD] = RING_BUFFER_BACKWARD,
		[BENCH_SIZED] = RING_BUFFER_TRAILER,
		[BENCH_PLAIN] = 0,
	};
	struct perf_buffer *rb = rb_alloc(nr_pages, 0, -1, flags[mode]);

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
	if (nr_fields > 1)
		perf_output_put(&handle, fields[1]);
	if (nr_fields > 2)
		perf_output_put(&handle, fields[2]);
	if (nr_fields > 3)
		perf_output_put(&handle, fields[3]);
	if (nr_fields > 4)
		perf_output_put(&handle, fields[4]);
	if (nr_fields > 5)
		perf_output_put(&handle, fields[5]);
	if (nr_fields > 6)
		perf_output_put(&handle, fields[6]);
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

BENCH_SIZES(DEFINE_WRITES)

#define WRITES(bytes)							\
	{								\
		bytes, {						\
			[BENCH_FORWARD] = write_BENCH_FORWARD_##bytes,	\
			[BENCH_BACKWARD] = write_BENCH_BACKWARD_##bytes, \
			[BENCH_SIZED] = write_BENCH_SIZED_##bytes,	\
			[BENCH_PLAIN] = write_BENCH_PLAIN_##bytes,	\
		}							\
	},

static const struct {
	unsigned int bytes;
	void (*write[BENCH_NR_MODES])(unsigned int nr);
} writes[] = { BENCH_SIZES(WRITES) };

/* The reader consumes all records each time that the ring is half full. */
static void impl_write(enum bench_mode mode, unsigned int bytes, unsigned int nr)
{
	struct perf_buffer *rb = events[mode].rb;
	struct perf_event_mmap_page *page = rb->user_page;
	unsigned int i = 0, batch = max(perf_data_size(rb) / 2 / bytes, 1ul);

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

	for (; len--; position++) {
		unsigned int nr = position >> PAGE_SHIFT & (data_page_nr(rb) - 1);
		unsigned char *page = page_address(perf_mmap_to_page(rb, nr + 1));

		*byte++ = page[offset_in_page(position)];
	}
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
