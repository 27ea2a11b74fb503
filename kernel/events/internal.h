/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Define the perf ring buffer for the code in kernel/events/.
 *
 * The data area is a power-of-two number of pages, in one or more extents. The
 * addresses of an extent are contiguous. The first extent follows the last one:
 *
 *    | extent 0 | extent 1 | ... | extent n-1 |
 *          |<-- a record -->|
 *
 * An extent is a page, at its address in the kernel's direct mapping, which is
 * made of huge pages. Where data caches may alias (PERF_USE_VMALLOC), control
 * page and data area are one mapping, so that each page has the same cache
 * colour here and in user space, and the only extent is the whole area.
 *
 * A writer stores into [handle->addr, handle->end), which is within an extent,
 * and handle->rest bytes of the record follow in the next ones. Writing a field
 * is thus one comparison and one store. This comparison also keeps a writer
 * within its record. Only a field that does not fit takes the slow path, which
 * goes on in the next extent, or drops what exceeds the record.
 *
 * rb->head counts the bytes that were reserved, in either direction. A forward
 * ring is filled upward from offset 0 and publishes head as data_head. A
 * backward ring (write_backward) is filled downward from offset 0 and publishes
 * -head, so that its newest record begins at data_head.
 *
 * Writers are the events of one CPU, on that CPU, or the events of one task, on
 * the CPU where it runs. They write in any context, including NMI. Writers in
 * these contexts nest; they never run in parallel. Hence rb->head is a local_t,
 * and rb->nest counts the active writers. Readers are other processes on other
 * CPUs, which use mmap(). They can write anything to the control page
 * (rb->user_page). Writers only store to it, and load data_tail: an atomic
 * operation there could be starved by a thread that writes to the same word.
 *
 * In an overwrite ring, data_reserved tells readers how far writers may have
 * written. It has a word for each nesting depth: rb->nest - 1 at the time when
 * the writer begins. At each depth there is at most one writer at a time, in
 * whatever contexts the writers run: a writer that interrupts it has a larger
 * depth, or comes before it has incremented rb->nest and ends before it
 * continues. Hence rb->reserved[depth] is a plain counter, and the word in the
 * control page is a plain store of it. A word is advanced before rb->head, so
 * the sum of the words is never below rb->head, in whatever order writers nest.
 *
 * Barriers, kernel side and user side. Each site cites its label.
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
 *	overwrite ring (mapped read-only):
 *	STORE data_reserved[depth]		LOAD data_head
 *	smp_wmb()	   (E)			smp_rmb()	   (C)
 *	STORE data				LOAD data
 *	smp_wmb()	   (B)			smp_rmb()	   (F)
 *	STORE data_head				LOAD data_reserved[0..3]
 *
 *	E pairs with F: a reader that loads any byte of a record then loads
 *	words whose sum includes this record, and all records reserved before.
 *
 *	AUX area that is mapped while its event runs, both sides in the kernel:
 *	STORE the area's fields			INC aux_refcount, unless 0
 *	smp_wmb()	   (G)			smp_rmb()	   (H)
 *	STORE aux_refcount			LOAD the area's fields
 *
 *	G pairs with H: a driver finds the area completely set up, or no area.
 *
 *	AUX area that is mapped while another process maps or unmaps the ring:
 *	STORE the area's fields
 *	STORE-RELEASE aux_nr_pages (I)		LOAD-ACQUIRE aux_nr_pages (J)
 *						LOAD the area's fields
 *
 *	I pairs with J: rb_has_aux() tells that aux_pgoff is the area's.
 */
#ifndef _KERNEL_EVENTS_INTERNAL_H
#define _KERNEL_EVENTS_INTERNAL_H

#include <linux/hardirq.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include <linux/perf_event_trailer.h>
#include <linux/refcount.h>
#include <linux/sched/user.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

/* Flags of rb_alloc() and rb_alloc_aux(). */
#define RING_BUFFER_WRITABLE	0x01	/* mapped writable: respect data_tail */
#define RING_BUFFER_BACKWARD	0x02	/* write_backward */
#define RING_BUFFER_TRAILER	0x04	/* PERF_SAMPLE_SIZE_AT_END */

/* header.size is 16 bits wide, and record sizes are multiples of 8. */
#define PERF_RING_MAX_RECORD	round_down(U16_MAX, 8)

