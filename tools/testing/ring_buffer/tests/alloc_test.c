// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test allocating the kernel's ring buffer while each of its allocations fails in turn.
 * tags: fast parallel
 */
#include <stdlib.h>

#include <linux/perf_event.h>
#include "internal.h"

#include "shim/ring.h"
#include "shim/expect.h"

static void free_rb(struct perf_buffer *rb)
{
	rb_free(rb);
	shim_run_work();
}

static unsigned long allocations_of(int nr_pages, int flags)
{
	unsigned long before = shim.allocations;
	struct perf_buffer *rb = rb_alloc(nr_pages, 0, -1, flags);

	EXPECT(rb);
	free_rb(rb);
	return shim.allocations - before;
}

static void test_rb_alloc(void)
{
	static const int sizes[] = { 0, 1, 2, 64 };

	for (unsigned int s = 0; s < ARRAY_SIZE(sizes); s++) {
		for (int flags = 0; flags < 8; flags++) {
			int nr_pages = sizes[s];
			unsigned long nr = allocations_of(nr_pages, flags);

#ifdef CONFIG_PERF_USE_VMALLOC
			/* perf_buffer, and a mapping of the control page and nr_pages. */
			EXPECT(nr == 3 + nr_pages);
#else
			/* perf_buffer and control page; page array and pages. */
			EXPECT(nr == 2 + (nr_pages ? 1 + nr_pages : 0));
#endif
			for (unsigned long i = 1; i <= nr; i++) {
				shim.fail_at = shim.allocations + i;
				EXPECT(!rb_alloc(nr_pages, 0, i % 2 ? -1 : 0, flags));
				EXPECT(shim_balanced());
			}
			shim.fail_at = 0;
		}
	}
}

/* The loops over the pages of a ring can be rescheduled, and allocating them can be killed. */
static void test_rb_alloc_killed(void)
{
	unsigned long reschedules = shim.reschedules;
	struct perf_buffer *rb = rb_alloc(64, 0, -1, 0);

	EXPECT(rb && shim.reschedules - reschedules >= 64);
	reschedules = shim.reschedules;
	rb_free(rb);
	shim_run_work();
	EXPECT(shim.reschedules - reschedules >= 64);

	shim.kill_at = shim.allocations + 10;
	EXPECT(!rb_alloc(64, 0, -1, 0));
	EXPECT(shim.allocations == shim.kill_at);
	shim.kill_at = 0;
}

/* A mapping of a 32-bit process has fewer pages than that: perf_mmap() asks for no more. */
#define MAX_MAPPED	min_t(u64, INT_MAX, (ULONG_MAX >> PAGE_SHIFT) / 2)

static void test_rb_alloc_too_large(void)
{
	EXPECT(!rb_alloc(MAX_MAPPED, 0, -1, 0));
	for (int shift = 30; shift >= 28; shift--) {
		int nr_pages = 1 << shift;

		if (nr_pages > MAX_MAPPED)
			continue;
		EXPECT(!rb_alloc(nr_pages, 0, -1, 0));
		EXPECT(!rb_alloc(nr_pages, 0, -1, RING_BUFFER_WRITABLE));
		EXPECT(!rb_alloc(nr_pages, 0, -1, RING_BUFFER_TRAILER));
	}
}

/*
 * AUX
 */

static struct {
	bool	refuse;
	int	setups, frees;
} driver;

/* The ring whose AUX area is being allocated: one data page, the area at page 2. */
static struct perf_buffer *allocating;
static struct page *mapped[2];		/* its control page and its data page */

/*
 * Fault as another process that has mapped the ring: the control page and the data page are
 * served, and nothing of an area that is not complete.
 */
static void expect_no_aux_mapped(void)
{
	EXPECT(!rb_has_aux(allocating));
	EXPECT(perf_mmap_to_page(allocating, 0) == mapped[0]);
	EXPECT(perf_mmap_to_page(allocating, 1) == mapped[1]);
	EXPECT(!perf_mmap_to_page(allocating, 2));
}

static int alloc_aux(struct perf_buffer *rb, struct perf_event *event, int nr_pages,
		     long watermark, int flags)
{
	int err;

	allocating = rb;
	for (int i = 0; i < 2; i++)
		mapped[i] = perf_mmap_to_page(rb, i);
	shim.on_allocation = expect_no_aux_mapped;
	err = rb_alloc_aux(rb, event, 2, nr_pages, watermark, flags);
	shim.on_allocation = NULL;
	return err;
}

static void *setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	expect_no_aux_mapped();
	driver.setups++;
	for (int i = 0; i < nr_pages; i++)	/* check that all are writable */
		memset(pages[i], i, PAGE_SIZE);
	return driver.refuse ? NULL : &driver;
}

