/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write interrupts, soft interrupts and page faults.
 */
struct irqaction___ring {
	const char	*name;
} __attribute__((preserve_access_index));

struct irq_handler_entry {
	SAMPLE;
	__u32		irq;
	__u32		name;
	__u32		name_text[];
} __record;

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_handler_entry, int irq, struct irqaction___ring *action)
{
	struct place place = PLACE_OF(RING_EVENT_irq_handler_entry, 0, IRQS_OFF, 1);
	struct irq_handler_entry *entry;
	struct text name;

	read_text(&name, TEXT_BYTES, action->name);
	place.size = RECORD_SIZE(16 + name.bytes);
	entry = begin(&place);
	if (!entry)
		return 0;
	entry->irq = irq;
	entry->name = data_loc(16, &name);
	put_text(&place, 16, &name, TEXT_BYTES);
	commit(&place);
	return 0;
}

struct irq_handler_exit {
	SAMPLE;
	__u32		irq;
	__u32		ret;
	__u32		padding;
	__u64		trailer;
} __record;

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_handler_exit, int irq, struct irqaction___ring *action, int ret)
{
	struct place place = PLACE_OF(RING_EVENT_irq_handler_exit, sizeof(struct irq_handler_exit),
				      IRQS_OFF, 1);
	struct irq_handler_exit *entry = begin(&place);

	if (!entry)
		return 0;
	entry->irq = irq;
	entry->ret = ret;
	commit(&place);
	return 0;
}

struct softirq {
	SAMPLE;
	__u32		vec;
	__u64		trailer;
} __record;

static __always_inline int write_softirq(enum ring_event event, __u32 vec, __u8 irqs)
{
	struct place place = PLACE_OF(event, sizeof(struct softirq), irqs, 1);
	struct softirq *entry = begin(&place);

	if (!entry)
		return 0;
	entry->vec = vec;
	commit(&place);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry, unsigned int vec)
{
	return write_softirq(RING_EVENT_softirq_entry, vec, IRQS_ON);
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit, unsigned int vec)
{
	return write_softirq(RING_EVENT_softirq_exit, vec, IRQS_ON);
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(on_softirq_raise, unsigned int vec)
{
	return write_softirq(RING_EVENT_softirq_raise, vec, IRQS_OFF);
}

struct page_fault {
	SAMPLE;
	__u64		address, ip, error_code;
	__u32		padding;
	__u64		trailer;
} __record;

static __always_inline int write_fault(enum ring_event event, __u64 address,
				       struct pt_regs___ring *regs, __u64 error_code)
{
	struct place place = PLACE_OF(event, sizeof(struct page_fault), IRQS_OFF, 1);
	struct page_fault *entry = begin(&place);

	if (!entry)
		return 0;
	put64(&entry->address, address);
	put64(&entry->ip, regs->ip);
	put64(&entry->error_code, error_code);
	commit(&place);
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(on_page_fault_user, unsigned long address, struct pt_regs___ring *regs,
	     unsigned long error_code)
{
	return write_fault(RING_EVENT_page_fault_user, address, regs, error_code);
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(on_page_fault_kernel, unsigned long address, struct pt_regs___ring *regs,
	     unsigned long error_code)
{
	return write_fault(RING_EVENT_page_fault_kernel, address, regs, error_code);
}
