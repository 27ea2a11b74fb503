// SPDX-License-Identifier: GPL-2.0-only
/* Implement the kernel's memory allocators, mappings and work items for the ring buffer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <sanitizer/asan_interface.h>

#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "shim.h"

#define NR_PAGES	(1u << 16)
#define GUARD		(1ul << 17)
#define HUGE_PAGE	(1ul << 21)

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

shim_per_cpu struct shim shim = { .user_readable = ~0ul };

static int memory_fd;
static unsigned char *memory;
static struct page mem_map[NR_PAGES];
static unsigned int next_page;

void shim_warn(const char *file, int line, const char *condition)
{
	shim.deferred_warnings += !!shim.irq_work;
	if (shim.warnings++ < 10 && !shim.quiet)
		fprintf(stderr, "%s:%d: warning: %s\n", file, line, condition);
}

static void die(const char *message)
{
	perror(message);
	abort();
}

static bool allocation_fails(void)
{
	if (shim.on_allocation)
		shim.on_allocation();
	return ++shim.allocations == shim.fail_at;
}

/*
 * Pages
 */

__attribute__((constructor)) static void init_memory(void)
{
	memory_fd = memfd_create("pages", MFD_CLOEXEC);
	if (memory_fd < 0 || ftruncate(memory_fd, (off_t)NR_PAGES << PAGE_SHIFT))
		die("cannot create the memory file");
	/* Aligned for shim_use_huge_pages() */
	memory = shim_reserve(((size_t)NR_PAGES << PAGE_SHIFT) + HUGE_PAGE);
	memory = (void *)(((uintptr_t)memory + HUGE_PAGE - 1) & -HUGE_PAGE);
	if (mmap(memory, (size_t)NR_PAGES << PAGE_SHIFT, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, memory_fd, 0) == MAP_FAILED)
		die("cannot map the memory file");
	ASAN_POISON_MEMORY_REGION(memory, (size_t)NR_PAGES << PAGE_SHIFT);
}

unsigned int shim_use_huge_pages(void)
{
	unsigned long start, kb = 0;
	char line[256];
	FILE *smaps;
	bool found = false;

	memset(memory, 0, (size_t)NR_PAGES << PAGE_SHIFT);
	if (madvise(memory, (size_t)NR_PAGES << PAGE_SHIFT, MADV_COLLAPSE))
		return 0;
	smaps = fopen("/proc/self/smaps", "r");
	if (!smaps)
		return 0;
	while (fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%lx-", &start) == 1 && strchr(line, '-'))
			found = start == (uintptr_t)memory;
		if (found && sscanf(line, "ShmemPmdMapped: %lu kB", &kb) == 1)
			break;
	}
	fclose(smaps);
	return kb / 1024;
}

void *page_address(const struct page *page)
{
	return memory + ((size_t)(page - mem_map) << PAGE_SHIFT);
}

struct page *virt_to_page(const void *address)
{
	size_t offset = (const unsigned char *)address - memory;

	if (offset >> PAGE_SHIFT >= NR_PAGES || !mem_map[offset >> PAGE_SHIFT].allocated)
		abort();
	return &mem_map[offset >> PAGE_SHIFT];
}

static bool pages_are_free(unsigned int first, unsigned int nr)
{
	if (first > NR_PAGES || first + nr > NR_PAGES)
		return false;
	for (unsigned int i = first; i < first + nr; i++)
		if (mem_map[i].allocated)
			return false;
	return true;
}

/*
 * Return scattered pages, unless shim.in_order: the pages of a ring are not contiguous. A page
 * before them and one behind them stay free, and thus poisoned: AddressSanitizer finds a store
 * beyond a page of the direct mapping, which KASAN does not if the next page is in use.
 */
static struct page *find_free_pages(int order)
{
	unsigned int nr = 1u << order, guards = !shim.in_order;

	for (unsigned int tries = 0; tries < 2 * NR_PAGES / nr; tries++) {
		next_page = (shim.in_order ? next_page + nr : next_page * 5 + 7) % NR_PAGES;
		if (pages_are_free((next_page & -nr) - guards, nr + 2 * guards))
			return &mem_map[next_page & -nr];
	}
	return NULL;
}

struct page *alloc_pages_node(int node, unsigned int gfp, int order)
{
	struct page *page;

	if (allocation_fails() || (shim.fail_order && order >= shim.fail_order))
		return NULL;
	page = find_free_pages(order);
	if (!page)
		return NULL;
	ASAN_UNPOISON_MEMORY_REGION(page_address(page), PAGE_SIZE << order);
	memset(page_address(page), gfp & __GFP_ZERO ? 0 : 0xa5, PAGE_SIZE << order);
	for (int i = 0; i < 1 << order; i++)
		page[i] = (struct page){ .allocated = true, .order = i ? -1 : order };
	shim.pages += 1 << order;
	return page;
}

void split_page(struct page *page, int order)
{
	if (page->order != order)
		abort();
	for (int i = 0; i < 1 << order; i++)
		page[i].order = 0;
}

/* Abort where the kernel would report "bad page state". */
void __free_page(struct page *page)
{
	if (!page->allocated || page->order || page->has_private)
		abort();
	page->allocated = false;
	memset(page_address(page), 0x6b, PAGE_SIZE);
	ASAN_POISON_MEMORY_REGION(page_address(page), PAGE_SIZE);
	shim.pages--;
}