static void free_driver(void *aux)
{
	EXPECT(aux == &driver);
	driver.frees++;
}

static struct perf_event *aux_event(int capabilities)
{
	static struct pmu pmu;
	static struct perf_event event;

	pmu = (struct pmu){
		.capabilities = capabilities, .setup_aux = setup_aux, .free_aux = free_driver,
	};
	event = (struct perf_event){ .pmu = &pmu, .cpu = -1 };
	memset(&driver, 0, sizeof(driver));
	return &event;
}

static const int capabilities[] = {
	0, PERF_PMU_CAP_AUX_NO_SG, PERF_PMU_CAP_AUX_PREFER_LARGE,
};

/* Whether the ring has no AUX area, nor anything left of one. */
static bool has_none(struct perf_buffer *rb)
{
	return !rb_has_aux(rb) && !rb->aux_pages && !rb->aux_priv;
}

/* Whether the AUX pages are physically contiguous. */
static bool is_contiguous(struct perf_buffer *rb)
{
	for (int i = 1; i < rb->aux_nr_pages; i++)
		if (rb->aux_pages[i] != rb->aux_pages[0] + i * PAGE_SIZE)
			return false;
	return true;
}

/* Store the lengths [pages] of the AUX allocations of @rb, and return their number. */
static int runs_of(struct perf_buffer *rb, int *lengths)
{
	int nr = 0;

	for (int i = 0; i < rb->aux_nr_pages; i += lengths[nr++]) {
		struct page *page = virt_to_page(rb->aux_pages[i]);

		lengths[nr] = PagePrivate(page) ? 1 << page_private(page) : 1;
		for (int j = 1; j < lengths[nr]; j++) {
			EXPECT(rb->aux_pages[i + j] == rb->aux_pages[i] + j * PAGE_SIZE);
			EXPECT(!PagePrivate(virt_to_page(rb->aux_pages[i + j])));
		}
	}
	return nr;
}

static void test_aux_fails(void)
{
	for (unsigned int c = 0; c < ARRAY_SIZE(capabilities); c++) {
		for (int nr_pages = 1; nr_pages <= 33; nr_pages++) {
			for (int flags = 0; flags < 2; flags++) {
				struct perf_event *event = aux_event(capabilities[c]);
				struct perf_buffer *rb = rb_alloc(1, 0, -1, flags);
				long held = shim.pages, objects = shim.objects;
				bool contiguous = !flags &&
					       capabilities[c] == PERF_PMU_CAP_AUX_NO_SG;
				unsigned long before = shim.allocations, nr;
				int err = alloc_aux(rb, event, nr_pages, 0, flags);

				EXPECT(!err && driver.setups == 1);
				EXPECT(shim.pages == held + nr_pages);
				EXPECT(rb->aux_nr_pages == nr_pages && rb->aux_pgoff == 2);
				EXPECT(!contiguous || is_contiguous(rb));
				EXPECT(rb->aux_overwrite == !flags);
				EXPECT(refcount_read(&rb->aux_refcount) == 1);
				nr = shim.allocations - before;
				rb_free_aux(rb);
				EXPECT(driver.frees == 1 && has_none(rb));
				EXPECT(shim.pages == held && shim.objects == objects);

				/*
				 * Where a high order fails, lower ones replace it, unless
				 * the area has to be contiguous.
				 */
				for (unsigned long i = 1; i <= nr; i++) {
					int setups = driver.setups, frees = driver.frees;

					shim.fail_at = shim.allocations + i;
					err = alloc_aux(rb, event, nr_pages, 0, flags);
					EXPECT(!err || err == -ENOMEM);
					if (i == 1 || contiguous || nr_pages == 1 ||
					    !capabilities[c])
						EXPECT(err == -ENOMEM);
					if (!err)
						rb_free_aux(rb);
					EXPECT(driver.setups - setups == !err);
					EXPECT(driver.frees - frees == !err);
					EXPECT(has_none(rb));
					EXPECT(shim.pages == held && shim.objects == objects);
				}
				shim.fail_at = 0;
				free_rb(rb);
			}
		}
	}
}

