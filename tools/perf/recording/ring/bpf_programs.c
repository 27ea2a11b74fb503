// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "util/debug.h"
#include "recording/lib/bpf_attach.h"
#include "recording/lib/checksum.h"
#include "recording/lib/fd.h"
#include "bpf_pins.h"
#include "bpf_programs.h"
#include "util/bpf_skel/event_ring.skel.h"	/* needs event_ring.h */
#include "util/bpf_skel/event_ring_plain.skel.h"

/**
 * struct bpf_programs
 * @object:	libbpf's; NULL: they were adopted
 * @elf_sum:	checksum of the file that they were loaded from
 * @links:	of the programs that are attached; not of adopted ones
 * @progs:	descriptors; those of @object, or owned
 * @next:	likewise: the arrays of bpf_programs__next(), or -1
 * @enter_time: likewise: the map of bpf_programs__pass_time(), or -1
 * @words_map, @lost_map: likewise
 * @words:	mapped memory of the programs
 * @selected:	programs to load
 * @constants:	for them
 * @filters:	likewise
 * @cgroups:	directories of the @nr_cgroups that events are bound to
 * @cgroup_ids:	their numbers
 * @setup:	of bpf_programs__load()
 * @fds:	the ring of each CPU, or -1; NULL before bpf_programs__load()
 * @counts:	room for bpf_programs__read_lost()
 */
struct bpf_programs {
	struct bpf_object	*object;
	__u64			 elf_sum;
	struct bpf_link		*links[NR_RING_EVENTS];
	int			 progs[NR_RING_EVENTS];
	int			 next[NR_RING_EVENTS];
	int			 enter_time;
	int			 words_map;
	int			 lost_map;
	struct event_ring_words	*words;
	bool			 selected[NR_RING_EVENTS];
	struct event_ring_constants constants;
	struct ring_filter	 filters[NR_RING_FILTERS];
	int			 cgroups[NR_RING_CGROUPS];
	__u64			 cgroup_ids[NR_RING_CGROUPS];
	int			 nr_cgroups;
	struct bpf_ring_setup	 setup;
	int			*fds;
	__u64			*counts;
};

#define PROGRAM_NAME(name) "on_" #name,
static const char * const names[] = { RING_PROGRAMS(PROGRAM_NAME) };	/* by enum ring_event */

#define NEXT_NAME(name)	\
	[RING_EVENT_##name] = "next_" #name,
static const char * const next_names[NR_RING_EVENTS] = { RING_CHAINS(NEXT_NAME) };

static int print_debug(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_DEBUG ? 0 : veprintf(2, verbose, format, args);
}

/* Programs of system calls that the kernel would preempt have a variant that it does not. */
static struct bpf_program *find(const struct bpf_programs *programs, enum ring_event event)
{
	static const char * const calls[] = { "at_sys_enter", "at_sys_exit" };
	const bool called_by_perf = programs->constants.preemptible && RING_IS_CALL(event);

	return bpf_object__find_program_by_name(programs->object,
						called_by_perf ? calls[event] : names[event]);
}

struct bpf_programs *bpf_programs__new(void)
{
	struct bpf_programs *programs = calloc(1, sizeof(*programs));
	int event;

	if (!programs)
		return NULL;
	programs->words_map = programs->lost_map = programs->enter_time = -1;
	for (event = 0; event < NR_RING_EVENTS; event++)
		programs->progs[event] = programs->next[event] = -1;
	return programs;
}

void bpf_programs__select(struct bpf_programs *programs, enum ring_event program, int variant)
{
	programs->selected[program] = true;
	programs->constants.variant[program] = variant;
}

void bpf_programs__exclude_own(struct bpf_programs *programs, enum ring_event program)
{
	programs->constants.excludes_own[program] = 1;
}

void bpf_programs__select_calls(struct bpf_programs *programs, enum ring_event program)
{
	if (program == RING_EVENT_sys_enter)
		programs->constants.enter_calls = 1;
	else
		programs->constants.exit_calls = 1;
}

void bpf_programs__filter(struct bpf_programs *programs, enum ring_event program, int number,
			  const struct ring_filter *filter)
{
	int i;

	for (i = 0; i < MAX_RING_COMPARISONS; i++)
		programs->constants.filters_comm |= filter->comparisons[i].offset ==
						    RING_FILTER_COMM;
	programs->constants.filtered[program] = 1;
	programs->filters[number] = *filter;
}

void bpf_programs__add_cgroup(struct bpf_programs *programs, int number, int fd)
{
	struct stat st;

	programs->constants.binds_cgroups = 1;
	programs->cgroups[number - 1] = fd;
	programs->cgroup_ids[number - 1] = fstat(fd, &st) ? 0 : st.st_ino;
	programs->nr_cgroups = max(programs->nr_cgroups, number);
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

static int create_doorbell(void)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "perf_doorbell", 0, 0, page_size, NULL);

	return fd < 0 ? -errno : fd;
}

