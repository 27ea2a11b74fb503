// SPDX-License-Identifier: GPL-2.0-only
/*
 * Following a task through user space, instruction by instruction.
 *
 *	          returns to user space: TIP.PGE, TF set
 *	outside -----------------------------------------> inside, armed --.
 *	   ^                                                |    ^         | traps (#DB), no TF:
 *	   `------------------------------------------------'    |         | TNT, TIP
 *	          comes into the kernel otherwise: TIP.PGD       `---------'
 *
 * TF is to be seen by nobody: not in a signal frame, in a new task's registers, in r11 behind a
 * syscall, on the stack behind a pushf, by a debugger, by uprobes. Therefore it is set at the last
 * moment, in the notifier of the return to user space, which comes after signals; and whoever might
 * see it comes by one of the hooks before, where it is cleared: system calls, signals, int3, and
 * the scheduler, which comes before all that is done to a task that does not run. An interrupt or a
 * page fault that leads to none of these goes back to the instruction that it came from, and
 * nothing happened.
 *
 * Whoever sets TF himself, be it the program (popf) or a debugger, has it: as long as it is set the
 * task is not traced.
 *
 * The trap comes with the address of the next instruction. What the one before was is read from
 * memory, and if it could not have led there, or is nothing that we know, the trace says that user
 * space was left and entered again: it never guesses.
 *
 * Threads whose contexts are equal are switched between without the event's being stopped: who is
 * followed is whoever runs.
 */
#include <linux/kdebug.h>
#include <linux/mutex.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <asm/debugreg.h>

#include "soft_pt.h"

/* Nobody is stepped if there is no room for what he does. */
static void enter(struct soft_pt *pt, struct pt_regs *regs)
{
	if (pt->paused || !user_64bit_mode(regs) || (regs->flags & X86_EFLAGS_TF))
		return;
	if (!soft_pt_area_has_room(pt)) {
		soft_pt_area_truncate(pt);
		return;
	}
	if (soft_pt_psb_is_due(pt))
		soft_pt_psb(pt, false, 0);
	else
		soft_pt_tsc(pt);
	soft_pt_pge(pt, regs->ip);
	pt->from = regs->ip;
	pt->inside = true;
}

static void disarm(struct soft_pt *pt, struct pt_regs *regs)
{
	if (pt->armed)
		regs->flags &= ~X86_EFLAGS_TF;
	pt->armed = false;
}

/* The last instruction before @ip, where pt->from is then. Whether it leads there is not said. */
static void read_executed(struct soft_pt *pt, struct soft_pt_insn *insn, u64 ip)
{
	soft_pt_insn_read(insn, pt->from);
	if (insn->kind == SOFT_PT_SHADOW && ip != insn->next) {	/* two were */
		soft_pt_retired(pt, pt->from, insn->next, NULL);
		pt->from = insn->next;
		soft_pt_insn_read(insn, pt->from);
	}
}

/* The registers are those of the program still, but for the one that the kernel answers in. */
static void retired_into_kernel(struct soft_pt *pt, const struct soft_pt_insn *insn,
				const struct pt_regs *regs)
{
	struct pt_regs copy = *regs;

	if (insn->kind != SOFT_PT_TRAP)
		copy.ax = regs->orig_ax;
	soft_pt_retired(pt, pt->from, 0, &copy);
}

/*
 * The instruction at pt->from either has been executed, being one that leads into the kernel, or
 * not. An int3 may also be a uprobe's, and what was there has then been executed elsewhere, or not
 * at all: the signal tells (@trapped), or before that, that no uprobe is to be handled.
 */
static void leave(struct soft_pt *pt, struct pt_regs *regs, bool trapped)
{
	struct soft_pt_insn insn;
	bool executed = false;

	if (!pt->inside)
		return;
	if (regs->ip != pt->from) {
		read_executed(pt, &insn, regs->ip);
		if (insn.kind == SOFT_PT_SHADOW && insn.next == regs->ip) {
			soft_pt_retired(pt, pt->from, regs->ip, NULL);
			pt->from = regs->ip;
		}
		executed = insn.next == regs->ip &&
			   (insn.kind == SOFT_PT_SYSCALL || insn.kind == SOFT_PT_INT80 ||
			    (insn.kind == SOFT_PT_TRAP && trapped));
		if (executed && insn.kind == SOFT_PT_SYSCALL)
			regs->r11 &= ~X86_EFLAGS_TF;
	}
	if (executed)
		soft_pt_pgd(pt);
	else
		soft_pt_fup_pgd(pt, pt->from);
	disarm(pt, regs);
	pt->inside = false;
	if (executed)
		retired_into_kernel(pt, &insn, regs);
}

