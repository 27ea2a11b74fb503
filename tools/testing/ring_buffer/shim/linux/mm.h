/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Simulate pages by a memory file. It is mapped linearly, as the kernel's direct map; vmap() and
 * shim_map_pages() map the same pages elsewhere.
 */
#ifndef SHIM_LINUX_MM_H
#define SHIM_LINUX_MM_H

#include <linux/kernel.h>

#define PAGE_SHIFT		12
#undef PAGE_SIZE
#define PAGE_SIZE		(1UL << PAGE_SHIFT)
#define PAGE_MASK		(~(PAGE_SIZE - 1))
#define MAX_PAGE_ORDER		10
#define NUMA_NO_NODE		(-1)
#define offset_in_page(p)	((unsigned long)(p) & ~PAGE_MASK)

/* Values above those of tools/include/linux/types.h. */
#define __GFP_ZERO		0x100
#define __GFP_NOWARN		0x200
#define __GFP_NORETRY		0x400

typedef unsigned long pgoff_t;

struct page {
	void		*mapping;
	unsigned long	private;
	bool		has_private;
	bool		allocated;
	signed char	order;		/* of the allocation, in its first page; -1 in the others */
};

struct page *alloc_pages_node(int node, unsigned int gfp, int order);
void __free_page(struct page *page);
void split_page(struct page *page, int order);
void *page_address(const struct page *page);
struct page *virt_to_page(const void *address);

static inline int cpu_to_node(int cpu)
{
	return cpu;
}

static inline int get_order(unsigned long size)
{
	int order = 0;

	while ((PAGE_SIZE << order) < size)
		order++;
	return order;
}

static inline bool PagePrivate(const struct page *page)
{
	return page->has_private;
}

static inline void SetPagePrivate(struct page *page)
{
	page->has_private = true;
}

static inline void ClearPagePrivate(struct page *page)
{
	page->has_private = false;
}

static inline unsigned long page_private(const struct page *page)
{
	return page->private;
}

static inline void set_page_private(struct page *page, unsigned long private)
{
	page->private = private;
}

#endif