/* Nesting depths at which an overwrite ring accepts records. */
#define PERF_RING_DEPTHS \
	(sizeof_field(struct perf_event_mmap_page, data_reserved) / sizeof(__u64))

/**
 * struct perf_buffer - ring buffer: a data area and an optional AUX area
 *
 * Modified by writers on their CPU, in any context:
 * @head:	bytes reserved
 * @published:	value of @head when it was last published: all records below
 *		it are complete
 * @wakeup:	value of @head at the last wake-up, advances in steps of
 *		@watermark
 * @lost:	events lost since the last LOST record
 * @events:	samples since the last wake-up (attr.wakeup_events)
 * @nest:	number of active writers, nested ones included
 * @poll:	events that the next poll() returns
 * @reserved:	bytes reserved at each nesting depth, in overwrite rings; the
 *		words of data_reserved are copies
 *
 * Set up by rb_alloc(); constant except for @max_record:
 * @size:	size of the data area [bytes]
 * @max_record:	size of the longest record that the ring accepts [bytes]; 0 while
 *		the ring is paused: records are dropped and counted as lost
 * @watermark:	bytes between two wake-ups
 * @user_page:	the control page
 * @overwrite:	writers ignore data_tail
 * @backward:	records are written downward
 * @trailer:	each record ends with a struct perf_event_trailer
 * @nr_pages:	number of pages of the data area: a power of two, or 0
 * @pages:	addresses of the pages of the data area; NULL if the area is one
 *		extent, which follows the control page
 *
 * @refcount:	references of mappings and of active AUX writers
 * @rcu_head:	frees the ring after a grace period: writers disable preemption
 * @free_work:	unmaps and frees the ring from a context that may sleep
 *
 * Maintained by core.c; rb_alloc() sets @mmap_user to the current user and
 * @mmap_count to 1:
 * @event_list, @event_lock: the events that write to this ring
 * @mmap_user, @mmap_locked, @mmap_count: mappings of the data area and the
 *		memory accounting for them
 *
 * AUX area, see ring_buffer_aux.c:
 * @aux_mutex:	held while the AUX area is mapped, resized or freed
 * @aux_head:	where the driver writes next, modulo the size: a count of bytes;
 *		in overwrite mode an offset in the area or a count
 * @aux_written: bytes that drivers reported as new since the area was allocated
 * @aux_nest:	a driver is writing
 * @aux_wakeup:	the last multiple of @aux_watermark that @aux_head passed
 * @aux_watermark: bytes between two wake-ups
 * @aux_pgoff:	offset of the area in the mapped file [pages]
 * @aux_pages, @aux_nr_pages: addresses and number of the pages
 * @aux_overwrite: writers ignore aux_tail
 * @aux_mmap_count, @aux_mmap_locked: mappings of the area and the memory
 *		accounting for them
 * @aux_refcount: references of the mapping and of active writers
 * @aux_pmu:	the driver that set up the area: no other may write there
 * @aux_priv, @free_aux: data of the driver, and its function to free it
 * @aux_in_sampling, @aux_in_pause_resume: recursion guards of core.c
 *
 * The fields that each record needs come first, in two cache lines.
 */
struct perf_buffer {
	local_t				head;
	unsigned long			published;
	local_t				wakeup;
	local_t				lost;
	local_t				events;
	unsigned int			nest;
	atomic_t			poll;

	unsigned long			size;
	unsigned int			max_record;
	int				nr_pages;
	unsigned long			watermark;
	struct perf_event_mmap_page	*user_page;
	bool				overwrite;
	bool				backward;
	bool				trailer;
	unsigned long			reserved[PERF_RING_DEPTHS];
	void				**pages;

	refcount_t			refcount;
	struct rcu_head			rcu_head;
	struct work_struct		free_work;

	struct list_head		event_list;
	spinlock_t			event_lock;	/* of event_list */
	struct user_struct		*mmap_user;
	unsigned long			mmap_locked;
	refcount_t			mmap_count;

	struct mutex			aux_mutex;	/* map, resize, free */
	unsigned long			aux_head;
	u64				aux_written;
	unsigned int			aux_nest;
	unsigned long			aux_wakeup;
	unsigned long			aux_watermark;
	unsigned long			aux_pgoff;
	void				**aux_pages;
	int				aux_nr_pages;
	bool				aux_overwrite;
	refcount_t			aux_mmap_count;
	unsigned long			aux_mmap_locked;
	refcount_t			aux_refcount;
	struct pmu			*aux_pmu;
	void				*aux_priv;
	void				(*free_aux)(void *aux);
	int				aux_in_sampling;
	int				aux_in_pause_resume;
};