/* Return: the start of a data section, which is mapped once the object is loaded. */
static void *section(struct bpf_object *object, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);
	size_t bytes;

	return map ? bpf_map__initial_value(map, &bytes) : NULL;
}

/* Return: the descriptor of a map, or -1. */
static int map_of(struct bpf_object *object, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);

	return map ? bpf_map__fd(map) : -1;
}

static int size_map(struct bpf_object *object, const char *name, int nr)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);

	return map ? bpf_map__set_max_entries(map, nr) : -EINVAL;
}

static int size_outer_map(struct bpf_object *object, const char *name, int nr, int pattern)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);

	return map ? bpf_map__set_inner_map_fd(map, pattern) ?: size_map(object, name, nr) :
		     -EINVAL;
}

static int set_cgroups(const struct bpf_programs *programs, int map)
{
	int i;

	for (i = 0; i < programs->nr_cgroups; i++) {
		if (bpf_map_update_elem(map, &i, &programs->cgroups[i], BPF_ANY))
			return -errno;
	}
	return 0;
}

/* The maps that the entries of @object's maps of maps are like: descriptors */
struct patterns {
	int	ring;
	int	doorbell;
};

/* Load one build of the programs. */
static int load_object(struct bpf_programs *programs, const void *elf, size_t bytes,
		       const struct patterns *patterns)
{
	struct bpf_object *object = bpf_object__open_mem(elf, bytes, NULL);
	struct event_ring_constants *constants;
	struct bpf_program *program;
	struct ring_filter *filters;
	int nr = programs->setup.nr_cpus, event, err;

	if (!object)
		return -errno;
	programs->object = object;
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, false);
	for (event = 0; event < NR_RING_EVENTS; event++)
		bpf_program__set_autoload(find(programs, event), programs->selected[event]);
	constants = section(object, ".rodata.constants");
	filters = section(object, ".rodata.filters");
	err = constants && filters ? 0 : -EINVAL;
	if (!err) {
		*constants = programs->constants;
		memcpy(filters, programs->filters, sizeof(programs->filters));
		err = size_outer_map(object, "rings", nr, patterns->ring) ?:
		      size_outer_map(object, "doorbells", nr, patterns->doorbell) ?:
		      size_map(object, "enter_time", nr) ?:
		      bpf_object__load(object) ?: set_cgroups(programs, map_of(object, "cgroups"));
	}
	if (err) {
		bpf_object__close(object);
		programs->object = NULL;
		return err;
	}
	programs->words = section(object, ".bss");
	programs->words_map = map_of(object, ".bss");
	programs->lost_map = map_of(object, "lost");
	if (programs->selected[RING_EVENT_sys_enter])
		programs->enter_time = map_of(object, "enter_time");
	for (event = 0; event < NR_RING_EVENTS; event++) {
		if (!programs->selected[event])
			continue;
		programs->progs[event] = bpf_program__fd(find(programs, event));
		if (next_names[event])
			programs->next[event] = map_of(object, next_names[event]);
	}
	programs->elf_sum = checksum(elf, bytes);
	return 0;
}

static int load_any(struct bpf_programs *programs, const struct patterns *patterns)
{
	libbpf_print_fn_t print = libbpf_set_print(print_debug);
	const void *elf;
	size_t bytes;
	int err;

	elf = event_ring_bpf__elf_bytes(&bytes);
	err = load_object(programs, elf, bytes, patterns);
	if (err) {
		elf = event_ring_plain_bpf__elf_bytes(&bytes);
		err = load_object(programs, elf, bytes, patterns);
	}
	libbpf_set_print(print);
	return err;
}

static int alloc(struct bpf_programs *programs)
{
	int i, nr = programs->setup.nr_cpus, nr_possible = libbpf_num_possible_cpus();

	programs->fds = malloc(nr * sizeof(*programs->fds));
	programs->counts = calloc(max(nr, nr_possible), sizeof(*programs->counts));
	for (i = 0; programs->fds && i < nr; i++)
		programs->fds[i] = -1;
	return programs->fds && programs->counts ? 0 : -ENOMEM;
}

/*
 * Adoption
 */

