/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write the way of block requests.
 *
 * Operations of zoned devices, and rare errors, are named in ways that differ between kernels: they
 * are counted as lost.
 */
#define REQ_OP_MASK		0xff
#define REQ_OP_READ		0
#define REQ_OP_WRITE		1
#define REQ_OP_FLUSH		2
#define REQ_OP_DISCARD		3
#define REQ_OP_SECURE_ERASE	5
#define REQ_OP_WRITE_ZEROES	9
#define REQ_OP_DRV_IN		34
#define REQ_OP_DRV_OUT		35
#define MINOR_BITS		20
#define SECTOR_SHIFT		9
#define RWBS_OFFSET		34
#define RWBS_LEN		10	/* less the variant */

enum req_flag_bits___ring {
	__REQ_SYNC___ring,
	__REQ_META___ring,
	__REQ_FUA___ring,
	__REQ_PREFLUSH___ring,
	__REQ_RAHEAD___ring,
	__REQ_ATOMIC___ring,
};

struct gendisk___ring {
	int		major, first_minor;
} __attribute__((preserve_access_index));

struct request_queue___ring {
	struct gendisk___ring *disk;
} __attribute__((preserve_access_index));

struct bio___ring {
	unsigned short	bi_ioprio;
} __attribute__((preserve_access_index));

struct request___ring {
	struct request_queue___ring *q;
	__u32		cmd_flags;
	__u32		__data_len;
	__u64		__sector;
	struct bio___ring *bio;
	unsigned short	ioprio;
} __attribute__((preserve_access_index));

struct block_rq {
	SAMPLE;
	__u32		dev;
	__u32		hole;
	__u64		sector;
	__u32		nr_sector;
	__u32		bytes_or_error;
	__u16		ioprio;
	__u8		rest[];	/* rwbs, comm unless completed; __data_loc of an empty command */
} __record;

#define HAS_FLAG(flags, name)							\
	(bpf_core_enum_value_exists(enum req_flag_bits___ring, name) &&	\
	 (flags) & 1ull << bpf_core_enum_value(enum req_flag_bits___ring, name))

/* Append a letter to at most eight. */
static __always_inline void append(__u64 *letters, __u32 *nr, char letter)
{
	*letters |= (__u64)letter << *nr * 8;
	++*nr;
}

/* Return: the field rwbs as far as it is not zero; 0 if the operation is unknown. */
static __always_inline __u64 describe(__u32 flags)
{
	__u32 operation = flags & REQ_OP_MASK, nr = 0;
	__u64 letters = 0;

	if (HAS_FLAG(flags, __REQ_PREFLUSH___ring))
		append(&letters, &nr, 'F');
	switch (operation) {
	case REQ_OP_READ:
		append(&letters, &nr, 'R');
		break;
	case REQ_OP_WRITE:
		append(&letters, &nr, 'W');
		break;
	case REQ_OP_FLUSH:
		append(&letters, &nr, 'F');
		break;
	case REQ_OP_DISCARD:
		append(&letters, &nr, 'D');
		break;
	case REQ_OP_SECURE_ERASE:
		append(&letters, &nr, 'D');
		append(&letters, &nr, 'E');
		break;
	case REQ_OP_WRITE_ZEROES:
	case REQ_OP_DRV_IN:
	case REQ_OP_DRV_OUT:
		append(&letters, &nr, 'N');
		break;
	default:
		return 0;
	}
	if (HAS_FLAG(flags, __REQ_FUA___ring))
		append(&letters, &nr, 'F');
	if (HAS_FLAG(flags, __REQ_RAHEAD___ring))
		append(&letters, &nr, 'A');
	if (HAS_FLAG(flags, __REQ_SYNC___ring))
		append(&letters, &nr, 'S');
	if (HAS_FLAG(flags, __REQ_META___ring))
		append(&letters, &nr, 'M');
	if (HAS_FLAG(flags, __REQ_ATOMIC___ring))
		append(&letters, &nr, 'U');
	return letters;
}

