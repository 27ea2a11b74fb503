// SPDX-License-Identifier: GPL-2.0-only
/* Implement single_step.h with the trap flag and int3 breakpoints. */
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
	RUN_FREE,		/* run to the end without stops */
	RUN_TRACE,		/* trap flag set: callback at each boundary */
	RUN_BREAK,		/* breakpoint set */
	RUN_OVER,		/* hit the breakpoint before its pass: step over it */
};

/* A call that is being stepped. */
struct run {
	struct run		*interrupted;
	enum run_state		 state;
	step_callback		 at;
	void			*ctx;
	struct step_path	*trace;		/* RUN_TRACE: receives the path, or NULL */
	unsigned int		 i;		/* boundaries so far; RUN_BREAK: where to stop */
	unsigned int		 passes_left;	/* of @target before the stop */
	uint8_t			*target;	/* instruction with the breakpoint */
	uint8_t			 saved;		/* its first byte */
	bool			 stopped;	/* the breakpoint was reached */
};

static struct run *current;

/*
 * void step_call(step_fn fn, void *arg, unsigned long flags)
 *
 * The trap flag takes effect after the instruction that follows popf: at the entry of fn.
 */
void step_call(step_fn fn, void *arg, unsigned long flags);
extern const char step_returned[];

asm(	".pushsection .text\n"
	".type step_call, @function\n"
	".globl step_call\n"
	"step_call:\n"
	"	push	%rbx\n"
	"	mov	%rdi, %rax\n"
	"	mov	%rsi, %rdi\n"
	"	pushf\n"
	"	or	%rdx, (%rsp)\n"
	"	popf\n"
	"	call	*%rax\n"
	".globl step_returned\n"
	"step_returned:\n"
	"	pop	%rbx\n"
	"	ret\n"
	".size step_call, . - step_call\n"
	".popsection\n");

/* Make the page of program text that contains @byte writable, for a breakpoint. */
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
		abort();		/* it worked in step__init() */
	if (nr < sizeof(known) / sizeof(*known))
		known[nr++] = page;
}

/* Must not call anything: the breakpoint can be in any function, such as memcpy(). */
static void insert_breakpoint(struct run *run)
{
	*(volatile uint8_t *)run->target = INT3;
}

static void remove_breakpoint(struct run *run)
{
	*(volatile uint8_t *)run->target = run->saved;
}

static void set_break(struct run *run, const struct step_path *path, unsigned int i,
		      step_callback at, void *ctx)
{
	run->state = RUN_BREAK;
	run->stopped = false;
	run->at = at;
	run->ctx = ctx;
	run->i = i;
	run->passes_left = path->pass[i];
	run->target = (uint8_t *)path->ip[i];
	run->saved = *run->target;
	make_writable(run->target);
}

static void set_trace(struct run *run, struct step_path *path, step_callback at, void *ctx)
{
	run->state = RUN_TRACE;
	run->at = at;
	run->ctx = ctx;
	run->trace = path;
	run->i = 0;
	if (path)
		path->nr = 0;
}

static void add_to_path(struct step_path *path, const void *ip)
{
	unsigned int n;

	if (!path || path->nr == STEP_MAX)
		return;
	for (n = path->nr; n > 0 && path->ip[n - 1] != ip; n--)
		;
	path->pass[path->nr] = n ? path->pass[n - 1] + 1 : 0;
	path->ip[path->nr++] = ip;
}

/* Run the callback, which may set the next stop. */
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
	if (run->passes_left--)
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
	} else if (!run->passes_left--) {
		stop(run, ip);			/* a repeated string instruction */
	}
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	struct run *run = current;

	if (run->state == RUN_BREAK) {
		regs[REG_RIP] = (greg_t)run->target;
		on_breakpoint(run);
	} else if (regs[REG_RIP] == (greg_t)step_returned) {
		run->state = RUN_FREE;
	} else {
		on_step(run, (const void *)regs[REG_RIP]);
	}

	regs[REG_EFL] &= ~TRAP_FLAG;
	if (run->state == RUN_TRACE || run->state == RUN_OVER)
		regs[REG_EFL] |= TRAP_FLAG;
	else if (run->state == RUN_BREAK)
		insert_breakpoint(run);
}

const char *step__init(void)
{
	struct sigaction action = {
		.sa_sigaction = on_trap,
		.sa_flags = SA_SIGINFO | SA_NODEFER,
	};
	void *page = (void *)((uintptr_t)step_returned & -sysconf(_SC_PAGESIZE));

	if (mprotect(page, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE | PROT_EXEC))
		return "cannot make program text writable for breakpoints";
	sigaction(SIGTRAP, &action, NULL);
	return NULL;
}

unsigned int step__trace(struct step_path *path, step_fn fn, void *arg, step_callback at,
			 void *ctx)
{
	struct run run = { .interrupted = current };

	set_trace(&run, path, at, ctx);
	current = &run;
	step_call(fn, arg, TRAP_FLAG);
	current = run.interrupted;
	return run.i;
}

bool step__stop(const struct step_path *path, unsigned int i, step_fn fn, void *arg,
		step_callback at, void *ctx)
{
	struct run run = { .interrupted = current };

	set_break(&run, path, i, at, ctx);
	current = &run;
	insert_breakpoint(&run);
	step_call(fn, arg, 0);
	if (run.state == RUN_BREAK)
		remove_breakpoint(&run);
	current = run.interrupted;
	return run.stopped;
}

void step__then_trace(struct step_path *path, step_callback at, void *ctx)
{
	set_trace(current, path, at, ctx);
}

void step__then_stop(const struct step_path *path, unsigned int i, step_callback at, void *ctx)
{
	set_break(current, path, i, at, ctx);
}

#else

const char *step__init(void)
{
	return "single-stepping is implemented for x86-64 only";
}

unsigned int step__trace(struct step_path *path, step_fn fn, void *arg, step_callback at,
			 void *ctx)
{
	abort();
}

bool step__stop(const struct step_path *path, unsigned int i, step_fn fn, void *arg,
		step_callback at, void *ctx)
{
	abort();
}

void step__then_trace(struct step_path *path, step_callback at, void *ctx)
{
	abort();
}

void step__then_stop(const struct step_path *path, unsigned int i, step_callback at, void *ctx)
{
	abort();
}

#endif

const char *step__function(const void *ip)
{
	Dl_info info;

	return dladdr(ip, &info) && info.dli_sname ? info.dli_sname : "?";
}
