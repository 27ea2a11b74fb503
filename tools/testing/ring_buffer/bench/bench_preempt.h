/* SPDX-License-Identifier: GPL-2.0-only */
/* Replace the shim's preempt_disable() etc. by one instruction each, as in the kernel. */
#include <linux/hardirq.h>

#undef preempt_disable
#undef preempt_enable
#undef rcu_read_lock
#undef rcu_read_unlock

static int bench_preempt __maybe_unused, bench_rcu __maybe_unused;

#ifdef __x86_64__
#define bench_inc(depth)	asm volatile("incl %0" : "+m" (depth) : : "memory", "cc")
#define bench_dec(depth)	asm volatile("decl %0" : "+m" (depth) : : "memory", "cc")
#else
#define bench_inc(depth)	do { (depth)++; barrier(); } while (0)
#define bench_dec(depth)	do { barrier(); (depth)--; } while (0)
#endif

#define preempt_disable()	bench_inc(bench_preempt)
#define preempt_enable()	bench_dec(bench_preempt)
#define rcu_read_lock()		bench_inc(bench_rcu)
#define rcu_read_unlock()	bench_dec(bench_rcu)
