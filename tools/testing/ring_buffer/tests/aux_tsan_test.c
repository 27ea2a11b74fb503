// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test mapping and unmapping an AUX area while other CPUs use the ring, under ThreadSanitizer.
 * tags: fast parallel
 *
 * One thread plays a CPU on which the event is enabled; holding the lock stands for disabled
 * interrupts. Another thread plays a process that has mapped the same ring and faults on its
 * control and data pages. The main thread maps the area, and unmaps it as perf_mmap_close() does:
 * it stops the driver in an "interrupt" of that CPU. Everything that this does not order has to be
 * ordered by ring_buffer_aux.c.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <linux/perf_event.h>
#include "internal.h"

#include "shim/ring.h"
#include "shim/expect.h"

#define ROUNDS		2000
#define DATA_PAGES	16

int shim_barrier;

/* Driver data: returned by setup_aux(), freed by free_aux(). */
struct area {
	void		**pages;
	unsigned long	size;
	bool		overwrite;
};

static struct {
	struct ring			*ring;
	pthread_mutex_t			 irqs_off;
	struct perf_output_handle	 handle;
	struct area			*area;		/* NULL if the driver is not running */
	bool				 run_until_stopped;
	bool				 exit;
	/* Calls of perf_aux_output_begin(), by result; runs, by what ended them. */
	unsigned long			 tries, begun, refused, stopped, ended;
	unsigned long			 warnings;
} cpu = { .irqs_off = PTHREAD_MUTEX_INITIALIZER };

static unsigned long setups, refusals, frees;
static bool refuse;

static void *setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	struct area *area;

	if (refuse) {
		refusals++;
		return NULL;
	}
	area = malloc(sizeof(*area));
	*area = (struct area){ pages, nr_pages * PAGE_SIZE, overwrite };
	setups++;
	return area;
}

static void free_area(void *aux)
{
	frees++;
	free(aux);
}

static unsigned int random_below(unsigned int *state, unsigned int n)
{
	*state = *state * 1103515245 + 12345;
	return (*state >> 16) % n;
}

/*
 * The driver, with "interrupts" disabled
 */

