// SPDX-License-Identifier: GPL-2.0-only
/* Run random actions on the events of one process, and the workload that events measure. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

#define MAX_PAGES	64
#define MAX_DEPTH	2	/* of children that act as well */

static struct event events[NR_EVENTS];
static pid_t workload;
static int cgroup = -1;
static unsigned int depth;
static size_t page_size;

/*
 * A mapped page may have lost its ring, and data pages are read-only: skip the rest of an access
 * that faults.
 */

static sigjmp_buf fault_exit;
static volatile sig_atomic_t may_fault;

static void on_fault(int number)
{
	if (may_fault)
		siglongjmp(fault_exit, 1);
	signal(number, SIG_DFL);
}

static void ignore(int number)
{
	(void)number;
}

static void set_handlers(void)
{
	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
	signal(SIGTRAP, ignore);
	signal(SIGIO, ignore);
}

static void guarded(void (*access)(struct event *event), struct event *event)
{
	if (!sigsetjmp(fault_exit, 1)) {
		may_fault = 1;
		access(event);
	}
	may_fault = 0;
}

/*
 * The table
 */

static struct event *pick(bool (*usable)(const struct event *event))
{
	unsigned int first = random_below(NR_EVENTS);

	for (unsigned int i = 0; i < NR_EVENTS; i++) {
		struct event *event = &events[(first + i) % NR_EVENTS];

		if (usable(event))
			return event;
	}
	return NULL;
}

static bool is_free(const struct event *event)
{
	return event->fd < 0;
}

static bool is_open(const struct event *event)
{
	return event->fd >= 0;
}

static bool is_mapped(const struct event *event)
{
	return event->page;
}

static bool may_map_area(const struct event *event)
{
	return event->page && !event->aux && attr_has_aux(&event->attr) &&
	       (event->writable || event->hostile);
}

static bool is_unmapped(const struct event *event)
{
	return event->fd >= 0 && !event->page;
}

/* Mappings are not inherited: a child has the descriptors only. */
static void inherit_table(void)
{
	for (unsigned int i = 0; i < NR_EVENTS; i++) {
		events[i].page = NULL;
		events[i].aux = NULL;
		events[i].mine = false;
	}
}

static void unmap_area(struct event *event)
{
	if (event->aux)
		munmap(event->aux, event->aux_size);
	event->aux = NULL;
}

static void unmap_ring(struct event *event)
{
	if (event->page)
		munmap(event->page, page_size + event->size);
	event->page = NULL;
}

static void forget(struct event *event)
{
	/* In any order: the ring lives as long as its last mapping. */
	bool close_first = one_in(3), area_first = one_in(2);

	if (close_first)
		close(event->fd);
	if (area_first)
		unmap_area(event);
	unmap_ring(event);
	unmap_area(event);
	if (!close_first)
		close(event->fd);
	event->fd = -1;
}

/*
 * Actions
 */

static void act_open(void)
{
	static const int cpus[] = { -1, -1, -1, 0, 1 };
	struct event *event = pick(is_free), *leader = one_in(2) ? pick(is_open) : NULL;
	unsigned long flags = one_in(2) ? PERF_FLAG_FD_CLOEXEC : 0;
	pid_t targets[] = { 0, 0, workload, workload, getppid(), -1 };
	pid_t pid = PICK(targets);
	int cpu = PICK(cpus);

	if (!event) {
		event = pick(is_open);
		forget(event);
	}
	if (leader && !one_in(8)) {
		pid = leader->pid;
		cpu = leader->cpu;
	}
	memset(event, 0, sizeof(*event));
	event->fd = -1;
	event->pid = pid;
	event->cpu = cpu;
	attr_random(&event->attr, leader);
	if (pid == -1 && cpu == -1)
		cpu = 0;
	if (one_in(32))
		flags |= 1UL << random_below(5);
	if (leader && !leader->mine)	/* another process may check its ring */
		flags &= ~PERF_FLAG_FD_OUTPUT;
	if (one_in(16) && cgroup >= 0 && cpu >= 0) {
		flags |= PERF_FLAG_PID_CGROUP;
		pid = cgroup;
	}
	event->fd = syscall(SYS_perf_event_open, &event->attr, pid, cpu, leader ? leader->fd : -1,
			    flags);
	if (event->fd < 0) {
		count(&counts->refused, 1);
		return;
	}
	count(&counts->opened, 1);
	event->mine = true;
	event->hostile = one_in(2);
	event->writable = one_in(2);
	event->pages = 1U << random_below(7);
	/*
	 * Redirected at once, as by PERF_FLAG_FD_OUTPUT: the ring is that of the leader. Do not
	 * check it: it has records of several events, and may be mapped with another access.
	 */
	event->shared = flags & PERF_FLAG_FD_OUTPUT;
	event->hostile |= event->shared;
	if (leader && event->shared) {
		leader->shared = true;
		leader->hostile = true;
	}
}

