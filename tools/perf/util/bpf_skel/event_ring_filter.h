/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evaluate the filters of events.
 *
 * Programs whose events have filters write their fields to memory of their own first, in the layout
 * of the record. What passes is copied to the ring: a byte in a ring cannot be given back.
 * recording/ring/bpf_filter.c translates filters; no program evaluates one if no event has any.
 */

/* Offsets behind the record: words of the current task that filters may compare */
struct filter_scratch {
	__u8		record[EVENT_RING_SCRATCH];
	char		comm[TASK_COMM_LEN];
	__u64		cpu;
	__u8		unused[EVENT_RING_SCRATCH - sizeof(__u64)];
};

/* Only one instance of a program runs on a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_RING_EVENTS);
	__type(key, __u32);
	__type(value, struct filter_scratch);
} scratches SEC(".maps");

const volatile struct ring_filter filters[NR_RING_FILTERS] SEC(".rodata.filters") = {};

_Static_assert(__builtin_offsetof(struct filter_scratch, comm) == RING_FILTER_COMM,
	       "as bpf_filter.c has it");
_Static_assert(__builtin_offsetof(struct filter_scratch, cpu) == RING_FILTER_CPU,
	       "as bpf_filter.c has it");

static __always_inline bool is_filtered(enum ring_event program)
{
	return constants.filtered[program];
}

/* Return: the memory for a record of @place, with what filters need beside its own fields. */
static __always_inline void *begin_scratch(struct place *place)
{
	struct { SAMPLE; } __record *record;
	struct filter_scratch *scratch;
	__u32 program = place->event, last = place->size - tail_bytes() - sizeof(__u64);

	scratch = bpf_map_lookup_elem(&scratches, &program);
	if (!scratch)
		return NULL;
	if (constants.filters_comm)
		bpf_get_current_comm(scratch->comm, sizeof(scratch->comm));
	scratch->cpu = bpf_get_smp_processor_id();
	place->record = scratch;
	barrier_var(last); /* the verifier needs this value to be compared, and no other */
	if (last > EVENT_RING_SLACK)
		return NULL;
	*(volatile __u64 *)(place->record + last) = 0;
	record = place->record;
	record->sample.period = 1;
	record->raw.common_pid = bpf_get_current_pid_tgid();
	return record;
}

static __always_inline bool test_text(const volatile struct ring_comparison *comparison,
				      const void *field)
{
	const volatile __u64 *words = field;

	return (words[0] & comparison->mask[0]) == comparison->value[0] &&
	       (words[1] & comparison->mask[1]) == comparison->value[1];
}

static __always_inline bool test(const volatile struct ring_comparison *comparison,
				 const struct filter_scratch *scratch)
{
	const void *field = (const void *)scratch +
			    (comparison->offset & (2 * EVENT_RING_SCRATCH - 1));
	__u32 shift = comparison->shift & 63;
	__u64 value;

	if (comparison->operator == RING_IS_TEXT)
		return test_text(comparison, field);
	value = *(const volatile __u64 *)field << shift;
	value = comparison->is_signed ? (__s64)value >> shift : value >> shift;
	switch (comparison->operator) {
	case RING_EQUALS:
		return value == comparison->value[0];
	case RING_HAS_BITS:
		return value & comparison->value[0];
	case RING_IS_LESS:
		return comparison->is_signed ? (__s64)value < (__s64)comparison->value[0] :
					       value < comparison->value[0];
	default:
		return comparison->is_signed ? (__s64)value > (__s64)comparison->value[0] :
					       value > comparison->value[0];
	}
}

/* Does the record in the scratch memory pass the filter of its event? */
static __always_inline bool passes(const struct place *place)
{
	const struct filter_scratch *scratch = place->record;
	__u32 filter = place->config->filter, next = 0, i;
	const volatile struct ring_comparison *comparison;

	if (!filter)
		return true;
	for (i = 0; i < MAX_RING_COMPARISONS; i++) {
		if (i != next)
			continue;
		comparison = &filters[filter & (NR_RING_FILTERS - 1)].comparisons[i];
		next = test(comparison, scratch) ? comparison->if_true : comparison->if_false;
		if (next >= RING_ACCEPTS)
			return next == RING_ACCEPTS;
	}
	return false;
}

/*
 * Copy a record that passes from the scratch memory to the ring. Return: false if there is no room.
 */
static __always_inline bool copy_to_ring(struct place *place)
{
	const struct { SAMPLE; } __record *scratch = place->record;
	struct { SAMPLE; } __record *record = reserve(place);
	__u32 i, bytes = place->size - tail_bytes();

	if (!record)
		return false;
	fill(place, &record->sample, &record->raw);
	record->sample.period = scratch->sample.period;
	for (i = RAW_OFFSET(8); i < EVENT_RING_SLACK && i + 8 <= bytes; i += 8)
		*(volatile __u64 *)((void *)record + i) =
			*(const volatile __u64 *)((const void *)scratch + i);
	if (i < bytes && i < EVENT_RING_SLACK)
		*(volatile __u32 *)((void *)record + i) =
			*(const volatile __u32 *)((const void *)scratch + i);
	return true;
}