static void count(unsigned long *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static void start(void)
{
	cpu.area = perf_aux_output_begin(&cpu.handle, &cpu.ring->event);
	count(cpu.area ? &cpu.begun : &cpu.refused);
	count(&cpu.tries);
}

static void write_area(unsigned long bytes)
{
	unsigned long at = cpu.handle.head % cpu.area->size;

	while (bytes--) {
		((char *)cpu.area->pages[at >> PAGE_SHIFT])[at % PAGE_SIZE]++;
		at = (at + 1) % cpu.area->size;
	}
}

static void stop(unsigned long *counter)
{
	struct perf_event_mmap_page *user = cpu.ring->user;
	unsigned long size = 100;

	write_area(size);
	if (cpu.area->overwrite)
		cpu.handle.head = (cpu.handle.head + size) % cpu.area->size;
	perf_aux_output_end(&cpu.handle, size);
	cpu.area = NULL;
	user->aux_tail = user->aux_head;
	user->data_tail = user->data_head;
	count(counter);
}

static void *run_cpu(void *arg)
{
	unsigned int state = 1;

	while (!__atomic_load_n(&cpu.exit, __ATOMIC_RELAXED)) {
		pthread_mutex_lock(&cpu.irqs_off);
		if (!cpu.area)
			start();
		else if (!__atomic_load_n(&cpu.run_until_stopped, __ATOMIC_RELAXED))
			stop(&cpu.ended);
		else
			write_area(10);
		pthread_mutex_unlock(&cpu.irqs_off);
		if (random_below(&state, 2))
			sched_yield();
	}
	cpu.warnings = shim.warnings;
	return NULL;
}

/*
 * The process that faults
 */

static void *fault(void *arg)
{
	struct perf_buffer *rb = cpu.ring->rb;
	unsigned long wrong = 0;

	while (!__atomic_load_n(&cpu.exit, __ATOMIC_RELAXED)) {
		wrong += perf_mmap_to_page(rb, 0) != virt_to_page(rb->user_page);
		for (int i = 0; i < DATA_PAGES; i++)
			wrong += perf_mmap_to_page(rb, 1 + i) != virt_to_page(rb->pages[i]);
		sched_yield();
	}
	return (void *)wrong;
}

/*
 * The program that maps the area
 */

static void wait_for_change(const unsigned long *counter)
{
	unsigned long before = __atomic_load_n(counter, __ATOMIC_RELAXED);

	while (__atomic_load_n(counter, __ATOMIC_RELAXED) == before)
		sched_yield();
}

static void wait_until_running(void)
{
	bool writes = false;

	while (!writes) {
		sched_yield();
		pthread_mutex_lock(&cpu.irqs_off);
		writes = cpu.area;
		pthread_mutex_unlock(&cpu.irqs_off);
	}
}

/* @late: let the driver try to begin before the last reference to the area is dropped. */
static void unmap(struct perf_buffer *rb, bool late)
{
	EXPECT(refcount_dec_and_test(&rb->aux_mmap_count));
	pthread_mutex_lock(&cpu.irqs_off);	/* the IPI of perf_pmu_output_stop() */
	if (cpu.area)
		stop(&cpu.stopped);
	pthread_mutex_unlock(&cpu.irqs_off);
	if (late)
		wait_for_change(&cpu.tries);
	rb_free_aux(rb);
	EXPECT(!refcount_read(&rb->aux_refcount) && frees == setups);
}

static void test_unmap_race(void)
{
	struct ring *ring = ring_new(&ring_impl, RING_STREAMING, DATA_PAGES, LONG_MAX);
	pthread_t thread, faulting;
	unsigned long forced = 0;
	unsigned int state = 2;
	void *wrong;

	ring->pmu.setup_aux = setup_aux;
	ring->pmu.free_aux = free_area;
	cpu.ring = ring;
	if (pthread_create(&thread, NULL, run_cpu, NULL) ||
	    pthread_create(&faulting, NULL, fault, NULL))
		abort();
	for (unsigned int i = 0; i < ROUNDS; i++) {
		bool force = !random_below(&state, 4);

		__atomic_store_n(&cpu.run_until_stopped, force, __ATOMIC_RELAXED);
		ring->user->aux_tail = ring->user->aux_head;
		refuse = !random_below(&state, 4);
		if (refuse)
			EXPECT(ring_impl.alloc_aux(ring->rb, &ring->event, 4, 0, RING_STREAMING) ==
			       -ENOMEM);
		refuse = false;
		EXPECT(!ring_impl.alloc_aux(ring->rb, &ring->event, 1 + random_below(&state, 9), 0,
					    random_below(&state, 2) ? RING_STREAMING : 0));
		if (force)
			wait_until_running();
		else if (random_below(&state, 2))
			wait_for_change(&cpu.begun);
		unmap(ring->rb, !random_below(&state, 4));
		forced += force;
		if (random_below(&state, 2))
			wait_for_change(&cpu.refused);
	}
	__atomic_store_n(&cpu.exit, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	pthread_join(faulting, &wrong);
	EXPECT(!wrong && refusals);

	printf("# begun %lu, ended %lu, stopped %lu, refused %lu\n", cpu.begun, cpu.ended,
	       cpu.stopped, cpu.refused);
	EXPECT(setups == ROUNDS && frees == ROUNDS && !cpu.warnings);
	EXPECT(cpu.begun == cpu.ended + cpu.stopped && cpu.ended && cpu.refused);
	EXPECT(cpu.stopped >= forced && forced);
	EXPECT(refcount_read(&ring->rb->refcount) == 1 && !ring->rb->aux_nest);
	ring_delete(ring);
}

int main(void)
{
	TAP_RUN(test_unmap_race,
		"map and unmap while a driver begins, writes and ends, and a process faults");
	return tap_end();
}
