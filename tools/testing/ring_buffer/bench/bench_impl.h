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

#define BENCH_RING_PAGES	128	/* 512 KB, the default of perf record */

struct bench_impl {
	/* One ring of each mode at a time. */
	void	(*open)(enum bench_mode mode);
	void	(*close)(enum bench_mode mode);
	/* @bytes: one of 16, 64, 256, 1024, 8192, without the trailer */
	void	(*write)(enum bench_mode mode, unsigned int bytes, unsigned int nr);
	/* Whether @nr records were written since open(), and the newest is complete. */
	bool	(*written)(enum bench_mode mode, unsigned int bytes, unsigned long long nr);
};

extern const struct bench_impl bench_upstream, bench_ours;

#endif