/**
 * rb_alloc - allocate a ring buffer
 * @nr_pages:	pages of data, a power of two; 0 to allocate only a control page
 * @watermark:	bytes after which readers are woken up; 0 for half of the ring
 * @cpu:	CPU that will write; memory is taken from its node; -1 for any
 * @flags:	RING_BUFFER_*
 *
 * Context: task, may sleep.
 *
 * Return: the ring buffer, or NULL if out of memory. The caller owns the only
 * reference and the only mapping, and drops the reference with
 * ring_buffer_put().
 */
struct perf_buffer *rb_alloc(int nr_pages, long watermark, int cpu, int flags);

/*
 * rb_free - free a ring buffer that has no references left
 *
 * Any context: a work item does what may sleep.
 */
void rb_free(struct perf_buffer *rb);

/*
 * ring_buffer_get - get the ring buffer that @event writes to
 *
 * Any context. Return: the ring buffer with a reference, or NULL.
 */
struct perf_buffer *ring_buffer_get(struct perf_event *event);
void ring_buffer_put(struct perf_buffer *rb);

/*
 * perf_mmap_to_page - get the page that is mapped at @pgoff of the file [pages]
 *
 * The caller holds rcu_read_lock(). Return: the page, or NULL.
 */
struct page *perf_mmap_to_page(struct perf_buffer *rb, unsigned long pgoff);

/* perf_output_wakeup - wake up the readers of @handle's ring; any context */
void perf_output_wakeup(struct perf_output_handle *handle);

/*
 * perf_output_split - write a field that does not fit before handle->end
 *
 * Go on in the next extents. Call @copy with increasing offsets in @buf.
 *
 * Return: number of bytes that were not written: what @copy left; all if the
 * field does not fit in the record, which is warned about.
 */
unsigned long perf_output_split(struct perf_output_handle *handle,
				perf_copy_f copy, const void *buf,
				unsigned long len);

/*
 * perf_plain_size - decide whether the samples of @event are plain
 *
 * See plain_sample.c. The result does not change while the event is open.
 *
 * Return: the size of a sample without raw data, but with its size [bytes]; 0 if
 * it is not plain.
 */
u16 perf_plain_size(struct perf_event *event);

/*
 * perf_output_plain - output a sample of @event, which has a plain_size
 * @misc:	header.misc
 * @ip, @period: any value if the event does not record it
 * @raw:	raw data; any value if the event does not record it
 * @raw_size:	size of raw data, 4 less than a multiple of 8 [bytes]; 4 bytes of
 *		0 if there is none, as in other samples
 *
 * Context: any, with interrupts disabled: @event cannot be removed. A lost
 * sample is counted.
 */
void perf_output_plain(struct perf_event *event, u16 misc, u64 ip, u64 period,
		       const void *raw, u32 raw_size);

/**
 * rb_alloc_aux - allocate the AUX area of a ring buffer that has none
 * @rb:		the ring buffer
 * @event:	event whose driver will write to the area
 * @pgoff:	offset of the area in the mapped file [pages]
 * @nr_pages:	size of the area [pages], see valid_aux_nr_pages()
 * @watermark:	bytes after which readers are woken up; 0 for half of the area
 * @flags:	RING_BUFFER_WRITABLE or 0
 *
 * Context: task, may sleep. The caller holds @rb->aux_mutex.
 *
 * Return: 0; -EOPNOTSUPP if the driver has no AUX data; -EINVAL if @nr_pages is
 * not positive; -ENOMEM if out of memory or if the driver rejects the area.
 */
int rb_alloc_aux(struct perf_buffer *rb, struct perf_event *event,
		 pgoff_t pgoff, int nr_pages, long watermark, int flags);

/*
 * rb_free_aux - drop a reference to the AUX area
 *
 * The last reference must be dropped in task context.
 */
void rb_free_aux(struct perf_buffer *rb);

/*
 * rb_aux_page - get the AUX page that is mapped at @pgoff of the file [pages]
 *
 * The caller has mapped the area: it cannot be freed meanwhile. Return: the
 * page, or NULL.
 */
struct page *rb_aux_page(struct perf_buffer *rb, unsigned long pgoff);

