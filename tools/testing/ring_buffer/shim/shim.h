/* SPDX-License-Identifier: GPL-2.0-only */
/* State of the simulated kernel around the ring buffer, for tests to read and set. */
#ifndef SHIM_H
#define SHIM_H

#include <stdbool.h>
#include <stddef.h>

struct page;

/**
 * struct shim - state of the simulated kernel
 * @preempt:	depth of preempt_disable()
 * @rcu:	depth of rcu_read_lock()
 * @pagefault:	depth of pagefault_disable()
 * @user_readable: number of bytes after which a copy from user memory faults
 * @irq_work:	depth of functions that irq_work_queue() runs
 * @warnings:	number of WARN_ON_ONCE()s that were hit; repeated ones count
 * @deferred_warnings: those of @warnings that an irq_work printed
 * @quiet:	do not print warnings
 * @in_order:	allocate pages in address order where possible
 * @allocations: calls of all allocators so far
 * @on_allocation: called by all allocators first, or NULL
 * @fail_at:	fail the allocation with this number; 0: none
 * @kill_at:	a fatal signal is pending from the allocation with this number on; 0: never
 * @reschedules: calls of cond_resched() so far
 * @fail_order:	fail page allocations of this and higher orders; 0: none
 * @objects, @pages, @mappings: number of those not freed yet
 */
struct shim {
	volatile int	preempt;
	volatile int	rcu;
	volatile int	pagefault;
	unsigned long	user_readable;
	int		irq_work;
	unsigned long	warnings;
	unsigned long	deferred_warnings;
	bool		quiet;
	bool		in_order;
	unsigned long	allocations;
	void		(*on_allocation)(void);
	unsigned long	fail_at;
	unsigned long	kill_at;
	unsigned long	reschedules;
	int		fail_order;
	long		objects;
	long		pages;
	long		mappings;
};

/* SHIM_PER_THREAD: each thread simulates a CPU, and must free what it allocated. */
#ifdef SHIM_PER_THREAD
#define shim_per_cpu __thread
#else
#define shim_per_cpu
#endif

extern shim_per_cpu struct shim shim;

/* Map all pages by huge pages, where page_address() finds them. Returns how many MB are. */
unsigned int shim_use_huge_pages(void);

/* Run the work items that are scheduled. Returns their number. */
int shim_run_work(void);

/* Map @count pages in a row at @address, which shim_reserve() returned. */
void shim_map_pages(void *address, struct page **pages, unsigned int count, int prot);

/*
 * Reserve addresses for a mapping, surrounded by guard areas larger than the largest record; and
 * release them.
 */
void *shim_reserve(size_t size);
void shim_unreserve(const void *address, size_t size);

/* Whether all depths are 0, everything is freed, and no work item is pending. */
bool shim_balanced(void);

#endif
