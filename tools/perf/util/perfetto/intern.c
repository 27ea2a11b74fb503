// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <linux/err.h>
#include "util/hashmap.h"
#include "intern.h"

/**
 * struct value - a key of the table
 * @id:		its number
 * @bytes:	of the value
 */
struct value {
	u64		id;
	size_t		len;
	unsigned int	kind;
	unsigned char	bytes[];
};

/* FNV-1a */
static size_t hash_value(long key, void *ctx __maybe_unused)
{
	const struct value *value = (const struct value *)key;
	u64 hash = 0xcbf29ce484222325ULL ^ value->kind;
	size_t i;

	for (i = 0; i < value->len; i++)
		hash = (hash ^ value->bytes[i]) * 0x100000001b3ULL;
	return hash ^ hash >> 32;
}

static bool equal_values(long a, long b, void *ctx __maybe_unused)
{
	const struct value *x = (const struct value *)a, *y = (const struct value *)b;

	return x->kind == y->kind && x->len == y->len && !memcmp(x->bytes, y->bytes, x->len);
}

static struct value *new_value(unsigned int kind, const void *bytes, size_t len)
{
	struct value *value = malloc(sizeof(*value) + len);

	if (value) {
		value->kind = kind;
		value->len = len;
		memcpy(value->bytes, bytes, len);
	}
	return value;
}

u64 intern__id(struct intern *intern, unsigned int kind, const void *bytes, size_t len,
	       bool *is_new)
{
	struct value *value, *found;

	*is_new = false;
	if (!intern->values) {
		intern->values = hashmap__new(hash_value, equal_values, NULL);
		if (IS_ERR(intern->values)) {
			intern->values = NULL;
			return 0;
		}
	}
	value = new_value(kind, bytes, len);
	if (!value)
		return 0;
	if (hashmap__find(intern->values, value, &found)) {
		free(value);
		return found->id;
	}
	value->id = intern->last + 1;
	if (hashmap__add(intern->values, value, value)) {
		free(value);
		return 0;
	}
	intern->bytes += sizeof(*value) + len;
	*is_new = true;
	return ++intern->last;
}

void intern__clear(struct intern *intern)
{
	struct hashmap_entry *entry;
	size_t bucket;

	if (intern->values) {
		hashmap__for_each_entry(intern->values, entry, bucket)
			free((void *)entry->pvalue);
	}
	hashmap__free(intern->values);
	intern->values = NULL;
	intern->bytes = 0;
}