void perf_event_wakeup(struct perf_event *event);
void perf_event_aux_event(struct perf_event *event, unsigned long head,
			  unsigned long size, u64 flags);

static inline void rb_free_rcu(struct rcu_head *rcu_head)
{
	struct perf_buffer *rb = container_of(rcu_head, struct perf_buffer,
					      rcu_head);

	free_uid(rb->mmap_user);
	rb_free(rb);
}

/* A paused ring accepts no record. One without a data area stays paused. */
static inline void rb_toggle_paused(struct perf_buffer *rb, bool pause)
{
	WRITE_ONCE(rb->max_record, pause ? 0 :
		   min_t(unsigned long, rb->size, PERF_RING_MAX_RECORD));
}

static inline bool rb_has_aux(struct perf_buffer *rb)
{
	return smp_load_acquire(&rb->aux_nr_pages) != 0; /* J, pairs with I */
}

/* Tell whether @event's driver supports an AUX area of @nr_pages pages. */
static inline bool valid_aux_nr_pages(struct perf_event *event,
				      unsigned long nr_pages)
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
 * Write the fields of a reserved record at handle->addr. A field that does not
 * fit in the record is dropped, with a warning, and so are all later ones: no
 * writer can write to the next record. All functions return the number of bytes
 * that were not copied.
 */

/* Return the number of bytes that can be stored at handle->addr. */
static __always_inline unsigned long
output_room(struct perf_output_handle *handle)
{
	return handle->end - handle->addr;
}

/*
 * Tell whether @len bytes fit before handle->end.
 *
 * A constant length is short: its sum with an address does not wrap, and is
 * needed anyway, so the check is one comparison.
 */
static __always_inline bool output_fits(struct perf_output_handle *handle,
					unsigned long len)
{
	return likely(__builtin_constant_p(len) ?
		      handle->addr + len <= handle->end :
		      len <= output_room(handle));
}

static inline unsigned long output_copy_part(void *dst, const void *buf,
					     unsigned long off,
					     unsigned long len)
{
	memcpy(dst, buf + off, len);
	return 0;
}

static __always_inline unsigned long
__output_copy(struct perf_output_handle *handle, const void *buf,
	      unsigned long len)
{
	void *addr = handle->addr;

	if (!output_fits(handle, len))
		return perf_output_split(handle, output_copy_part, buf, len);
	memcpy(addr, buf, len);
	/*
	 * Do not use +=: to the compiler, memcpy() may have changed
	 * handle->addr, and += would load it again.
	 */
	handle->addr = addr + len;
	return 0;
}

static inline unsigned long output_skip_part(void *dst, const void *buf,
					     unsigned long off,
					     unsigned long len)
{
	return 0;
}

static inline unsigned long
__output_skip(struct perf_output_handle *handle, const void *buf,
	      unsigned long len)
{
	if (!output_fits(handle, len))
		return perf_output_split(handle, output_skip_part, buf, len);
	handle->addr += len;
	return 0;
}

static inline unsigned long
__output_custom(struct perf_output_handle *handle, perf_copy_f copy_func,
		const void *buf, unsigned long len)
{
	unsigned long left;

	if (!output_fits(handle, len))
		return perf_output_split(handle, copy_func, buf, len);
	left = copy_func(handle->addr, buf, 0, len);
	handle->addr += len - left;
	return left;
}

#ifndef arch_perf_out_copy_user
static inline unsigned long
arch_perf_out_copy_user(void *dst, const void __user *src, unsigned long n)
{
	unsigned long left;

	pagefault_disable();
	left = __copy_from_user_inatomic(dst, src, n);
	pagefault_enable();
	return left;
}
#endif

static inline unsigned long output_copy_user_part(void *dst, const void *buf,
						  unsigned long off,
						  unsigned long len)
{
	const void __user *from = (__force const void __user *)buf;

	return arch_perf_out_copy_user(dst, from + off, len);
}

static inline unsigned long
__output_copy_user(struct perf_output_handle *handle, const void *buf,
		   unsigned long len)
{
	return __output_custom(handle, output_copy_user_part, buf, len);
}

/*
 * Inline perf_output_put() in kernel/events/: a field of known size is one
 * store. Elsewhere it is a call.
 */
#undef perf_output_put
#define perf_output_put(handle, x) __output_copy((handle), &(x), sizeof(x))

/*
 * Recursion guard: drop an event that is caused by writing another event in the
 * same context.
 */

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
