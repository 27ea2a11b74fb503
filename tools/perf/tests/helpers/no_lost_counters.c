// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refuse events whose counters are to tell what was lost (PERF_FORMAT_LOST), as Linux before 6.0
 * does. A library for $LD_PRELOAD.
 * flags: -shared -fPIC
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/syscall.h>

#define NR_ARGS		6
#define FORMAT_LOST	(1U << 4)

long syscall(long nr, ...)
{
	long (*original)(long nr, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	const struct perf_event_attr *attr;
	long args[NR_ARGS];
	va_list list;
	int i;

	va_start(list, nr);
	for (i = 0; i < NR_ARGS; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	attr = (const struct perf_event_attr *)args[0];
	if (nr == SYS_perf_event_open && attr->read_format & FORMAT_LOST) {
		errno = EINVAL;
		return -1;
	}
	return original(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
}
