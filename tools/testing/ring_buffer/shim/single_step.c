// SPDX-License-Identifier: GPL-2.0-only
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "single_step.h"

#ifdef __x86_64__
#include <ucontext.h>

#define TRAP_FLAG	0x100
#define INT3		0xcc

enum run_state {
	RUN_FREE,		/* nothing more to be done in this call */
	RUN_TRACE,		/* the trap flag is set: each boundary is told */
	RUN_BREAK,		/* a breakpoint waits */
	RUN_OVER,		/* the breakpoint was met too early: step over it */
};

/* A call that is being stepped; those that it interrupted are above it. */
struct run {
	struct run		*interrupted;
	enum run_state		 state;
	stepper_at		 at;
	void			*ctx;
	struct stepper_path	*trace;		/* RUN_TRACE: to be filled */
	unsigned int		 i;		/* boundaries so far; RUN_BREAK: where to stop */
	unsigned int		 left;		/* times that it is met before that */
	uint8_t			*target;	/* the instruction where the breakpoint is */
	uint8_t			 saved;		/* its first byte */
	bool			 stopped;	/* there */
};

static struct run *current;

/*
 * void stepper_call(stepper_fn fn, void *arg, unsigned long flags)
 *
 * The flag traps after the instruction that follows popf: at the entry of fn.
 */
void stepper_call(stepper_fn fn, void *arg, unsigned long flags);
extern const char stepper_returned[];

asm(	".pushsection .text\n"
	".type stepper_call, @function\n"
	".globl stepper_call\n"
	"stepper_call:\n"
	"	push	%rbx\n"
	"	mov	%rdi, %rax\n"
	"	mov	%rsi, %rdi\n"
	"	pushf\n"
	"	or	%rdx, (%rsp)\n"
	"	popf\n"
	"	call	*%rax\n"
	".globl stepper_returned\n"
	"stepper_returned:\n"
	"	pop	%rbx\n"
	"	ret\n"
	".size stepper_call, . - stepper_call\n"
	".popsection\n");

/* Text is made writable page by page, where breakpoints come to lie. */
static void make_writable(uint8_t *byte)
{
	static const uint8_t *known[64];
	static unsigned int nr;
	long page_size = sysconf(_SC_PAGESIZE);
	uint8_t *page = byte - (uintptr_t)byte % page_size;
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (known[i] == page)
			return;
	if (mprotect(page, page_size, PROT_READ | PROT_WRITE | PROT_EXEC))
		abort();		/* stepper__init() has tried it */
	if (nr < sizeof(known) / sizeof(*known))
		known[nr++] = page;
}

/* No calls in here: the breakpoint may be anywhere, in memcpy() for instance. */
static void plant(struct run *run)
{
	*(volatile uint8_t *)run->target = INT3;
}

static void remove_breakpoint(struct run *run)
{
	*(volatile uint8_t *)run->target = run->saved;
}

static void set_break(struct run *run, const struct stepper_path *path, unsigned int i,
		      stepper_at at, void *ctx)
{
	run->state = RUN_BREAK;
	run->stopped = false;
	run->at = at;
	run->ctx = ctx;
	run->i = i;
	run->left = path->pass[i];
	run->target = (uint8_t *)path->ip[i];
	run->saved = *run->target;
	make_writable(run->target);
}

static void set_trace(struct run *run, struct stepper_path *path, stepper_at at, void *ctx)
{
	run->state = RUN_TRACE;
	run->at = at;
	run->ctx = ctx;
	run->trace = path;
	run->i = 0;
	if (path)
		path->nr = 0;
}

static void add_to_path(struct stepper_path *path, const void *ip)
{
	unsigned int n;

	if (!path || path->nr == STEPPER_MAX)
		return;
	for (n = path->nr; n > 0 && path->ip[n - 1] != ip; n--)
		;
	path->pass[path->nr] = n ? path->pass[n - 1] + 1 : 0;
	path->ip[path->nr++] = ip;
}

