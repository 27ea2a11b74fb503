/* SPDX-License-Identifier: GPL-2.0-only */
/* One implementation of the ring, seen by bench_ring.c; bench_side.c is built once with each. */
#ifndef RING_BUFFER_BENCH_SIDE_H
#define RING_BUFFER_BENCH_SIDE_H

#include <stdbool.h>
#include <stddef.h>

enum bench_mode {
	BENCH_FORWARD,		/* streaming; the reader keeps up */
	BENCH_BACKWARD,		/* write_backward, overwrites itself */
	BENCH_SIZED,		/* PERF_SAMPLE_SIZE_AT_END, overwrites itself */
	BENCH_PLAIN,		/* overwrites itself, and there is no way to read it */
	BENCH_NR_MODES,
};

#define BENCH_RING_PAGES	128	/* 512 KB, what perf record takes if it is not told */

struct bench_side {
	/* One ring of each mode at a time. */
	void	(*open)(enum bench_mode mode);
	void	(*close)(enum bench_mode mode);
	/* @bytes: one of 16, 64, 256, 1024, 8192; what mode adds comes on top */
	void	(*write)(enum bench_mode mode, unsigned int bytes, unsigned int nr);
	/* Whether the ring has taken @nr records since it was opened, and the newest is whole. */
	bool	(*written)(enum bench_mode mode, unsigned int bytes, unsigned long long nr);
};

extern const struct bench_side bench_upstream, bench_ours;

#endif