/* Return: checksum of all that pinned programs must have in common with these to be adopted. */
static __u64 constants_sum(const struct bpf_programs *programs)
{
	return checksum(&programs->constants, sizeof(programs->constants)) ^
	       checksum(programs->selected, sizeof(programs->selected)) << 1 ^
	       checksum(programs->filters, sizeof(programs->filters)) << 2 ^
	       checksum(programs->cgroup_ids, sizeof(programs->cgroup_ids)) << 3;
}

static bool is_current(__u64 sum)
{
	const void *elf;
	size_t bytes;

	elf = event_ring_bpf__elf_bytes(&bytes);
	if (checksum(elf, bytes) == sum)
		return true;
	elf = event_ring_plain_bpf__elf_bytes(&bytes);
	return checksum(elf, bytes) == sum;
}

/* Map the words that the programs share with perf. */
static int adopt_words(struct bpf_programs *programs, const struct bpf_pins *pins)
{
	size_t bytes = 0;
	void *map;

	programs->words_map = bpf_pins__get_map(pins, "", "words", &bytes);
	if (programs->words_map < 0)
		return programs->words_map;
	if (bytes < sizeof(*programs->words))
		return -EINVAL;
	map = mmap(NULL, sizeof(*programs->words), PROT_READ | PROT_WRITE, MAP_SHARED,
		   programs->words_map, 0);
	if (map == MAP_FAILED)
		return -errno;
	programs->words = map;
	return 0;
}

/* bpf_programs__read_lost() has room for words only. */
static int adopt_lost(struct bpf_programs *programs, const struct bpf_pins *pins)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);

	programs->lost_map = bpf_pins__get(pins, "", "lost");
	if (programs->lost_map < 0)
		return programs->lost_map;
	if (bpf_obj_get_info_by_fd(programs->lost_map, &info, &len))
		return -errno;
	return info.type == BPF_MAP_TYPE_PERCPU_ARRAY &&
	       info.value_size == sizeof(*programs->counts) &&
	       info.max_entries == NR_RING_COUNTERS ? 0 : -EINVAL;
}

/*
 * The arrays of programs are not pinned, so that the kernel empties them when their recorder is
 * gone.
 *
 * Return: a descriptor of the map of this type and name that a program uses, or -1. A name may be
 * empty for the only map of its type.
 */
static int find_map(int program, enum bpf_map_type type, const char *name)
{
	struct bpf_prog_info info = { 0 };
	__u32 ids[16], len = sizeof(info), map_len, i;
	struct bpf_map_info map;
	int fd;

	info.nr_map_ids = ARRAY_SIZE(ids);
	info.map_ids = (unsigned long)ids;
	if (bpf_obj_get_info_by_fd(program, &info, &len))
		return -1;
	for (i = 0; i < info.nr_map_ids && i < ARRAY_SIZE(ids); i++) {
		fd = bpf_map_get_fd_by_id(ids[i]);
		if (fd < 0)
			continue;
		map = (struct bpf_map_info){ 0 };
		map_len = sizeof(map);
		if (!bpf_obj_get_info_by_fd(fd, &map, &map_len) && map.type == type &&
		    (!*name || !strcmp(map.name, name)))
			return fd;
		fd__close(&fd);
	}
	return -1;
}

static int adopt_all(struct bpf_programs *programs, const struct bpf_pins *pins)
{
	int err = adopt_words(programs, pins) ?: adopt_lost(programs, pins), event;

	for (event = 0; event < NR_RING_EVENTS && !err; event++) {
		if (!programs->selected[event])
			continue;
		programs->progs[event] = bpf_pins__get(pins, "prog-", names[event]);
		err = min(programs->progs[event], 0);
		if (!err && next_names[event])
			programs->next[event] = find_map(programs->progs[event],
							 BPF_MAP_TYPE_PROG_ARRAY, "");
	}
	if (!err && programs->selected[RING_EVENT_sys_enter])
		programs->enter_time = find_map(programs->progs[RING_EVENT_sys_enter],
						BPF_MAP_TYPE_ARRAY, "enter_time");
	return err;
}

static int adopt(struct bpf_programs *programs, const struct bpf_pins *pins)
{
	const struct bpf_pin_header *header = &pins->header;
	int err;

	if (!is_current(header->programs))
		return bpf_pins__refuse(pins, "the programs of this perf differ");
	if (header->data_bytes != programs->setup.data_bytes)
		return bpf_pins__refuse(pins, "its rings have another size (-m)");
	if (header->constants != constants_sum(programs))
		return bpf_pins__refuse(pins, "it recorded other events");
	programs->elf_sum = header->programs;
	err = adopt_all(programs, pins);
	if (!err)
		return 0;
	pr_debug("Cannot adopt %s: %s\n", pins->path, strerror(-err));
	return bpf_pins__refuse(pins, "some of its maps are missing, or have another layout");
}