/* What is called here may set the next stop. */
static void stop(struct run *run, const void *ip)
{
	run->state = RUN_FREE;
	run->stopped = true;
	run->at(run->ctx, run->i, ip);
	if (run->state == RUN_TRACE) {
		add_to_path(run->trace, ip);
		run->i = 1;
	}
}

static void on_breakpoint(struct run *run)
{
	remove_breakpoint(run);
	if (run->left--)
		run->state = RUN_OVER;
	else
		stop(run, run->target);
}

static void on_step(struct run *run, const void *ip)
{
	if (run->state == RUN_TRACE) {
		add_to_path(run->trace, ip);
		if (run->at)
			run->at(run->ctx, run->i, ip);
		run->i++;
	} else if (ip != run->target) {
		run->state = RUN_BREAK;
	} else if (!run->left--) {
		stop(run, ip);			/* it repeats itself */
	}
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	struct run *run = current;

	if (run->state == RUN_BREAK) {
		regs[REG_RIP] = (greg_t)run->target;
		on_breakpoint(run);
	} else if (regs[REG_RIP] == (greg_t)stepper_returned) {
		run->state = RUN_FREE;
	} else {
		on_step(run, (const void *)regs[REG_RIP]);
	}

	regs[REG_EFL] &= ~TRAP_FLAG;
	if (run->state == RUN_TRACE || run->state == RUN_OVER)
		regs[REG_EFL] |= TRAP_FLAG;
	else if (run->state == RUN_BREAK)
		plant(run);
}

const char *stepper__init(void)
{
	struct sigaction action = {
		.sa_sigaction = on_trap,
		.sa_flags = SA_SIGINFO | SA_NODEFER,
	};
	void *page = (void *)((uintptr_t)stepper_returned & -sysconf(_SC_PAGESIZE));

	if (mprotect(page, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE | PROT_EXEC))
		return "program text cannot be made writable, for breakpoints";
	sigaction(SIGTRAP, &action, NULL);
	return NULL;
}

unsigned int stepper__trace(struct stepper_path *path, stepper_fn fn, void *arg, stepper_at at,
			    void *ctx)
{
	struct run run = { .interrupted = current };

	set_trace(&run, path, at, ctx);
	current = &run;
	stepper_call(fn, arg, TRAP_FLAG);
	current = run.interrupted;
	return run.i;
}

bool stepper__stop(const struct stepper_path *path, unsigned int i, stepper_fn fn, void *arg,
		   stepper_at at, void *ctx)
{
	struct run run = { .interrupted = current };

	set_break(&run, path, i, at, ctx);
	current = &run;
	plant(&run);
	stepper_call(fn, arg, 0);
	if (run.state == RUN_BREAK)
		remove_breakpoint(&run);
	current = run.interrupted;
	return run.stopped;
}

void stepper__then_trace(struct stepper_path *path, stepper_at at, void *ctx)
{
	set_trace(current, path, at, ctx);
}

void stepper__then_stop(const struct stepper_path *path, unsigned int i, stepper_at at, void *ctx)
{
	set_break(current, path, i, at, ctx);
}

#else

const char *stepper__init(void)
{
	return "single-stepping is written for x86-64";
}

unsigned int stepper__trace(struct stepper_path *path, stepper_fn fn, void *arg, stepper_at at,
			    void *ctx)
{
	abort();
}

bool stepper__stop(const struct stepper_path *path, unsigned int i, stepper_fn fn, void *arg,
		   stepper_at at, void *ctx)
{
	abort();
}

void stepper__then_trace(struct stepper_path *path, stepper_at at, void *ctx)
{
	abort();
}

void stepper__then_stop(const struct stepper_path *path, unsigned int i, stepper_at at, void *ctx)
{
	abort();
}

#endif

const char *stepper__function(const void *ip)
{
	Dl_info info;

	return dladdr(ip, &info) && info.dli_sname ? info.dli_sname : "?";
}