/*
 * Mappings
 */

void *shim_reserve(size_t size)
{
	unsigned char *area = mmap(NULL, size + 2 * GUARD, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (area == MAP_FAILED)
		die("cannot reserve addresses");
	return area + GUARD;
}

void shim_unreserve(const void *address, size_t size)
{
	if (munmap((void *)address - GUARD, size + 2 * GUARD))
		die("cannot unmap");
}

void shim_map_pages(void *address, struct page **pages, unsigned int count, int prot)
{
	for (unsigned int i = 0, nr; i < count; i += nr) {
		for (nr = 1; i + nr < count && pages[i + nr] == pages[i] + nr; nr++)
			;
		if (mmap(address + ((size_t)i << PAGE_SHIFT), (size_t)nr << PAGE_SHIFT, prot,
			 MAP_SHARED | MAP_FIXED, memory_fd,
			 (off_t)(pages[i] - mem_map) << PAGE_SHIFT) == MAP_FAILED)
			die("cannot map pages");
	}
}

static struct mapping {
	void		*address;
	size_t		size;
	struct page	**pages;
} mappings[64];

static struct mapping *find_mapping(const void *address)
{
	struct mapping *m = mappings;

	while (address < m->address || address >= m->address + m->size)
		if (++m == mappings + ARRAY_SIZE(mappings))
			abort();
	return m;
}

struct page *vmalloc_to_page(const void *address)
{
	struct mapping *m = find_mapping(address);

	return m->pages[(address - m->address) >> PAGE_SHIFT];
}

void *vmap(struct page **pages, unsigned int count, unsigned long flags, int prot)
{
	struct mapping *m = mappings;

	if (allocation_fails())
		return NULL;
	while (m->address)
		if (++m == mappings + ARRAY_SIZE(mappings))
			abort();
	m->size = (size_t)count << PAGE_SHIFT;
	m->pages = malloc(count * sizeof(*pages));
	if (!m->pages)
		die("cannot allocate memory");
	memcpy(m->pages, pages, count * sizeof(*pages));
	m->address = shim_reserve(m->size);
	shim_map_pages(m->address, pages, count, PROT_READ | PROT_WRITE);
	/* As in the kernel, even if the pages are parts of huge ones. */
	madvise(m->address, m->size, MADV_NOHUGEPAGE);
	shim.mappings++;
	return m->address;
}

void vunmap(const void *address)
{
	struct mapping *m;

	if (!address)
		return;
	m = find_mapping(address);
	shim_unreserve(address, m->size);
	free(m->pages);
	*m = (struct mapping){};
	shim.mappings--;
}

void *vmalloc_user(unsigned long size)
{
	unsigned int nr = 0, count = size >> PAGE_SHIFT;
	struct page **pages = calloc(count, sizeof(*pages));
	void *address = NULL;

	if (!pages)
		die("cannot allocate memory");
	while (nr < count && !fatal_signal_pending(current) &&
	       (pages[nr] = alloc_pages_node(NUMA_NO_NODE, __GFP_ZERO, 0))) {
		cond_resched();
		nr++;
	}
	if (nr == count)
		address = vmap(pages, count, VM_MAP, PAGE_KERNEL);
	while (!address && nr)
		__free_page(pages[--nr]);
	free(pages);
	return address;
}

void vfree(const void *address)
{
	struct page **pages;
	unsigned int nr;

	if (!address)
		return;
	nr = find_mapping(address)->size >> PAGE_SHIFT;
	pages = malloc(nr * sizeof(*pages));
	if (!pages)
		die("cannot allocate memory");
	memcpy(pages, find_mapping(address)->pages, nr * sizeof(*pages));
	vunmap(address);
	while (nr) {
		__free_page(pages[--nr]);
		cond_resched();
	}
	free(pages);
}

/*
 * Objects
 */

void *shim_alloc(size_t size, unsigned int gfp, int node, size_t limit)
{
	void *object;

	if (allocation_fails() || WARN_ON_ONCE(size > limit && !(gfp & __GFP_NOWARN)) ||
	    size > limit)
		return NULL;
	object = malloc(size);
	if (!object)
		die("cannot allocate memory");
	memset(object, gfp & __GFP_ZERO ? 0 : 0xa5, size);
	shim.objects++;
	return object;
}

void kfree(const void *object)
{
	if (!object)
		return;
	shim.objects--;
	free((void *)object);
}

/*
 * Work
 */

static struct work_struct *work_list;

void schedule_work(struct work_struct *work)
{
	work->next = work_list;
	work_list = work;
}

int shim_run_work(void)
{
	int nr = 0;

	while (work_list) {
		struct work_struct *work = work_list;

		work_list = work->next;
		work->func(work);
		nr++;
	}
	return nr;
}

bool shim_balanced(void)
{
	return !shim.preempt && !shim.rcu && !shim.pagefault && !shim.objects && !shim.pages &&
	       !shim.mappings && !work_list;
}

/* hweight64() of tools/include calls it. */
unsigned long __sw_hweight64(u64 w);

unsigned long __sw_hweight64(u64 w)
{
	return __builtin_popcountll(w);
}
