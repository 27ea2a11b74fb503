/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring that perf events are written to, for those inside kernel/events/.
 *
 * The data area is a power of two of pages, mapped twice in a row:
 *
 *      rb->data                rb->data + size          rb->data + 2 * size
 *         |                        |                        |
 *         v                        v                        v
 *         | page 0 | ... | page n-1 | page 0 | ... | page n-1 |
 *                           |<-- a record -->|
 *
 * A record that passes the end of the area goes on in the second mapping, which is the begin of the
 * first: it is contiguous, so a field costs a store and no one looks for page or wrap boundaries.
 *
 * rb->head counts the bytes for which room was taken, whatever the direction. A forward ring is
 * filled upward from offset 0 and publishes head as data_head; a backward one (write_backward)
 * downward from offset 0, and publishes -head, so that its newest record begins at data_head.
 *
 * Who may write: events of one CPU on that CPU, or of one task wherever it runs, in any context
 * including NMI. Those contexts nest, they do not run in parallel: rb->head is a local_t, rb->nest
 * counts the writers that are under way. Readers are other processes on other CPUs, through mmap();
 * the control page (rb->user_page) is theirs to scribble over.
 *
 * Barriers, kernel side and user side. Every site names its label.
 *
 *	kernel					user
 *
 *	streaming ring (mapped writable):
 *	if (LOAD data_tail) {			LOAD data_head
 *			   (A)			smp_rmb()	   (C)
 *	   STORE data				LOAD data
 *	   smp_wmb()	   (B)			smp_mb()	   (D)
 *	   STORE data_head			STORE data_tail
 *	}
 *	A pairs with D: a control dependency. B pairs with C.
 *
 *	ring that overwrites itself (mapped read-only):
 *	ADD data_reserved			LOAD data_head
 *	smp_wmb()	   (E)			smp_rmb()	   (C)
 *	STORE data				LOAD data
 *	smp_wmb()	   (B)			smp_rmb()	   (F)
 *	STORE data_head				LOAD data_reserved
 *
 *	E pairs with F: who saw anything of a record sees it counted in data_reserved.
 *
 *	AUX area that is mapped while its event runs, both sides in the kernel:
 *	STORE the area's fields			INC aux_refcount, unless 0
 *	smp_wmb()	   (G)			smp_rmb()	   (H)
 *	STORE aux_refcount			LOAD the area's fields
 *
 *	G pairs with H: a driver finds all of an area, or none.
 */
#ifndef _KERNEL_EVENTS_INTERNAL_H
#define _KERNEL_EVENTS_INTERNAL_H

#include <linux/hardirq.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include <linux/perf_event_trailer.h>
#include <linux/refcount.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

/* Kconfig says so where it is asked; "select PERF_EVENTS" does not ask. */
#ifdef CONFIG_PERF_USE_VMALLOC
#error "No perf events here: a ring that is mapped twice would alias in the data cache"
#endif

/* Flags of rb_alloc() and rb_alloc_aux(). */
#define RING_BUFFER_WRITABLE	0x01	/* mapped writable: data_tail is respected */
#define RING_BUFFER_BACKWARD	0x02	/* events have write_backward */
#define RING_BUFFER_TRAILER	0x04	/* events have PERF_SAMPLE_SIZE_AT_END */

