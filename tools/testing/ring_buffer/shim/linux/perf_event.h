/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Define the fields of events and PMUs that the ring buffer uses. The ABI is included from the
 * tree; struct perf_output_handle is extracted from include/linux/perf_event.h by the Makefile.
 */
#ifndef SHIM_LINUX_PERF_EVENT_H
#define SHIM_LINUX_PERF_EVENT_H

#include <asm/barrier.h>
#include <asm/local.h>
#include <linux/hardirq.h>
#include <linux/irq_work.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sched/user.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <uapi/linux/perf_event.h>

#define PERF_PMU_CAP_AUX_NO_SG		0x0004
#define PERF_PMU_CAP_AUX_PREFER_LARGE	0x0400
#define PERF_PMU_CAP_AUX_WRITTEN	0x0800
#define PERF_PMU_CAP_AUX_ANY_SIZE	0x1000

struct rcu_head { int unused; };
struct perf_buffer;
struct fasync_struct;
struct perf_event;

struct perf_sample_data;
struct pid_namespace;
struct pt_regs;

typedef void (*perf_overflow_handler_t)(struct perf_event *event, struct perf_sample_data *data,
					struct pt_regs *regs);

struct pmu {
	int	capabilities;
	void	*(*setup_aux)(struct perf_event *event, void **pages, int nr_pages, bool overwrite);
	void	(*free_aux)(void *aux);
};

struct perf_event {
	struct perf_event_attr	attr;
	struct perf_event	*parent;
	struct perf_buffer	*rb;
	struct pmu		*pmu;
	u64			id;
	u16			id_header_size;
	u16			plain_size;
	u64			(*clock)(void);
	struct pid_namespace	*ns;
	perf_overflow_handler_t	overflow_handler;
	int			cpu;
	atomic64_t		lost_samples;
	unsigned int		pending_wakeup;
	unsigned int		pending_kill;
	unsigned int		pending_disable;
	struct irq_work		pending_irq;
	struct irq_work		pending_disable_irq;
	struct fasync_struct	*fasync;
};

/* Raw data of one fragment, which is copied by memcpy(). */
struct perf_raw_record {
	struct {
		void		*data;
		u32		size;
	}			frag;
	u32			size;
};

/*
 * The sample id at the end of a side-band record consists of id_header_size bytes of @id_fill. The
 * other members are for samples.
 */
struct perf_sample_data {
	unsigned char		id_fill;
	u64			sample_flags;
	u64			type;
	u64			id;
	u64			stream_id;
	u64			ip;
	u64			time;
	u64			period;
	struct { u32 pid, tid; } tid_entry;
	struct { u32 cpu, reserved; } cpu_entry;
	struct perf_raw_record	*raw;
};

typedef unsigned long (*perf_copy_f)(void *dst, const void *src, unsigned long off,
				     unsigned long len);

#include "perf_output_handle.h"

int perf_output_begin(struct perf_output_handle *handle, struct perf_sample_data *data,
		      struct perf_event *event, unsigned int size);
int perf_output_begin_forward(struct perf_output_handle *handle, struct perf_sample_data *data,
			      struct perf_event *event, unsigned int size);
int perf_output_begin_backward(struct perf_output_handle *handle, struct perf_sample_data *data,
			       struct perf_event *event, unsigned int size);
void perf_output_end(struct perf_output_handle *handle);
unsigned int perf_output_copy(struct perf_output_handle *handle, const void *buf,
			      unsigned int len);
unsigned int perf_output_skip(struct perf_output_handle *handle, unsigned int len);
#define perf_output_put(handle, x) perf_output_copy((handle), &(x), sizeof(x))

void *perf_aux_output_begin(struct perf_output_handle *handle, struct perf_event *event);
void perf_aux_output_end(struct perf_output_handle *handle, unsigned long size);
int perf_aux_output_skip(struct perf_output_handle *handle, unsigned long size);
void perf_aux_output_flag(struct perf_output_handle *handle, u64 flags);
void *perf_get_aux(struct perf_output_handle *handle);
long perf_output_copy_aux(struct perf_output_handle *aux_handle, struct perf_output_handle *handle,
			  unsigned long from, unsigned long to);

/* Functions of core.c, implemented in ring_impl.c. */
void perf_event_header__init(struct perf_event_header *header, struct perf_sample_data *data,
			     int type, int misc, size_t size, struct perf_event *event);
void perf_event__output_id_sample(struct perf_event *event, struct perf_output_handle *handle,
				  struct perf_sample_data *sample);
void perf_output_sample(struct perf_output_handle *handle, struct perf_event_header *header,
			struct perf_sample_data *data, struct perf_event *event);
void perf_event_output_forward(struct perf_event *event, struct perf_sample_data *data,
			       struct pt_regs *regs);
void perf_event_output_backward(struct perf_event *event, struct perf_sample_data *data,
				struct pt_regs *regs);

static inline bool is_sampling_event(struct perf_event *event)
{
	return event->attr.sample_period != 0;
}

static inline bool is_default_overflow_handler(struct perf_event *event)
{
	return event->overflow_handler == perf_event_output_forward ||
	       event->overflow_handler == perf_event_output_backward;
}

static inline void perf_event_disable_inatomic(struct perf_event *event)
{
	event->pending_disable = 1;
	irq_work_queue(&event->pending_disable_irq);
}

static inline bool has_aux(struct perf_event *event)
{
	return event->pmu && event->pmu->setup_aux;
}

static inline bool is_write_backward(struct perf_event *event)
{
	return event->attr.write_backward;
}

static inline struct fasync_struct **perf_event_fasync(struct perf_event *event)
{
	return event->parent ? &event->parent->fasync : &event->fasync;
}

#endif
