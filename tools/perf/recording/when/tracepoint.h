/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find a tracepoint or a probe in tracefs, with a field of its records.
 */
#ifndef PERF_RECORDING_WHEN_TRACEPOINT_H
#define PERF_RECORDING_WHEN_TRACEPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include "util/bpf_skel/durations.h"

/**
 * enum tracepoint_kind - which programs an event takes
 * @TRACEPOINT_RAW:	of the kernel's code: raw_tp and tp
 * @TRACEPOINT_RECORD:	a system call: tp only
 * @TRACEPOINT_PROBE:	uprobe, USDT probe or kprobe: kprobe only
 */
enum tracepoint_kind {
	TRACEPOINT_RAW,
	TRACEPOINT_RECORD,
	TRACEPOINT_PROBE,
};

/**
 * struct when_tracepoint
 * @system, @name: the event SYSTEM:NAME
 * @kind:	see above
 * @id:		of perf events
 * @is_return:	a probe at the return of a function
 * @place:	of a probe: the file, or the symbol in the kernel
 * @offset:	of a probe, from there; of @is_return, that of the function
 * @field:	of its records; @field.size is 0 if none was asked for
 */
struct when_tracepoint {
	char			system[128];
	char			name[128];
	enum tracepoint_kind	kind;
	u32			id;
	bool			is_return;
	char			place[256];
	u64			offset;
	struct duration_field	field;
};

/**
 * when_tracepoint__find - read an event from tracefs
 * @event:	SYSTEM:NAME
 * @field:	name of a field, or NULL
 * @reason:	receives why it cannot be used, and what exists
 *
 * Return: 0, or -EINVAL.
 */
int when_tracepoint__find(struct when_tracepoint *tracepoint, const char *event, const char *field,
			  char *reason, size_t size);

/** when_tracepoint__parse_format - find a field in the text of a format file; as above */
int when_tracepoint__parse_format(struct when_tracepoint *tracepoint, const char *format,
				  const char *field, char *reason, size_t size);

#endif
