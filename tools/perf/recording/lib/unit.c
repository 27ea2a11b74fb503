// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <linux/kernel.h>
#include <perf/event.h>
#include "unit.h"

/* What an AUXTRACE record is to be known by, and how long its data are. */
#define HEAD_BYTES	offsetof(struct perf_record_auxtrace, offset)

struct unit unit__of(const struct iovec *part, int nr, bool indivisible)
{
	struct unit unit = { .part = part, .nr = nr, .indivisible = indivisible };
	int i;

	for (i = 0; i < nr; i++)
		unit.len += part[i].iov_len;
	return unit;
}

/* Returns how many of @len bytes at @pos there are; those are copied. */
static size_t copy(const struct unit *unit, size_t pos, void *dst, size_t len)
{
	size_t done = 0;
	int i;

	for (i = 0; i < unit->nr && done < len; i++) {
		size_t size = unit->part[i].iov_len, n;

		if (pos >= size) {
			pos -= size;
			continue;
		}
		n = min(len - done, size - pos);
		memcpy(dst + done, unit->part[i].iov_base + pos, n);
		done += n;
		pos = 0;
	}
	return done;
}

size_t unit__record(const struct unit *unit, size_t pos, u32 *type)
{
	struct perf_record_auxtrace auxtrace;
	size_t there = copy(unit, pos, &auxtrace, HEAD_BYTES);

	if (there < sizeof(auxtrace.header) || auxtrace.header.size < sizeof(auxtrace.header))
		return 0;
	*type = auxtrace.header.type;
	if (*type == PERF_RECORD_AUXTRACE && there == HEAD_BYTES)
		return auxtrace.header.size + auxtrace.size;
	return auxtrace.header.size;
}

/* What makes no sense is taken as one record, to the end. */
void unit__find(struct unit *unit)
{
	while (unit->next < unit->pos) {
		size_t size = unit__record(unit, unit->next, &unit->type);

		unit->whole = unit->next;
		if (!size || size > unit->len - unit->next || unit->indivisible)
			size = unit->len - unit->next;
		unit->next += size;
	}
}

void unit__copy(struct unit *unit, void *dst, size_t len)
{
	copy(unit, unit->pos, dst, len);
	unit->pos += len;
}