static void act_close(void)
{
	struct event *event = pick(is_open);

	if (event)
		forget(event);
}

static void act_map(void)
{
	struct event *event = pick(is_unmapped);
	int prot = PROT_READ, flags = MAP_SHARED;
	size_t pages;
	void *base;

	if (!event)
		return;
	pages = event->pages;
	if (event->writable)
		prot |= PROT_WRITE;
	if (event->hostile && one_in(4))
		prot ^= PROT_WRITE;
	if (event->hostile && one_in(8))
		pages = random_below(MAX_PAGES + 1);
	if (one_in(32))
		flags = MAP_PRIVATE;
	if (one_in(4))
		flags |= MAP_POPULATE;
	base = mmap(NULL, (1 + pages) * page_size, prot, flags, event->fd, 0);
	if (base == MAP_FAILED)
		return;
	count(&counts->mapped, 1);
	event->page = base;
	event->size = pages * page_size;
	/* Another ring size or mode than that of the entry: nothing can be checked. */
	event->hostile |= pages != event->pages;
}

/* The size and the offset of the area stand in the control page. */
static void map_area(struct event *event)
{
	size_t pages = one_in(4) ? random_below(MAX_PAGES) : 1U << random_below(7);
	size_t offset, size = pages * page_size;
	void *base;

	if (!event->writable)
		mprotect(event->page, page_size, PROT_READ | PROT_WRITE);
	offset = page_size + event->size + (one_in(3) ? random_below(4) * page_size : 0);
	if (one_in(16))
		offset = random_below(event->size + page_size) & -page_size;
	event->page->aux_offset = offset;
	event->page->aux_size = size;
	base = mmap(NULL, size, one_in(2) ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED,
		    event->fd, offset);
	if (base == MAP_FAILED)
		return;
	count(&counts->aux_mapped, 1);
	event->aux = base;
	event->aux_size = size;
}

static void act_map_area(void)
{
	struct event *event = pick(may_map_area);

	if (event)
		guarded(map_area, event);
}

static void act_unmap(void)
{
	struct event *event = pick(is_mapped);

	if (!event)
		return;
	if (event->aux && one_in(2))
		unmap_area(event);
	else if (one_in(8))	/* a part: refused */
		munmap((char *)event->page + page_size, event->size);
	else
		unmap_ring(event);
}