static void test_aux_runs(void)
{
	/* @fail_order: allocations from this order on fail; @runs: expected lengths [pages] */
	static const struct {
		int cap, overwrite, nr_pages;
		long watermark;
		int fail_order, runs[17];
	} cases[] = {
		{ 0, 0, 4, 0, 0, { 1, 1, 1, 1 } },
		{ 0, 1, 4, 0, 0, { 1, 1, 1, 1 } },
		{ 1, 0, 16, 0, 0, { 8, 8 } },
		{ 2, 0, 16, 0, 0, { 8, 8 } },
		{ 1, 1, 16, 0, 0, { 16 } },
		{ 2, 1, 16, 0, 0, { 16 } },
		{ 2, 1, 16, 0, 3, { 4, 4, 4, 4 } },
		{ 2, 0, 16, 0, 2, { 2, 2, 2, 2, 2, 2, 2, 2 } },
		{ 2, 0, 8, 0, 1, { 1, 1, 1, 1, 1, 1, 1, 1 } },
		{ 2, 0, 16, 4096, 0, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
		{ 2, 0, 16, 5000, 0, { 2, 2, 2, 2, 2, 2, 2, 2 } },
		{ 1, 0, 16, 1 << 20, 0, { 16 } },
		{ 2, 1, 4096, 0, 0, { 1024, 1024, 1024, 1024 } },
		{ 1, 1, 1, 0, 0, { 1 } },
		{ 0, 1, 3, 0, 0, { 1, 1, 1 } },
		{ 1, 0, 3, 0, 0, { 2, 1 } },
		{ 1, 1, 3, 0, 0, { 2, 1 } },
		{ 2, 0, 5, 0, 0, { 4, 1 } },
		{ 2, 0, 7, 4096, 0, { 1, 1, 1, 1, 1, 1, 1 } },
		{ 2, 1, 7, 0, 2, { 2, 2, 2, 1 } },
		{ 1, 1, 1000, 0, 0, { 512, 256, 128, 64, 32, 8 } },
		{ 2, 0, 1000, 0, 0, { 512, 256, 128, 64, 32, 8 } },
		{ 2, 1, 3001, 0, 0, { 1024, 1024, 512, 256, 128, 32, 16, 8, 1 } },
	};

	for (unsigned int c = 0; c < ARRAY_SIZE(cases); c++) {
		struct perf_event *event = aux_event(capabilities[cases[c].cap]);
		struct perf_buffer *rb = rb_alloc(1, 0, -1, 0);
		int lengths[4096], nr;

		shim.fail_order = cases[c].fail_order;
		if (EXPECT(!alloc_aux(rb, event, cases[c].nr_pages, cases[c].watermark,
				      cases[c].overwrite ? 0 : RING_BUFFER_WRITABLE))) {
			nr = runs_of(rb, lengths);
			EXPECT(cases[c].cap != 1 || !cases[c].overwrite || is_contiguous(rb));
			for (int i = 0; i < nr && i < 16; i++)
				EXPECT(lengths[i] == cases[c].runs[i]);
			EXPECT(nr >= 16 || !cases[c].runs[nr]);
			rb_free_aux(rb);
		}
		shim.fail_order = 0;
		free_rb(rb);
	}
}

static void test_aux_refused(void)
{
	struct perf_event *event = aux_event(PERF_PMU_CAP_AUX_NO_SG);
	struct perf_buffer *rb = rb_alloc(1, 0, -1, 0);

	/* The area must be contiguous, and no allocation of that order succeeds. */
	shim.fail_order = 2;
	EXPECT(alloc_aux(rb, event, 4, 0, 0) == -ENOMEM);
	EXPECT(alloc_aux(rb, event, 3, 0, 0) == -ENOMEM);
	EXPECT(has_none(rb) && !driver.setups && !driver.frees);
	shim.fail_order = 0;
	EXPECT(alloc_aux(rb, event, 4096, 0, 0) == -ENOMEM);
	EXPECT(alloc_aux(rb, event, 1025, 0, 0) == -ENOMEM);

	driver.refuse = true;
	EXPECT(alloc_aux(rb, event, 4, 0, 0) == -ENOMEM);
	EXPECT(has_none(rb) && driver.setups == 1 && !driver.frees);
	driver.refuse = false;
	EXPECT(alloc_aux(rb, event, 0, 0, 0) == -EINVAL);
	EXPECT(alloc_aux(rb, event, -1, 0, 0) == -EINVAL);
	EXPECT(alloc_aux(rb, event, 1 << 18, 0, 0) == -ENOMEM);
	EXPECT(alloc_aux(rb, event, MAX_MAPPED, 0, 0) == -ENOMEM);
	event->pmu->setup_aux = NULL;
	EXPECT(alloc_aux(rb, event, 4, 0, 0) == -EOPNOTSUPP);
	EXPECT(has_none(rb));
	free_rb(rb);
}

int main(void)
{
	TAP_RUN(test_rb_alloc, "rb_alloc() with each allocation failing");
	TAP_RUN(test_rb_alloc_killed, "fatal signal during rb_alloc()");
	TAP_RUN(test_rb_alloc_too_large, "rb_alloc() of impossible sizes");
	TAP_RUN(test_aux_fails, "rb_alloc_aux() with each allocation failing");
	TAP_RUN(test_aux_runs, "orders of the AUX pages");
	TAP_RUN(test_aux_refused, "errors of rb_alloc_aux()");
	return tap_end();
}