int bpf_programs__load(struct bpf_programs *programs, const struct bpf_ring_setup *setup)
{
	struct patterns patterns;
	int err;

	programs->setup = *setup;
	programs->constants.data_mask = setup->data_bytes - sizeof(__u64);
	programs->constants.drained = setup->drained;
	programs->constants.has_cgroup = setup->has_cgroup;
	programs->constants.marker = setup->marker;
	programs->constants.awaits_exec = setup->awaits_exec;
	programs->constants.preemptible = setup->preemptible;
	programs->constants.wide_count = setup->wide_count;
	programs->constants.passes_state = setup->passes_state;
	err = alloc(programs);
	if (err)
		return err;
	if (setup->pins && setup->pins->complete)
		return adopt(programs, setup->pins);
	patterns = (struct patterns){ create_array(setup->data_bytes, 0), create_doorbell() };
	err = patterns.ring < 0 ? patterns.ring : min(patterns.doorbell, 0);
	err = err ?: load_any(programs, &patterns);
	fd__close(&patterns.ring);
	fd__close(&patterns.doorbell);
	return err;
}

bool bpf_programs__adopted(const struct bpf_programs *programs)
{
	return programs->words && !programs->object;
}

/*
 * Pins
 */

static int pin_rings(const struct bpf_programs *programs)
{
	int cpu, err = 0;
	char name[16];

	for (cpu = 0; cpu < programs->setup.nr_cpus && !err; cpu++) {
		if (programs->fds[cpu] < 0)
			continue;
		snprintf(name, sizeof(name), "%d", cpu);
		err = bpf_pins__add(programs->setup.pins, "ring-", name, programs->fds[cpu]);
	}
	return err;
}

int bpf_programs__pin(const struct bpf_programs *programs)
{
	const struct bpf_pins *pins = programs->setup.pins;
	int event, err = pin_rings(programs);

	err = err ?: bpf_pins__add(pins, "", "words", programs->words_map) ?:
	      bpf_pins__add(pins, "", "lost", programs->lost_map);
	for (event = 0; event < NR_RING_EVENTS && !err; event++) {
		if (!programs->links[event])
			continue;
		err = bpf_pins__add(pins, "prog-", names[event], programs->progs[event]) ?:
			      bpf_pins__add(pins, "link-", names[event],
					    bpf_link__fd(programs->links[event]));
	}
	return err;
}

int bpf_programs__commit(const struct bpf_programs *programs, int fd)
{
	const struct bpf_pin_header header = {
		.programs = programs->elf_sum, .constants = constants_sum(programs),
		.data_bytes = programs->setup.data_bytes,
	};

	return bpf_pins__commit(programs->setup.pins, &header, fd);
}

static int set_entry(struct bpf_programs *programs, const char *map, int cpu, int fd)
{
	return bpf_map_update_elem(bpf_object__find_map_fd_by_name(programs->object, map), &cpu,
				   &fd, BPF_ANY) ? -errno : 0;
}

/* Is it a ring as bpf_programs__add_ring() creates it? */
static bool is_ring(int fd, size_t data_bytes)
{
	struct perf_event_mmap_page *page = mmap(NULL, page_size, PROT_READ, MAP_SHARED, fd, 0);
	bool valid;

	if (page == MAP_FAILED)
		return false;
	valid = page->data_offset == EVENT_RING_DATA && page->data_size == data_bytes &&
		page->cap_size_at_end && page->cap_data_reserved;
	munmap(page, page_size);
	return valid;
}

/* The programs do not write to a CPU that had no ring when they were loaded. */
static int adopt_ring(struct bpf_programs *programs, int cpu)
{
	const size_t data_bytes = programs->setup.data_bytes;
	size_t bytes = 0;
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "%d", cpu);
	fd = bpf_pins__get_map(programs->setup.pins, "ring-", name, &bytes);
	if (fd < 0)
		return fd;
	programs->fds[cpu] = fd;
	return bytes == EVENT_RING_DATA + data_bytes + EVENT_RING_SLACK && is_ring(fd, data_bytes) ?
	       fd : -EINVAL;
}

bool bpf_programs__have_all_rings(const struct bpf_programs *programs)
{
	int cpu, nr = 0;

	for (cpu = 0; cpu < programs->setup.nr_cpus; cpu++)
		nr += programs->fds[cpu] >= 0;
	return nr == bpf_pins__nr_rings(programs->setup.pins);
}

