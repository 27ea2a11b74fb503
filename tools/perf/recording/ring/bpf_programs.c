// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include "util/debug.h"
#include "bpf_programs.h"
#include "util/bpf_skel/event_ring.skel.h"	/* needs event_ring.h */
#include "util/bpf_skel/event_ring_plain.skel.h"

/**
 * struct bpf_programs
 * @object:	libbpf's
 * @links:	of the programs that are attached
 * @words:	mapped memory of the programs
 * @selected:	programs to load
 * @constants:	for them
 * @data_bytes:	size of a data area
 * @fds:	the ring of each CPU, or -1
 * @nr_fds:	number of @fds
 */
struct bpf_programs {
	struct bpf_object	*object;
	struct bpf_link		*links[NR_RING_EVENTS];
	struct event_ring_words	*words;
	bool			 selected[NR_RING_EVENTS];
	struct event_ring_constants constants;
	size_t			 data_bytes;
	int			*fds;
	int			 nr_fds;
};

#define PROGRAM_NAME(name) "on_" #name,
static const char * const names[] = { RING_PROGRAMS(PROGRAM_NAME) };	/* by enum ring_event */

static int print_debug(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_DEBUG ? 0 : veprintf(2, verbose, format, args);
}

static struct bpf_program *find(const struct bpf_programs *programs, enum ring_event event)
{
	return bpf_object__find_program_by_name(programs->object, names[event]);
}

struct bpf_programs *bpf_programs__new(void)
{
	return calloc(1, sizeof(struct bpf_programs));
}

void bpf_programs__select(struct bpf_programs *programs, enum ring_event program, int variant)
{
	programs->selected[program] = true;
	programs->constants.variant[program] = variant;
}

void bpf_programs__select_calls(struct bpf_programs *programs, enum ring_event program)
{
	if (program == RING_EVENT_sys_enter)
		programs->constants.enter_calls = 1;
	else
		programs->constants.exit_calls = 1;
}

/* Return: a descriptor, or a negative errno. */
static int create_array(size_t data_bytes, int node)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE | BPF_F_NUMA_NODE,
		    .numa_node = node);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "perf_ring", sizeof(__u32),
				EVENT_RING_DATA + data_bytes + EVENT_RING_SLACK, 1, &opts);

	return fd < 0 ? -errno : fd;
}

/* Return: the start of a data section, which is mapped once the object is loaded. */
static void *section(struct bpf_object *object, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);
	size_t bytes;

	return map ? bpf_map__initial_value(map, &bytes) : NULL;
}

/* Load one build of the programs. */
static int load_object(struct bpf_programs *programs, const void *elf, size_t bytes, int pattern)
{
	struct bpf_object *object = bpf_object__open_mem(elf, bytes, NULL);
	struct event_ring_constants *constants;
	struct bpf_map *rings;
	int event, err;

	if (!object)
		return -errno;
	programs->object = object;
	for (event = 0; event < NR_RING_EVENTS; event++)
		bpf_program__set_autoload(find(programs, event), programs->selected[event]);
	constants = section(object, ".rodata.constants");
	rings = bpf_object__find_map_by_name(object, "rings");
	err = constants && rings ? 0 : -EINVAL;
	if (!err) {
		*constants = programs->constants;
		err = bpf_map__set_inner_map_fd(rings, pattern) ?:
		      bpf_map__set_max_entries(rings, programs->nr_fds) ?: bpf_object__load(object);
	}
	if (err) {
		bpf_object__close(object);
		programs->object = NULL;
		return err;
	}
	programs->words = section(object, ".bss");
	return 0;
}

static int load_any(struct bpf_programs *programs, int pattern)
{
	libbpf_print_fn_t print = libbpf_set_print(print_debug);
	const void *elf;
	size_t bytes;
	int err;

	elf = event_ring_bpf__elf_bytes(&bytes);
	err = load_object(programs, elf, bytes, pattern);
	if (err) {
		elf = event_ring_plain_bpf__elf_bytes(&bytes);
		err = load_object(programs, elf, bytes, pattern);
	}
	libbpf_set_print(print);
	return err;
}

int bpf_programs__load(struct bpf_programs *programs, size_t data_bytes, int nr_cpus, pid_t own_tgid)
{
	int i, err, pattern = create_array(data_bytes, 0);

	if (pattern < 0)
		return pattern;
	programs->fds = malloc(nr_cpus * sizeof(*programs->fds));
	for (i = 0; programs->fds && i < nr_cpus; i++)
		programs->fds[i] = -1;
	programs->nr_fds = programs->fds ? nr_cpus : 0;
	programs->data_bytes = data_bytes;
	programs->constants.data_mask = data_bytes - sizeof(__u64);
	programs->constants.own_tgid = own_tgid;
	err = programs->fds ? load_any(programs, pattern) : -ENOMEM;
	close(pattern);
	return err;
}

int bpf_programs__add_ring(struct bpf_programs *programs, int cpu, int node)
{
	struct perf_event_mmap_page *page;
	int fd;

	if (cpu < 0 || cpu >= programs->nr_fds)
		return -EINVAL;
	fd = create_array(programs->data_bytes, node);
	if (fd < 0)
		return fd;
	programs->fds[cpu] = fd;
	page = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	page->cap_size_at_end = 1;
	page->cap_data_reserved = 1;
	page->data_offset = EVENT_RING_DATA;
	page->data_size = programs->data_bytes;
	munmap(page, page_size);
	if (bpf_map_update_elem(bpf_object__find_map_fd_by_name(programs->object, "rings"), &cpu, &fd,
				BPF_ANY))
		return -errno;
	return fd;
}

struct event_ring_words *bpf_programs__words(struct bpf_programs *programs)
{
	return programs->words;
}

int bpf_programs__fd(const struct bpf_programs *programs, enum ring_event program)
{
	return bpf_program__fd(find(programs, program));
}

int bpf_programs__attach(struct bpf_programs *programs)
{
	int event;

	for (event = 0; event < NR_RING_EVENTS; event++) {
		if (!programs->selected[event])
			continue;
		programs->links[event] = bpf_program__attach(find(programs, event));
		if (!programs->links[event])
			return -errno;
	}
	return 0;
}

void bpf_programs__delete(struct bpf_programs *programs)
{
	int i;

	if (!programs)
		return;
	for (i = 0; i < NR_RING_EVENTS; i++)
		bpf_link__destroy(programs->links[i]);
	bpf_object__close(programs->object);
	for (i = 0; i < programs->nr_fds; i++) {
		if (programs->fds[i] >= 0)
			close(programs->fds[i]);
	}
	free(programs->fds);
	free(programs);
}

unsigned long long bpf_program_fd__misses(int fd)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.recursion_misses;
}
