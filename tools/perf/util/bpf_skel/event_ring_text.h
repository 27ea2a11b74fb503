/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write strings of dynamic length (__data_loc), which follow the fields of a tracepoint.
 */
#define TEXT_BYTES		64	/* longer strings are cut off */

/**
 * struct text - a string, filled up with zeros
 * @words:	its characters
 * @bytes:	length with the zero [bytes]
 */
struct text {
	__u32	words[TEXT_BYTES / sizeof(__u32)];
	__u32	bytes;
};

/* @max: a constant, at most TEXT_BYTES: what the string takes with its zero at most */
static __always_inline void read_text(struct text *text, __u32 max, const void *from)
{
	long bytes;
	__u32 i;

	for (i = 0; i < max / sizeof(__u32); i++)
		text->words[i] = 0;
	bytes = bpf_probe_read_kernel_str(text->words, max, from);
	text->bytes = bytes < 1 ? 1 : bytes > max ? max : bytes;
}

/*
 * Store a string at @offset of the format file, a multiple of 4. The last word may have zeros
 * behind the string.
 */
static __always_inline void put_text(struct place *place, __u32 offset, const struct text *text,
				     __u32 max)
{
	volatile __u32 *to = place->record + RAW_OFFSET(offset);
	__u32 i;

	for (i = 0; i < max / sizeof(__u32); i++) {
		if (i * sizeof(__u32) >= text->bytes)
			break;
		to[i] = text->words[i];
	}
}

/* Return: what a field __data_loc holds. */
static __always_inline __u32 data_loc(__u32 offset, const struct text *text)
{
	return text->bytes << 16 | offset;
}