int bpf_programs__add_ring(struct bpf_programs *programs, int cpu, int node)
{
	struct perf_event_mmap_page *page;
	struct event_ring_state *state;
	int fd, err;

	if (cpu < 0 || cpu >= programs->setup.nr_cpus)
		return -EINVAL;
	if (bpf_programs__adopted(programs))
		return adopt_ring(programs, cpu);
	fd = create_array(programs->setup.data_bytes, node);
	if (fd < 0)
		return fd;
	programs->fds[cpu] = fd;
	page = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	state = (void *)page + EVENT_RING_STATE;
	state->woken_at = ~0ULL;
	page->cap_size_at_end = page->cap_data_reserved = !programs->setup.drained;
	page->data_offset = EVENT_RING_DATA;
	page->data_size = programs->setup.data_bytes;
	munmap(page, page_size);
	err = set_entry(programs, "rings", cpu, fd);
	return err ?: fd;
}

int bpf_programs__add_doorbell(struct bpf_programs *programs, int cpu)
{
	int fd = create_doorbell(), err = fd < 0 ? fd : set_entry(programs, "doorbells", cpu, fd);

	if (!err)
		return fd;
	fd__close(&fd);
	return err;
}

struct event_ring_words *bpf_programs__words(struct bpf_programs *programs)
{
	return programs->words;
}

void bpf_programs__read_lost(const struct bpf_programs *programs, unsigned int counter,
			     unsigned long long *counts)
{
	int cpu;

	if (bpf_map_lookup_elem(programs->lost_map, &counter, programs->counts))
		return;
	for (cpu = 0; cpu < programs->setup.nr_cpus; cpu++)
		counts[cpu] = programs->counts[cpu];
}

unsigned long long bpf_programs__misses(const struct bpf_programs *programs,
					enum ring_event program)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(programs->progs[program], &info, &len) ?
	       0 : info.recursion_misses;
}

int bpf_programs__next(const struct bpf_programs *programs, const char *tracepoint)
{
	int event;

	for (event = 0; event < NR_RING_EVENTS; event++) {
		if (!strcmp(names[event] + strlen("on_"), tracepoint))
			return programs->next[event];
	}
	return -1;
}

int bpf_programs__pass_time(struct bpf_programs *programs)
{
	if (programs->enter_time >= 0)
		programs->words->passes_time = 1;
	return programs->enter_time;
}

static struct bpf_link *attach(const struct bpf_programs *programs, enum ring_event event)
{
	struct bpf_program *program = find(programs, event);

	if (bpf_program__type(program) != BPF_PROG_TYPE_TRACEPOINT)
		return bpf_program__attach(program);
	return bpf_attach__by_perf(program, "raw_syscalls",
				   event == RING_EVENT_sys_enter ? "sys_enter" : "sys_exit");
}

int bpf_programs__attach(struct bpf_programs *programs)
{
	int event;

	/*
	 * Adopted programs know when the recorder before was born: they must not take that for this
	 * one.
	 */
	__atomic_store_n(&programs->words->own_tgid, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&programs->words->own_start, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&programs->words->own_tgid, programs->setup.own_tgid, __ATOMIC_RELEASE);
	if (bpf_programs__adopted(programs))
		return 0;
	for (event = 0; event < NR_RING_EVENTS; event++) {
		if (!programs->selected[event])
			continue;
		programs->links[event] = attach(programs, event);
		if (!programs->links[event])
			return -errno;
	}
	return 0;
}

static void release_adopted(struct bpf_programs *programs)
{
	int event;

	if (programs->words)
		munmap(programs->words, sizeof(*programs->words));
	fd__close(&programs->words_map);
	fd__close(&programs->lost_map);
	fd__close(&programs->enter_time);
	for (event = 0; event < NR_RING_EVENTS; event++) {
		fd__close(&programs->progs[event]);
		fd__close(&programs->next[event]);
	}
}

void bpf_programs__delete(struct bpf_programs *programs)
{
	int i;

	if (!programs)
		return;
	for (i = 0; i < NR_RING_EVENTS; i++)
		bpf_link__destroy(programs->links[i]);
	if (!programs->object)
		release_adopted(programs);
	bpf_object__close(programs->object);
	for (i = 0; programs->fds && i < programs->setup.nr_cpus; i++)
		fd__close(&programs->fds[i]);
	free(programs->fds);
	free(programs->counts);
	free(programs);
}
