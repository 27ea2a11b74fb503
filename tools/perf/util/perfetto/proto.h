/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write messages in the encoding of protocol buffers to memory.
 *
 * A message inside another is written between proto__begin() and proto__end(). Every function is
 * given the number of the field. A failed allocation is noted in @failed; what follows is ignored.
 */
#ifndef PERF_PERFETTO_PROTO_H
#define PERF_PERFETTO_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/**
 * struct proto - a message that is being written; all zero before the first field
 * @data:	its bytes; release with proto__exit()
 * @len:	number of them
 * @size:	allocated size of @data [bytes]
 * @failed:	memory was short
 */
struct proto {
	unsigned char	*data;
	size_t		 len;
	size_t		 size;
	bool		 failed;
};

void proto__exit(struct proto *proto);

/** proto__number - write an integer; a negative one as its two's complement, as int32 and int64 */
void proto__number(struct proto *proto, unsigned int field, u64 number);
void proto__bytes(struct proto *proto, unsigned int field, const void *bytes, size_t len);

/**
 * proto__text - write a text of at most @size bytes, which ends at a zero
 *
 * A byte that is not part of valid UTF-8 becomes U+FFFD.
 */
void proto__text(struct proto *proto, unsigned int field, const char *text, size_t size);

/** proto__hex - write bytes as a text of two hexadecimal digits for each */
void proto__hex(struct proto *proto, unsigned int field, const unsigned char *bytes, size_t len);

/** proto__append - append fields that were written to another message */
void proto__append(struct proto *proto, const struct proto *fields);

/** proto__begin - begin a message inside this one. Return: what proto__end() needs */
size_t proto__begin(struct proto *proto, unsigned int field);
void proto__end(struct proto *proto, size_t begin);

#endif
