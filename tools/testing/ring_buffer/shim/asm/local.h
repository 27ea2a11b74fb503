/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Define local_t operations, which are atomic against interrupts on the same CPU. On x86-64 each is
 * one instruction without lock prefix, as in the kernel: single-stepped tests interrupt between any
 * two instructions.
 */
#ifndef SHIM_ASM_LOCAL_H
#define SHIM_ASM_LOCAL_H

#include <linux/atomic.h>

typedef struct { long counter; } local_t;

static inline long local_read(const local_t *l)
{
	return READ_ONCE(l->counter);
}

static inline void local_set(local_t *l, long value)
{
	WRITE_ONCE(l->counter, value);
}

#ifdef __x86_64__

static inline void local_inc(local_t *l)
{
	asm volatile("incq %0" : "+m" (l->counter) : : "cc");
}

static inline void local_dec(local_t *l)
{
	asm volatile("decq %0" : "+m" (l->counter) : : "cc");
}

static inline void local_add(long value, local_t *l)
{
	asm volatile("addq %1, %0" : "+m" (l->counter) : "er" (value) : "cc");
}

static inline long local_add_return(long value, local_t *l)
{
	long old = value;

	asm volatile("xaddq %0, %1" : "+r" (old), "+m" (l->counter) : : "memory", "cc");
	return (unsigned long)old + value;	/* wraps */
}

static inline bool local_try_cmpxchg(local_t *l, long *old, long new)
{
	bool done;

	asm volatile("cmpxchgq %3, %1"
		     : "=@ccz" (done), "+m" (l->counter), "+a" (*old)
		     : "r" (new)
		     : "memory");
	return done;
}

#else

static inline void local_inc(local_t *l)
{
	__atomic_fetch_add(&l->counter, 1, __ATOMIC_RELAXED);
}

static inline void local_dec(local_t *l)
{
	__atomic_fetch_sub(&l->counter, 1, __ATOMIC_RELAXED);
}

static inline void local_add(long value, local_t *l)
{
	__atomic_fetch_add(&l->counter, value, __ATOMIC_RELAXED);
}

static inline long local_add_return(long value, local_t *l)
{
	return __atomic_add_fetch(&l->counter, value, __ATOMIC_RELAXED);
}

static inline bool local_try_cmpxchg(local_t *l, long *old, long new)
{
	return __atomic_compare_exchange_n(&l->counter, old, new, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

#endif

static inline void local_sub(long value, local_t *l)
{
	local_add(-value, l);
}

static inline long local_xchg(local_t *l, long new)
{
	long old = local_read(l);

	while (!local_try_cmpxchg(l, &old, new))
		;
	return old;
}

#endif
