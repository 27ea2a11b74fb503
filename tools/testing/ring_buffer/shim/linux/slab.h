/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_SLAB_H
#define SHIM_LINUX_SLAB_H

#include <linux/mm.h>
#include <linux/overflow.h>

/*
 * What is not asked to be zero is filled with a pattern. More than @limit cannot be had, and asking
 * for it without __GFP_NOWARN is a warning.
 */
void *shim_alloc(size_t size, unsigned int gfp, int node, size_t limit);
void kfree(const void *object);

#define KMALLOC_MAX_SIZE (PAGE_SIZE << MAX_PAGE_ORDER)

#define kzalloc_node(size, gfp, node)	  shim_alloc(size, (gfp) | __GFP_ZERO, node, KMALLOC_MAX_SIZE)
#define kcalloc_node(n, size, gfp, node)  kzalloc_node(array_size(n, size), gfp, node)
#define kvmalloc_node(size, gfp, node)	  shim_alloc(size, gfp, node, INT_MAX)
#define kvmalloc_array(n, size, gfp)	  kvmalloc_node(array_size(n, size), gfp, NUMA_NO_NODE)
#define kvfree				  kfree

#endif
