/* SPDX-License-Identifier: GPL-2.0-only */
/* Let bench_ring.c write to our ring buffer and to upstream's; bench_impl.c is built with each. */
#ifndef RING_BUFFER_BENCH_IMPL_H
#define RING_BUFFER_BENCH_IMPL_H

#include <stdbool.h>
#include <stddef.h>

enum bench_mode {
	BENCH_FORWARD,		/* streaming; the reader keeps up */
	BENCH_BACKWARD,		/* write_backward, overwrite */
	BENCH_SIZED,		/* PERF_SAMPLE_SIZE_AT_END, overwrite */
	BENCH_PLAIN,		/* forward overwrite without trailers, which cannot be read */
	BENCH_NR_MODES,
};

/* Sizes that are a power of two never cross a page in a ring without trailers; the others do. */
#define BENCH_SIZES(m) \
	m(16) m(40) m(64) m(72) m(136) m(256) m(264) m(520) m(1024) m(1032) m(2056) m(4096) m(8192)

#define BENCH_RING_PAGES	128	/* 512 KB, the default of perf record */

struct bench_impl {
	/* One ring of each mode at a time. */
	void	(*open)(enum bench_mode mode, unsigned int nr_pages);
	void	(*close)(enum bench_mode mode);
	/* @bytes: one of BENCH_SIZES, without the trailer */
	void	(*write)(enum bench_mode mode, unsigned int bytes, unsigned int nr);
	/* Whether @nr records were written since open(), and the newest is complete. */
	bool	(*written)(enum bench_mode mode, unsigned int bytes, unsigned long long nr);
};

/*
 * bench_inlined: upstream's ring with perf_output_put() inlined; bench_other: OTHER_EVENTS of make
 */
extern const struct bench_impl bench_upstream, bench_inlined, bench_ours, bench_other;

#endif