/* Whether the instruction leads to @to; says how, if that is not in the program. */
static bool flow(struct soft_pt *pt, const struct soft_pt_insn *insn, u64 to)
{
	switch (insn->kind) {
	case SOFT_PT_PLAIN:
	case SOFT_PT_PUSHF:
	case SOFT_PT_POPF:
	case SOFT_PT_SHADOW:
		return to == insn->next;
	case SOFT_PT_REP:
		return to == insn->next || to == pt->from;
	case SOFT_PT_DIRECT:
		return to == insn->target;
	case SOFT_PT_COND:
		if (to != insn->target && to != insn->next)
			return false;
		soft_pt_tnt(pt, to == insn->target);
		return true;
	case SOFT_PT_INDIRECT:
		soft_pt_tip(pt, to);
		return true;
	default:
		return false;
	}
}

/*
 * Behind pushf: TF is bit 0 of the second byte. The page was written to just now, and yet it may
 * not be writable any more, as another thread forks.
 */
static bool hide_pushed_flag(struct pt_regs *regs)
{
	void __user *at = (void __user *)(regs->sp + 1);
	u8 byte;

	if (copy_from_user_nofault(&byte, at, 1))
		return false;
	byte &= ~(X86_EFLAGS_TF >> 8);
	return !copy_to_user_nofault(at, &byte, 1);
}

/* A trap: from pt->from, one instruction was executed. */
static void step(struct soft_pt *pt, struct pt_regs *regs)
{
	struct soft_pt_insn insn;
	u64 from;

	read_executed(pt, &insn, regs->ip);
	if (insn.kind == SOFT_PT_PUSHF && !hide_pushed_flag(regs)) {
		regs->sp += insn.pushed;	/* again, with its own page fault */
		regs->ip = pt->from;
		return;
	}
	if (insn.kind == SOFT_PT_POPF || insn.kind == SOFT_PT_IRET)
		pt->armed = false;	/* what is set now is the program's */
	disarm(pt, regs);

	if (!flow(pt, &insn, regs->ip)) {
		soft_pt_fup_pgd(pt, pt->from);
		pt->inside = false;	/* and again, if it may be, on the return from the trap */
		return;
	}
	from = pt->from;
	pt->from = regs->ip;
	if (insn.kind != SOFT_PT_REP || regs->ip != from)
		soft_pt_retired(pt, from, regs->ip, regs);
	if (regs->flags & X86_EFLAGS_TF) {
		leave(pt, regs, false);
	} else if (!soft_pt_area_has_room(pt)) {
		leave(pt, regs, false);
		soft_pt_area_truncate(pt);
	} else if (soft_pt_psb_is_due(pt)) {
		soft_pt_psb(pt, true, pt->from);
	}
}

/*
 * The hooks
 */

/* The last thing before user space, with interrupts off. */
static void on_user_return(struct user_return_notifier *notifier)
{
	struct soft_pt *pt = container_of(notifier, struct soft_pt, notifier);
	struct pt_regs *regs = task_pt_regs(current);

	if (pt->inside && (pt->paused || regs->ip != pt->from))
		leave(pt, regs, false);
	if (!pt->inside)
		enter(pt, regs);
	if (pt->inside && !pt->armed) {
		regs->flags |= X86_EFLAGS_TF;
		pt->armed = true;
	}
}

/*
 * Breakpoints were seen to before: of those in dr6 that are left, on instructions, there will be
 * exceptions of their own; and in virtual_dr6 are those that a debugger is to be told of.
 */