/**
 * struct perf_buffer - a data area, and perhaps an AUX area, that events write to
 *
 * Written by writers, on their CPU, in any context:
 * @head:	bytes for which room was taken
 * @published:	head when it was last published: no room below is being written to
 * @wakeup:	head at the last wake-up that was due, in steps of @watermark
 * @lost:	events that found no room since the last LOST record
 * @events:	samples since the last wake-up (attr.wakeup_events)
 * @nest:	writers under way
 * @poll:	what poll() is to return
 *
 * Set up by rb_alloc() and constant, but for @paused:
 * @data:	the mirrored data area, or NULL if there is none
 * @size:	length of the data area [bytes]
 * @max_record:	length of the longest record that it takes [bytes]
 * @watermark:	bytes after which readers are woken up
 * @user_page:	the control page
 * @overwrite:	data_tail does not matter
 * @backward:	filled downward
 * @trailer:	records end with a struct perf_event_trailer
 * @paused:	nothing may be written
 * @nr_pages:	number of pages of the data area, a power of two, or 0
 * @pages:	those pages, once
 *
 * @refcount:	mappings, and AUX writers that are under way
 * @rcu_head:	frees it after a grace period: writers disable preemption
 * @free_work:	takes the mapping down, which may sleep
 *
 * Kept by core.c:
 * @event_list, @event_lock: the events that write here
 * @mmap_user, @mmap_locked, @mmap_count: mappings of the data area, and what they are charged to
 *
 * The AUX area, see ring_buffer_aux.c:
 * @aux_mutex:	held while it is mapped, resized or given up
 * @aux_head:	where the driver goes on; an offset in the area in overwrite mode
 * @aux_written: bytes that drivers called new since the area was allocated
 * @aux_counted: they can tell what is new (PERF_PMU_CAP_AUX_WRITTEN)
 * @aux_nest:	a driver is writing
 * @aux_wakeup:	the last multiple of @aux_watermark that @aux_head went past
 * @aux_watermark: bytes after which readers are woken up
 * @aux_pgoff:	its offset in the file that is mapped [pages]
 * @aux_pages, @aux_nr_pages: the pages, each mapped by itself
 * @aux_overwrite: aux_tail does not matter
 * @aux_mmap_count, @aux_mmap_locked: mappings of it
 * @aux_refcount: mapping, and writers that are under way
 * @aux_priv, @free_aux: the driver's, and how to be rid of it
 * @aux_in_sampling, @aux_in_pause_resume: core.c's guards against recursion
 *
 * What each record needs comes first, in two cache lines.
 */
struct perf_buffer {
	local_t				head;
	unsigned long			published;
	local_t				wakeup;
	local_t				lost;
	local_t				events;
	unsigned int			nest;
	atomic_t			poll;

	void				*data;
	unsigned long			size;
	unsigned int			max_record;
	int				nr_pages;
	unsigned long			watermark;
	struct perf_event_mmap_page	*user_page;
	bool				overwrite;
	bool				backward;
	bool				trailer;
	bool				paused;
	struct page			**pages;

	refcount_t			refcount;
	struct rcu_head			rcu_head;
	struct work_struct		free_work;

	struct list_head		event_list;
	spinlock_t			event_lock;	/* of event_list */
	struct user_struct		*mmap_user;
	unsigned long			mmap_locked;
	atomic_t			mmap_count;

	struct mutex			aux_mutex;	/* begin and end of the AUX area */
	unsigned long			aux_head;
	u64				aux_written;
	unsigned int			aux_nest;
	unsigned long			aux_wakeup;
	unsigned long			aux_watermark;
	unsigned long			aux_pgoff;
	void				**aux_pages;
	int				aux_nr_pages;
	bool				aux_overwrite;
	bool				aux_counted;
	atomic_t			aux_mmap_count;
	unsigned long			aux_mmap_locked;
	refcount_t			aux_refcount;
	void				*aux_priv;
	void				(*free_aux)(void *aux);
	int				aux_in_sampling;
	int				aux_in_pause_resume;
};

/**
 * rb_alloc - allocate a ring
 * @nr_pages:	pages of data, a power of two; 0 for a control page alone
 * @watermark:	wake up readers after so many bytes; 0 for half of the ring
 * @cpu:	the CPU that will write, whose node the memory is taken from; -1 for any
 * @flags:	RING_BUFFER_*
 *
 * Task context, may sleep. The caller owns the one reference and gives it up with
 * ring_buffer_put().
 *
 * Return: the ring, or NULL without memory.
 */
struct perf_buffer *rb_alloc(int nr_pages, long watermark, int cpu, int flags);

/* rb_free - free a ring that nobody can find any more; any context, sleeps elsewhere */
void rb_free(struct perf_buffer *rb);

/* ring_buffer_get - the ring that @event writes to, with a reference, or NULL; any context */
struct perf_buffer *ring_buffer_get(struct perf_event *event);
void ring_buffer_put(struct perf_buffer *rb);

/* perf_mmap_to_page - what is mapped at page @pgoff of the file, or NULL; under rcu_read_lock() */
struct page *perf_mmap_to_page(struct perf_buffer *rb, unsigned long pgoff);

/* perf_output_wakeup - have the readers of @handle's ring woken up; any context */
void perf_output_wakeup(struct perf_output_handle *handle);

/**
 * rb_alloc_aux - allocate the AUX area of a ring that has none
 * @event:	whose driver is to write there
 * @pgoff:	where it is mapped in the file [pages]
 * @nr_pages:	its length [pages], see takes_aux_pages()
 * @watermark:	wake up readers after so many bytes; 0 for half of it
 * @flags:	RING_BUFFER_WRITABLE or not
 *
 * Task context, under @rb->aux_mutex.
 *
 * Return: 0, -EOPNOTSUPP if the driver has no AUX data, -EINVAL, or -ENOMEM.
 */
