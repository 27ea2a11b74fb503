/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Record an event of the current task: begin(), the tracepoint's own fields, commit().
 *
 * begin() decides whether the event is recorded (event_ring_target.h). It returns the place in the
 * ring (event_ring_write.h), or other memory if a filter decides when the fields are known
 * (event_ring_filter.h).
 */

/* Since Linux 6.10 */
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

/*
 * Store 64 bits, which may be a pointer, at an odd multiple of 4. The compiler would make two
 * stores of a packed member, and the verifier allows only whole pointers.
 */
static __always_inline void put64(void *field, __u64 value)
{
	*(volatile __u64 *)field = value;
}

/*
 * Only interrupts may write to the ring meanwhile, which end before this program goes on: the
 * nesting, and the words of data_reserved, depend on it.
 */
static __always_inline void disable_preemption(const struct place *place)
{
	if (is_preemptible(place) && bpf_ksym_exists(bpf_preempt_disable))
		bpf_preempt_disable();
}

static __always_inline void enable_preemption(const struct place *place)
{
	if (is_preemptible(place) && bpf_ksym_exists(bpf_preempt_enable))
		bpf_preempt_enable();
}

/* Begin a record of @place->size bytes, as begin(). */
static __always_inline void *begin_anywhere(struct place *place)
{
	struct { SAMPLE; } __record *record;

	place->count = preempt_count(place);
	disable_preemption(place);
	if (is_filtered(place->event)) {
		record = begin_scratch(place);
	} else {
		record = reserve(place);
		if (record)
			fill(place, &record->sample, &record->raw);
	}
	if (!record)
		enable_preemption(place);
	return record;
}

/* End a record that begin() has begun: publish it, if it passes the filter of its event. */
static __always_inline void commit(struct place *place)
{
	if (!is_filtered(place->event) || (passes(place) && copy_to_ring(place)))
		publish(place);
	enable_preemption(place);
}

/* Does the current task, or an interrupt that hits it, belong to what is recorded? */
static __always_inline bool records(const struct place *place)
{
	if (excludes_current(place->event) && !may_interrupt(place))
		return false;
	return is_current_target();
}

/*
 * Begin a record of @place->size bytes. The programs of system calls have looked at the current
 * task.
 *
 * Return: it, to be passed to commit() with the tracepoint's own fields filled in; NULL if the
 * event is disabled or was lost.
 */
static __always_inline void *begin(struct place *place)
{
	if (!place->config->enabled || !is_in_cgroup(place->config) ||
	    (!RING_IS_CALL(place->event) && !records(place)))
		return NULL;
	place->ip = place->config->ip;
	place->misc = MISC_KERNEL;
	return begin_anywhere(place);
}

/*
 * The place of a record that is written by the program of the tracepoint @name
 * @bytes:	size of its structure, which ends with a trailer; 0: the size is set later
 */
#define PLACE_OF(name, bytes, irqs, count)						\
	{ .event = (name), .config = &words.events[name],					\
	  .size = (bytes) ? (bytes) - sizeof(__u64) + tail_bytes() : 0,				\
	  .flags = (irqs), .usual_count = (count) }
