/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_SLAB_H
#define SHIM_LINUX_SLAB_H

#include <linux/mm.h>
#include <linux/overflow.h>

/*
 * Allocate an object, filled with a pattern unless __GFP_ZERO. More than @limit bytes fail, with a
 * warning unless __GFP_NOWARN.
 */
void *shim_alloc(size_t size, unsigned int gfp, int node, size_t limit);
void kfree(const void *object);

#define KMALLOC_MAX_SIZE (PAGE_SIZE << MAX_PAGE_ORDER)

#define kzalloc_node(size, gfp, node)	  \
	shim_alloc(size, (gfp) | __GFP_ZERO, node, KMALLOC_MAX_SIZE)
#define kcalloc_node(n, size, gfp, node)  kzalloc_node(array_size(n, size), gfp, node)
#define kvmalloc_node(size, gfp, node)	  shim_alloc(size, gfp, node, INT_MAX)
#define kvmalloc_array(n, size, gfp)	  kvmalloc_node(array_size(n, size), gfp, NUMA_NO_NODE)
#define kvfree				  kfree

#endif
