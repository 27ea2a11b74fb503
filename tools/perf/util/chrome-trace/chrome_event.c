// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <linux/time64.h>
#include "chrome_event.h"

/* Write a time in us, with all digits of the ns. */
static void write_time(struct chrome_events *events, u64 time)
{
	bool negative = time < events->base;
	u64 ns = negative ? events->base - time : time - events->base;

	json__key(&events->json, "ts");
	fprintf(events->json.file, "%s%" PRIu64 ".%03" PRIu64, negative ? "-" : "",
		ns / NSEC_PER_USEC, (u64)(ns % NSEC_PER_USEC));
}

void chrome_event__begin(struct chrome_events *events, char phase, struct chrome_track track,
			 u64 time)
{
	fprintf(events->json.file, "%s\n{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d",
		events->nr_events++ ? "," : "", phase, track.pid, track.tid);
	events->json.comma = true;
	if (phase != 'M')
		write_time(events, time);
}

void chrome_event__end(struct chrome_events *events)
{
	fputs(events->in_args ? "}}" : "}", events->json.file);
	events->in_args = false;
	/* Symbols may have been looked up since a write failed: errno is that of another error. */
	if (!events->err && ferror(events->json.file))
		events->err = fflush(events->json.file) ? errno : EIO;
}

struct json *chrome_event__args(struct chrome_events *events)
{
	if (!events->in_args)
		json__open(&events->json, "args", '{');
	events->in_args = true;
	return &events->json;
}

/* Readers have 53 bits for a number. */
void chrome_event__arg_number(struct chrome_events *events, const char *key, s64 number)
{
	bool exact = number < 1LL << 53 && number > -(1LL << 53);

	if (!exact)
		return chrome_event__arg_hex(events, key, number);
	json__key(chrome_event__args(events), key);
	fprintf(events->json.file, "%" PRId64, number);
}

void chrome_event__arg_hex(struct chrome_events *events, const char *key, u64 number)
{
	json__key(chrome_event__args(events), key);
	fprintf(events->json.file, "\"0x%" PRIx64 "\"", number);
}
