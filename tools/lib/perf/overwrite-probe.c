// SPDX-License-Identifier: GPL-2.0-only
/* Probe which kinds of overwrite ring the kernel supports, with a dummy event. */
#include <errno.h>
#include <unistd.h>
#include <linux/compiler.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <internal/overwrite-kind.h>

#define NOT_PROBED	(-1)

/* Open and map a dummy event. Return: 0 if the kernel supports @kind, or a negative errno. */
static int try_kind(enum perf_overwrite_kind kind)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_DUMMY,
		.size		= sizeof(attr),
		.disabled	= 1,
		.exclude_kernel	= 1,
		.exclude_hv	= 1,
	};
	size_t len = 2 * sysconf(_SC_PAGESIZE);
	void *base;
	int fd, err;

	perf_overwrite__config(&attr, kind);
	fd = syscall(__NR_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	base = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED) {
		err = -errno;
	} else {
		err = perf_overwrite__is_kind(base, kind) ? 0 : -EOPNOTSUPP;
		munmap(base, len);
	}
	close(fd);
	return err;
}

int perf_overwrite__probe(void)
{
	static const enum perf_overwrite_kind best_first[] = {
		PERF_OVERWRITE_SIZED, PERF_OVERWRITE_BACKWARD,
	};
	static int found = NOT_PROBED;
	int kind = READ_ONCE(found), err;
	size_t i;

	if (kind != NOT_PROBED)
		return kind;
	for (i = 0; i < sizeof(best_first) / sizeof(best_first[0]); i++) {
		kind = best_first[i];
		err = try_kind(kind);
		if (!err) {
			WRITE_ONCE(found, kind);
			return kind;
		}
		/* The kernel does not know the attribute, or gives it another meaning. */
		if (err != -EINVAL && err != -EOPNOTSUPP)
			return err;
	}
	return -EOPNOTSUPP;
}
