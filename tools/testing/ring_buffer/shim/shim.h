/* SPDX-License-Identifier: GPL-2.0-only */
/* What tests see and set of the kernel around the ring. */
#ifndef SHIM_H
#define SHIM_H

#include <stdbool.h>
#include <stddef.h>

struct page;

/**
 * struct shim - state of that kernel
 * @preempt:	depth of preempt_disable()
 * @rcu:	depth of rcu_read_lock()
 * @pagefault:	depth of pagefault_disable()
 * @user_readable: bytes that a copy from user memory gets
 * @warnings:	WARN_ON_ONCE()s that were hit, each time
 * @quiet:	do not print them
 * @in_order:	pages are allocated one after the other where possible
 * @allocations: successes and failures of all allocators so far
 * @fail_at:	the value of @allocations at which one fails; 0: none
 * @fail_order:	allocations of pages of this order and above fail; 0: none
 * @objects, @pages, @mappings: those not freed yet
 */
struct shim {
	volatile int	preempt;
	volatile int	rcu;
	volatile int	pagefault;
	unsigned long	user_readable;
	unsigned long	warnings;
	bool		quiet;
	bool		in_order;
	unsigned long	allocations;
	unsigned long	fail_at;
	int		fail_order;
	long		objects;
	long		pages;
	long		mappings;
};

/* With SHIM_PER_THREAD each thread is a CPU, and what it allocates it must free. */
#ifdef SHIM_PER_THREAD
#define shim_per_cpu __thread
#else
#define shim_per_cpu
#endif

extern shim_per_cpu struct shim shim;

/* Work that was scheduled and not run yet; returns how many there were. */
int shim_run_work(void);

/* Maps pages one after the other at an address that was reserved. */
void shim_map_pages(void *address, struct page **pages, unsigned int count, int prot);

/*
 * Reserves room for a mapping that is surrounded by so much that cannot be accessed that not even
 * the largest record gets beyond, and gives it back.
 */
void *shim_reserve(size_t size);
void shim_unreserve(const void *address, size_t size);

/* Whether nothing is held: no depth, no object, page, mapping. */
bool shim_balanced(void);

#endif