static int on_debug(struct soft_pt *pt, struct die_args *args)
{
	unsigned long *dr6 = (unsigned long *)args->err;

	if (!pt->armed || !(*dr6 & DR_STEP))
		return NOTIFY_DONE;
	step(pt, args->regs);
	*dr6 &= ~(DR_STEP | DR_TRAP_BITS);
	current->thread.virtual_dr6 &= ~DR_STEP;
	return *dr6 || current->thread.virtual_dr6 ? NOTIFY_DONE : NOTIFY_STOP;
}

/* Traps, with interrupts off. */
static int on_die(struct notifier_block *notifier, unsigned long what, void *data)
{
	struct soft_pt *pt = this_cpu_ptr(&soft_pt_cpu);
	struct die_args *args = data;

	if (!pt->inside || !user_mode(args->regs))
		return NOTIFY_DONE;
	if (what == DIE_DEBUG)
		return on_debug(pt, args);
	if (what == DIE_INT3)
		disarm(pt, args->regs);
	return NOTIFY_DONE;
}

/* Before uprobes, and behind hw_breakpoint.c, which has the same priority. */
static struct notifier_block die_notifier = { .notifier_call = on_die, .priority = INT_MAX };

static void leave_for(bool trapped)
{
	guard(irqsave)();
	leave(this_cpu_ptr(&soft_pt_cpu), task_pt_regs(current), trapped);
}

static void on_sys_enter(void *data, struct pt_regs *regs, long nr)
{
	leave_for(false);
}

static void on_signal(void *data, int sig, struct kernel_siginfo *info, struct k_sigaction *ka)
{
	bool trapped = sig == SIGTRAP && info > SEND_SIG_PRIV &&
		       (info->si_code == SI_KERNEL || info->si_code == TRAP_BRKPT);

	leave_for(trapped);
}

static void on_switch(void *data, bool preempt, struct task_struct *prev, struct task_struct *next,
		      unsigned int prev_state)
{
	leave_for(!test_thread_flag(TIF_UPROBE));
}

void soft_pt_step_leave(struct soft_pt *pt)
{
	leave(pt, task_pt_regs(current), false);
}

void soft_pt_step_start(struct soft_pt *pt)
{
	pt->notifier.on_user_return = on_user_return;
	user_return_notifier_register(&pt->notifier);
}

/*
 * The task is still inside if another CPU disables the event while it runs. What it did so far is
 * to be in the trace, and that this is all.
 */
void soft_pt_step_stop(struct soft_pt *pt)
{
	user_return_notifier_unregister(&pt->notifier);
	soft_pt_step_leave(pt);
}

/*
 * Tracepoints are not exported by name.
 */

static struct {
	const char		*name;
	void			*probe;
	struct tracepoint	*tracepoint;
} hooks[] = {
	{ "sys_enter", on_sys_enter },
	{ "signal_deliver", on_signal },
	{ "sched_switch", on_switch },
};

static void find_hook(struct tracepoint *tracepoint, void *data)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		if (!strcmp(tracepoint->name, hooks[i].name))
			hooks[i].tracepoint = tracepoint;
	}
}

static DEFINE_MUTEX(users_lock);
static unsigned long users;

static void remove_hooks(int nr)
{
	while (nr--)
		tracepoint_probe_unregister(hooks[nr].tracepoint, hooks[nr].probe, NULL);
	tracepoint_synchronize_unregister();
	unregister_die_notifier(&die_notifier);
}

static int add_hooks(void)
{
	int i, err = register_die_notifier(&die_notifier);

	if (err)
		return err;
	for_each_kernel_tracepoint(find_hook, NULL);
	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		err = -ENOENT;
		if (hooks[i].tracepoint)
			err = tracepoint_probe_register(hooks[i].tracepoint, hooks[i].probe, NULL);
		if (err) {
			remove_hooks(i);
			return err;
		}
	}
	return 0;
}

int soft_pt_step_get(void)
{
	int err = 0;

	guard(mutex)(&users_lock);
	if (!users)
		err = add_hooks();
	if (!err)
		users++;
	return err;
}

void soft_pt_step_put(void)
{
	guard(mutex)(&users_lock);
	if (!--users)
		remove_hooks(ARRAY_SIZE(hooks));
}
