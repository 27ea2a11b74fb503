/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write the way of network packets.
 */
#define IFNAMSIZ	16

struct net_device___ring {
	char			name[IFNAMSIZ];
} __attribute__((preserve_access_index));

struct sk_buff___ring {
	struct net_device___ring *dev;
	unsigned int		len;
} __attribute__((preserve_access_index));

struct napi_struct___ring {
	struct net_device___ring *dev;
} __attribute__((preserve_access_index));

struct net_packet {
	SAMPLE;
	__u64		skb;
	__u32		len;
	__u32		name;
	__u32		name_text[];
} __record;

static __always_inline int write_packet(enum ring_event event, struct sk_buff___ring *skb)
{
	struct place place = PLACE_OF(event, 0, IRQS_ON, 1);
	struct net_packet *entry;
	struct text name;

	read_text(&name, IFNAMSIZ, skb->dev->name);
	place.size = RECORD_SIZE(24 + name.bytes);
	entry = begin(&place);
	if (!entry)
		return 0;
	put64(&entry->skb, (__u64)skb);
	entry->len = skb->len;
	entry->name = data_loc(24, &name);
	put_text(&place, 24, &name, IFNAMSIZ);
	commit(&place);
	return 0;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(on_net_dev_queue, struct sk_buff___ring *skb)
{
	return write_packet(RING_EVENT_net_dev_queue, skb);
}

SEC("tp_btf/netif_rx")
int BPF_PROG(on_netif_rx, struct sk_buff___ring *skb)
{
	return write_packet(RING_EVENT_netif_rx, skb);
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(on_netif_receive_skb, struct sk_buff___ring *skb)
{
	return write_packet(RING_EVENT_netif_receive_skb, skb);
}

struct net_dev_xmit {
	SAMPLE;
	__u64		skb;
	__u32		len;
	__u32		rc;
	__u32		name;
	__u32		name_text[];
} __record;

SEC("tp_btf/net_dev_xmit")
int BPF_PROG(on_net_dev_xmit, const void *skb, int rc, struct net_device___ring *dev,
	     unsigned int len)
{
	struct place place = PLACE_OF(RING_EVENT_net_dev_xmit, 0, IRQS_ON, 1);
	struct net_dev_xmit *entry;
	struct text name;

	read_text(&name, IFNAMSIZ, dev->name);
	/* The kernel rounds its structure up to 32 bytes, and puts the name behind the fields. */
	place.size = RECORD_SIZE(32 + name.bytes);
	entry = begin(&place);
	if (!entry)
		return 0;
	put64(&entry->skb, (__u64)skb);
	entry->len = len;
	entry->rc = rc;
	entry->name = data_loc(28, &name);
	put_text(&place, 28, &name, IFNAMSIZ);
	commit(&place);
	return 0;
}

struct napi_poll {
	SAMPLE;
	__u64		napi;
	__u32		dev_name;
	__u32		work, budget;
	__u32		name_text[];
} __record;

SEC("tp_btf/napi_poll")
int BPF_PROG(on_napi_poll, struct napi_struct___ring *napi, int work, int budget)
{
	struct place place = PLACE_OF(RING_EVENT_napi_poll, 0, IRQS_ON, 1);
	struct net_device___ring *dev = napi->dev;
	struct napi_poll *entry;
	struct text name;

	if (dev)
		read_text(&name, IFNAMSIZ, dev->name);
	else
		read_text(&name, IFNAMSIZ, "(no_device)");
	place.size = RECORD_SIZE(32 + name.bytes);
	entry = begin(&place);
	if (!entry)
		return 0;
	put64(&entry->napi, (__u64)napi);
	entry->dev_name = data_loc(28, &name);
	entry->work = work;
	entry->budget = budget;
	put_text(&place, 28, &name, IFNAMSIZ);
	commit(&place);
	return 0;
}