static void act_protect(void)
{
	static const int prots[] = { PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC };
	struct event *event = pick(is_mapped);

	if (!event)
		return;
	if (one_in(8))
		mremap(event->page, page_size + event->size, 2 * (page_size + event->size), 0);
	else
		mprotect(event->page, page_size + (one_in(2) ? event->size : 0), PICK(prots));
	/* check_ring() needs the access that it had. */
	if (!event->hostile)
		mprotect(event->page, page_size + event->size,
			 event->writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

static void act_check(void)
{
	struct event *event = pick(is_mapped);

	if (event)
		guarded(check_ring, event);
}

/* Read every page of a ring and its area, and try to write to one. */
static void touch(struct event *event)
{
	volatile unsigned char *bytes = (void *)event->page, *area = event->aux;

	for (size_t at = 0; at < page_size + event->size; at += page_size)
		(void)bytes[at];
	for (size_t at = 0; area && at < event->aux_size; at += page_size)
		(void)area[at];
	if (event->aux && one_in(2))
		area[random_below(event->aux_size)] = random_u64();
	bytes[page_size + random_below(event->size + 1)] = 0;
}

static void act_touch(void)
{
	struct event *event = pick(is_mapped);

	if (event)
		guarded(touch, event);
}

static void scribble(struct event *event)
{
	struct perf_event_mmap_page *page = event->page;
	volatile uint64_t *fields[] = {
		(void *)&page->data_head, (void *)&page->data_tail, (void *)&page->data_offset,
		(void *)&page->data_size, (void *)&page->aux_head, (void *)&page->aux_tail,
		(void *)&page->aux_offset, (void *)&page->aux_size, (void *)&page->data_reserved,
		(void *)&page->aux_written, (void *)&page->capabilities,
	};

	if (one_in(4))
		((volatile uint64_t *)page)[random_below(page_size / 8)] = random_number();
	else if (one_in(4))
		page->data_tail = page->data_head - random_below(event->size + 16);
	else
		*PICK(fields) = random_number();
}

static void act_scribble(void)
{
	struct event *event = pick(is_mapped);

	if (!event || !event->hostile)
		return;
	if (!event->writable)
		mprotect(event->page, page_size, PROT_READ | PROT_WRITE);
	for (unsigned int i = random_below(100); i; i--)
		guarded(scribble, event);
}

static void redirect(struct event *event)
{
	struct event *target = one_in(8) ? NULL : pick(is_open);

	/* The checks follow neither rings that others scribble on, nor those of other processes. */
	if (target && (target->hostile != event->hostile ||
		       target->writable != event->writable ||
		       target->pages != event->pages || !target->mine || !event->mine))
		return;
	if (ioctl(event->fd, PERF_EVENT_IOC_SET_OUTPUT, target ? target->fd : -1))
		return;
	event->shared = true;
	if (target)
		target->shared = true;
}

static void set_filter(struct event *event)
{
	static const char *const filters[] = {
		"prev_pid > 5", "common_pid != 0", "id == 39", "filter 0x1000/0x100",
		"filter 0x10/0x20@/bin/sh", "start 0@/bin/sh", "", "(", "common_pid ~ \"*\"",
	};

	ioctl(event->fd, PERF_EVENT_IOC_SET_FILTER, PICK(filters));
}

static void change_attr(struct event *event)
{
	struct perf_event_attr attr = event->attr;

	attr.bp_type = 1 + random_below(3);
	attr.disabled = one_in(2);
	ioctl(event->fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr);
}

static void act_ioctl(void)
{
	static const unsigned long commands[] = {
		PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE,
		PERF_EVENT_IOC_RESET,
	};
	struct event *event = pick(is_open);
	uint64_t value;

	if (!event)
		return;
	switch (random_below(10)) {
	case 0 ... 2:
		ioctl(event->fd, PICK(commands), one_in(4) ? PERF_IOC_FLAG_GROUP : 0);
		break;
	case 3 ... 4:
		redirect(event);
		break;
	case 5:
		ioctl(event->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, one_in(2));
		break;
	case 6:
		ioctl(event->fd, PERF_EVENT_IOC_REFRESH, random_below(10));
		break;
	case 7:
		value = one_in(2) ? 1 + random_below(10) : random_number() | 1 << 16;
		ioctl(event->fd, PERF_EVENT_IOC_PERIOD, &value);
		break;
	case 8:
		set_filter(event);
		break;
	default:
		if (one_in(2))
			change_attr(event);
		else
			ioctl(event->fd, PERF_EVENT_IOC_ID, &value);
	}
}

static void act_read(void)
{
	static char buffer[4096];
	struct event *event = pick(is_open);
	struct pollfd pollfd;

	if (!event)
		return;
	if (read(event->fd, buffer, random_below(sizeof(buffer))) < 0 && errno == EFAULT)
		fail("read of a counter: EFAULT");
	pollfd = (struct pollfd){ .fd = event->fd, .events = POLLIN };
	poll(&pollfd, 1, 0);
}

static void act_signal(void)
{
	struct event *event = pick(is_open);

	if (!event)
		return;
	fcntl(event->fd, F_SETOWN, getpid());
	fcntl(event->fd, F_SETFL, one_in(2) ? O_ASYNC | O_NONBLOCK : O_NONBLOCK);
}

static void act_task(void)
{
	prctl(one_in(4) ? PR_TASK_PERF_EVENTS_DISABLE : PR_TASK_PERF_EVENTS_ENABLE);
}

static void act_migrate(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(random_below(2), &cpus);
	if (one_in(3))
		CPU_SET(0, &cpus), CPU_SET(1, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

/*
 * Actions that events count
 */

static void cause_faults(void)
{
	size_t size = (1 + random_below(16)) * page_size;
	volatile char *area = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		return;
	for (size_t at = 0; at < size; at += page_size)
		area[at] = 1;
	munmap((void *)area, size);
}

static void cause_events(void)
{
	char name[16] = "fuzz-";

	switch (random_below(6)) {
	case 0 ... 2:
		cause_faults();
		break;
	case 3:
		for (unsigned int i = 0; i < 20; i++)
			sched_yield();
		break;
	case 4:
		name[5] = 'a' + random_below(26);
		prctl(PR_SET_NAME, name);
		break;
	default:
		raise(SIGIO);
	}
}

static void act_cause(void)
{
	for (unsigned int i = 1 + random_below(4); i; i--)
		cause_events();
}

/* A child that inherits events and descriptors acts a while, executes a program, or just ends. */
static void act_fork(void)
{
	unsigned int kind = random_below(4);
	uint64_t seed = random_u64();
	pid_t child;

	if (depth == MAX_DEPTH)
		return;
	child = fork();
	if (child < 0)
		return;
	if (!child) {
		depth++;
		random_seed(seed, 0);
		if (!kind)
			execl("/proc/self/exe", "perf_event_fuzz", "--exit", NULL);
		inherit_table();
		if (kind > 1)
			worker_run(random_below(60), workload);
		_exit(0);
	}
	if (one_in(2))
		waitpid(child, NULL, 0);
	else
		act_cause();
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static const struct {
	void		(*act)(void);
	unsigned int	weight;
} actions[] = {
	{ act_open, 18 }, { act_close, 4 }, { act_map, 14 }, { act_map_area, 10 }, { act_unmap, 4 },
	{ act_protect, 3 }, { act_check, 16 }, { act_touch, 3 }, { act_scribble, 8 },
	{ act_ioctl, 14 }, { act_read, 4 }, { act_signal, 1 }, { act_task, 1 }, { act_migrate, 2 },
	{ act_cause, 20 }, { act_fork, 2 },
};

static void act(void)
{
	static unsigned int total;
	unsigned int choice, i;

	for (i = total ? sizeof(actions) : 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		total += actions[i].weight;
	choice = random_below(total);
	for (i = 0; choice >= actions[i].weight; i++)
		choice -= actions[i].weight;
	actions[i].act();
	count(&counts->actions, 1);
}

void worker_run(unsigned int nr, pid_t target)
{
	workload = target;
	page_size = sysconf(_SC_PAGESIZE);
	set_handlers();
	if (!depth) {
		cgroup = open("/sys/fs/cgroup", O_RDONLY | O_CLOEXEC);
		for (unsigned int i = 0; i < NR_EVENTS; i++)
			events[i].fd = -1;
	}
	while (nr--)
		act();
	for (unsigned int i = 0; i < NR_EVENTS; i++)
		if (is_mapped(&events[i]))
			guarded(check_ring, &events[i]);
}

void workload_run(void)
{
	page_size = sysconf(_SC_PAGESIZE);
	set_handlers();
	for (;;) {
		cause_events();
		if (one_in(500) && !fork())
			_exit(0);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}
