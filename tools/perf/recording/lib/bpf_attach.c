// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <api/fs/fs.h>
#include <api/fs/tracing_path.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include "perf-sys.h"
#include "bpf_attach.h"

#define PREEMPTING_VERSION ((6 << 16) + (19 << 8))

bool bpf_attach__is_preemptible(void)
{
	struct utsname kernel;
	unsigned int version, patchlevel;

	return uname(&kernel) || sscanf(kernel.release, "%u.%u", &version, &patchlevel) != 2 ||
	       (version << 16) + (patchlevel << 8) >= PREEMPTING_VERSION;
}

/* Its prototype: a pointer of the kernel's, preempt, prev, next, and since Linux 5.18 the state */
bool bpf_attach__passes_state(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF) : 0;
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, id) : NULL;
	bool passes;

	while (type && (btf_is_typedef(type) || btf_is_ptr(type)))
		type = btf__type_by_id(btf, type->type);
	passes = type && btf_is_func_proto(type) && btf_vlen(type) > 4;
	btf__free(btf);
	return passes;
}

static int tracepoint_id(const char *system, const char *name)
{
	char event[100], *path;
	int id = -1;

	snprintf(event, sizeof(event), "%s/%s/id", system, name);
	path = get_events_file(event);
	if (!path || filename__read_int(path, &id))
		id = -1;
	put_events_file(path);
	return id;
}

struct bpf_link *bpf_attach__by_perf(struct bpf_program *program, const char *system,
				     const char *name)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .disabled = 1,
	};
	int id = tracepoint_id(system, name), fd, err;
	struct bpf_link *link;

	if (id < 0) {
		errno = ENOENT;
		return NULL;
	}
	attr.config = id;
	/* Programs run on all CPUs, whatever CPU the event is opened on. */
	fd = sys_perf_event_open(&attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return NULL;
	link = bpf_program__attach_perf_event(program, fd);
	if (!link) {
		err = errno;
		close(fd);
		errno = err;
		return NULL;
	}
	/* libbpf has enabled the event, which would only cost time on its CPU. */
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	return link;
}