int rb_alloc_aux(struct perf_buffer *rb, struct perf_event *event, pgoff_t pgoff, int nr_pages,
		 long watermark, int flags);

/* rb_free_aux - give up a reference to the AUX area; the last one in task context */
void rb_free_aux(struct perf_buffer *rb);

void perf_event_wakeup(struct perf_event *event);
void perf_event_aux_event(struct perf_event *event, unsigned long head, unsigned long size,
			  u64 flags);

static inline void rb_free_rcu(struct rcu_head *rcu_head)
{
	rb_free(container_of(rcu_head, struct perf_buffer, rcu_head));
}

/* A ring without data stays paused. */
static inline void rb_toggle_paused(struct perf_buffer *rb, bool pause)
{
	WRITE_ONCE(rb->paused, pause || !rb->nr_pages);
}

static inline bool rb_has_aux(struct perf_buffer *rb)
{
	return rb->aux_nr_pages != 0;
}

/* Whether @event's driver takes an AUX area of so many pages. */
static inline bool takes_aux_pages(struct perf_event *event, unsigned long nr_pages)
{
	if (is_power_of_2(nr_pages))
		return true;
	return IS_ENABLED(CONFIG_64BIT) && nr_pages &&
	       (event->pmu->capabilities & PERF_PMU_CAP_AUX_ANY_SIZE);
}

static inline bool has_size_at_end(struct perf_event *event)
{
	return event->attr.sample_type & PERF_SAMPLE_SIZE_AT_END;
}

static inline int data_page_nr(struct perf_buffer *rb)
{
	return rb->nr_pages;
}

static inline unsigned long perf_data_size(struct perf_buffer *rb)
{
	return rb->size;
}

static inline unsigned long perf_aux_size(struct perf_buffer *rb)
{
	return (unsigned long)rb->aux_nr_pages << PAGE_SHIFT;
}

/*
 * Writing the fields of a record whose room was taken: handle->addr is where the next one goes.
 * All return the number of bytes that could not be copied.
 */

static __always_inline unsigned long __output_copy(struct perf_output_handle *handle,
						   const void *buf, unsigned long len)
{
	void *addr = handle->addr;

	memcpy(addr, buf, len);
	/* Not +=, which would read it again: it might have been copied over. */
	handle->addr = addr + len;
	return 0;
}

static inline unsigned long __output_skip(struct perf_output_handle *handle, const void *buf,
					  unsigned long len)
{
	handle->addr += len;
	return 0;
}

/* @copy_func gets the offset in @buf to start from, here always 0. */
static inline unsigned long __output_custom(struct perf_output_handle *handle,
					    perf_copy_f copy_func, const void *buf,
					    unsigned long len)
{
	unsigned long left = copy_func(handle->addr, buf, 0, len);

	handle->addr += len - left;
	return left;
}

#ifndef arch_perf_out_copy_user
static inline unsigned long arch_perf_out_copy_user(void *dst, const void __user *src,
						    unsigned long n)
{
	unsigned long left;

	pagefault_disable();
	left = __copy_from_user_inatomic(dst, src, n);
	pagefault_enable();
	return left;
}
#endif

static inline unsigned long __output_copy_user(struct perf_output_handle *handle, const void *buf,
					       unsigned long len)
{
	const void __user *from = (__force const void __user *)buf;
	unsigned long left = arch_perf_out_copy_user(handle->addr, from, len);

	handle->addr += len - left;
	return left;
}

/* A field of known size is one store here, and a call elsewhere. */
#undef perf_output_put
#define perf_output_put(handle, x) __output_copy((handle), &(x), sizeof(x))

/* Events that are caused by the writing of an event, in the same context, are dropped. */

static inline int get_recursion_context(u8 *recursion)
{
	unsigned char level = interrupt_context_level();

	if (recursion[level])
		return -1;
	recursion[level]++;
	barrier();
	return level;
}

static inline void put_recursion_context(u8 *recursion, unsigned char level)
{
	barrier();
	recursion[level]--;
}

static inline bool arch_perf_have_user_stack_dump(void)
{
	return IS_ENABLED(CONFIG_HAVE_PERF_USER_STACK_DUMP);
}

#ifdef CONFIG_HAVE_PERF_USER_STACK_DUMP
#define perf_user_stack_pointer(regs)	user_stack_pointer(regs)
#else
#define perf_user_stack_pointer(regs)	((void)(regs), 0)
#endif

#endif /* _KERNEL_EVENTS_INTERNAL_H */
