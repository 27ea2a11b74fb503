/* SPDX-License-Identifier: GPL-2.0-only */
/* Simulate vmap() and vmalloc_user(); guard areas surround each mapping. */
#ifndef SHIM_LINUX_VMALLOC_H
#define SHIM_LINUX_VMALLOC_H

#include <linux/mm.h>

#define VM_MAP		1UL
#define PAGE_KERNEL	0

void *vmap(struct page **pages, unsigned int count, unsigned long flags, int prot);
void vunmap(const void *address);
void *vmalloc_user(unsigned long size);
void vfree(const void *address);
struct page *vmalloc_to_page(const void *address);

#endif
