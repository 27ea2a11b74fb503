/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Express the kernel's memory accesses, atomics and barriers in terms of ThreadSanitizer.
 *
 * Included before everything else. Atomics of refcounts are as relaxed as in the kernel. TSan does
 * not know the kernel's barriers, so they are annotated: everything before an smp_wmb() happens
 * before everything behind a later smp_rmb().
 */
#ifndef SHIM_TSAN_H
#define SHIM_TSAN_H

#define SHIM_PER_THREAD

#include <linux/compiler.h>

#undef READ_ONCE
#undef WRITE_ONCE
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELAXED)

/* Replace the functions of tools/arch/x86, which are inline assembly. */
#define _TOOLS_LINUX_ASM_X86_ATOMIC_H

#include <linux/types.h>

#define ATOMIC_INIT(i)		{ (i) }

static inline int atomic_read(const atomic_t *v)
{
	return READ_ONCE(v->counter);
}

static inline void atomic_set(atomic_t *v, int value)
{
	WRITE_ONCE(v->counter, value);
}

static inline int atomic_cmpxchg(atomic_t *v, int old, int new)
{
	__atomic_compare_exchange_n(&v->counter, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

static inline int atomic_cmpxchg_relaxed(atomic_t *v, int old, int new)
{
	__atomic_compare_exchange_n(&v->counter, &old, new, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return old;
}

/* In the kernel a control dependency orders what follows the last put: acquire, too. */
static inline int atomic_cmpxchg_release(atomic_t *v, int old, int new)
{
	__atomic_compare_exchange_n(&v->counter, &old, new, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	return old;
}

static inline int atomic_dec_and_test(atomic_t *v)
{
	return __atomic_sub_fetch(&v->counter, 1, __ATOMIC_SEQ_CST) == 0;
}

#define atomic_cmpxchg_relaxed	atomic_cmpxchg_relaxed
#define atomic_cmpxchg_release	atomic_cmpxchg_release

#include <asm/barrier.h>

#undef smp_wmb
#undef smp_rmb

extern int shim_barrier;
void AnnotateHappensBefore(const char *file, int line, const volatile void *address);
void AnnotateHappensAfter(const char *file, int line, const volatile void *address);

#define smp_wmb()	AnnotateHappensBefore(__FILE__, __LINE__, &shim_barrier)
#define smp_rmb()	AnnotateHappensAfter(__FILE__, __LINE__, &shim_barrier)

#endif