static __always_inline bool is_passthrough(__u32 flags)
{
	__u32 operation = flags & REQ_OP_MASK;

	return operation == REQ_OP_DRV_IN || operation == REQ_OP_DRV_OUT;
}

/*
 * Begin a record of a request.
 *
 * @command_offset: of the field cmd, which is the last one
 */
static __always_inline struct block_rq *begin_rq(struct place *place, struct request___ring *rq,
						 __u32 command_offset)
{
	struct gendisk___ring *disk;
	__u64 letters = describe(rq->cmd_flags);
	struct block_rq *entry;
	volatile __u8 *rest;
	__u32 i;

	if (!letters) {
		if (place->config->enabled)
			count_lost(place);
		return NULL;
	}
	place->size = RECORD_SIZE(command_offset + 5);
	entry = begin(place);
	if (!entry)
		return NULL;
	disk = rq->q->disk;
	entry->dev = disk ? disk->major << MINOR_BITS | disk->first_minor : 0;
	entry->hole = 0;
	entry->ioprio = bpf_core_field_exists(rq->ioprio) ? rq->ioprio :
			rq->bio ? rq->bio->bi_ioprio : 0;
	rest = entry->rest;
	for (i = 0; i < command_offset - RWBS_OFFSET; i++)
		rest[i] = i < 8 ? letters >> i * 8 : 0;
	*(volatile __u32 *)(place->record + RAW_OFFSET(command_offset)) =
		1 << 16 | (command_offset + 4);
	*(volatile __u32 *)(place->record + RAW_OFFSET(command_offset + 4)) = 0;
	return entry;
}

static __always_inline int write_rq(enum ring_event event, struct request___ring *rq)
{
	__u32 variant = constants.variant[event] & 3, i;
	struct place place = PLACE_OF(event, 0, IRQS_ON, 1);
	struct block_rq *entry = begin_rq(&place, rq, 60);
	char comm[TASK_COMM_LEN];

	if (!entry)
		return 0;
	put64(&entry->sector,
	      is_passthrough(rq->cmd_flags) || rq->__sector == ~0ull ? 0 : rq->__sector);
	entry->nr_sector = is_passthrough(rq->cmd_flags) ? 0 : rq->__data_len >> SECTOR_SHIFT;
	entry->bytes_or_error = rq->__data_len;
	bpf_get_current_comm(comm, sizeof(comm));
	for (i = 0; i < TASK_COMM_LEN; i++)
		*(volatile __u8 *)(entry->rest + RWBS_LEN - variant + i) = comm[i];
	commit(&place);
	return 0;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(on_block_rq_insert, struct request___ring *rq)
{
	return write_rq(RING_EVENT_block_rq_insert, rq);
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_block_rq_issue, struct request___ring *rq)
{
	return write_rq(RING_EVENT_block_rq_issue, rq);
}

#define STATUS_DEV_RESOURCE	13

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_block_rq_complete, struct request___ring *rq, __u8 status, unsigned int bytes)
{
	/* Of BLK_STS_OK, NOTSUPP, TIMEOUT ..., DEV_RESOURCE; 16 for the mask of the index */
	static const __s32 errors[16] = { 0, -95, -110, -28, -67, -121, -52, -61, -84, -12, -5, -78,
					  -11, -16 };
	struct place place = PLACE_OF(RING_EVENT_block_rq_complete, 0, IRQS_ON, 1);
	struct block_rq *entry;
	__u64 index = status;

	if (status > STATUS_DEV_RESOURCE) {
		if (place.config->enabled)
			count_lost(&place);
		return 0;
	}
	entry = begin_rq(&place, rq, 44);
	if (!entry)
		return 0;
	put64(&entry->sector, rq->__sector);
	entry->nr_sector = bytes >> SECTOR_SHIFT;
	barrier_var(index);	/* the verifier forgets what the compiler knows of @status */
	entry->bytes_or_error = errors[index & 15];
	commit(&place);
	return 0;
}
