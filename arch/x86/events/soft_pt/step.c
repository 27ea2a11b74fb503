// SPDX-License-Identifier: GPL-2.0-only
/*
 * Single-step the user code of a task and write its control flow.
 *
 *	          return to user space: TIP.PGE, set TF
 *	disabled -------------------------------> packet_en, armed --.
 *	   ^                                        |    ^           | #DB:
 *	   `----------------------------------------'    |           | clear TF,
 *	          any other kernel entry: TIP.PGD        `-----------' TNT, TIP
 *
 * TF must not become visible: not in a signal frame, in the registers of a new
 * task, in r11 after a syscall, on the stack after a pushf, to a debugger or to
 * uprobes. Therefore TF is set as late as possible: in the user return
 * notifier, which runs after signal delivery. It is cleared in a hook that runs
 * before any code that might see it: system call entry, signal delivery, int3
 * and the scheduler. The scheduler hook runs before anything can access the
 * registers of a task that does not run. An interrupt or page fault that
 * reaches none of these hooks returns to the interrupted instruction, and
 * tracing continues as if it had not happened.
 *
 * If the program (popf) or a debugger sets TF, TF belongs to them: the task is
 * not traced while it is set.
 *
 * A single-step trap reports the address of the next instruction. The one that
 * was executed is read from memory. If it cannot lead to the reported address,
 * or is of an unknown kind, the trace shows that user space was left and
 * entered again: the driver never guesses.
 *
 * The scheduler swaps the contexts of threads that have equal contexts, without
 * stopping the event: the driver steps whichever task runs on the CPU.
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

/*
 * Enable packet generation, unless it is paused, the task runs 32-bit code or
 * has TF set, or the area has no space for a step. Called on return to user
 * space.
 */
static void enter(struct soft_pt *pt, struct pt_regs *regs)
{
	if (pt->paused || !user_64bit_mode(regs) ||
	    (regs->flags & X86_EFLAGS_TF))
		return;
	if (!soft_pt_area_has_space(pt)) {
		soft_pt_area_truncate(pt);
		return;
	}
	if (soft_pt_psb_is_due(pt))
		soft_pt_psb(pt, false, 0);
	else
		soft_pt_tsc(pt);
	soft_pt_pge(pt, regs->ip);
	pt->ip = regs->ip;
	pt->packet_en = true;
}

static void disarm(struct soft_pt *pt, struct pt_regs *regs)
{
	if (pt->armed)
		regs->flags &= ~X86_EFLAGS_TF;
	pt->armed = false;
}

/*
 * Classify the last instruction executed before @ip and make pt->ip its
 * address. The caller checks whether it can lead to @ip.
 */
static void read_executed(struct soft_pt *pt, struct soft_pt_insn *insn, u64 ip)
{
	soft_pt_insn_read(insn, pt->ip);
	/* Two were executed: the first one inhibited the trap. */
	if (insn->kind == SOFT_PT_SHADOW && ip != insn->next) {
		soft_pt_retired(pt, pt->ip, insn->next, NULL);
		pt->ip = insn->next;
		soft_pt_insn_read(insn, pt->ip);
	}
}

/*
 * Count the instruction at pt->ip, which entered the kernel. @regs still hold
 * the program's registers, except that a system call overwrites ax.
 */
static void retired_into_kernel(struct soft_pt *pt,
				const struct soft_pt_insn *insn,
				const struct pt_regs *regs)
{
	struct pt_regs copy = *regs;

	if (insn->kind != SOFT_PT_TRAP)
		copy.ax = regs->orig_ax;
	soft_pt_retired(pt, pt->ip, 0, &copy);
}

/*
 * Disable packet generation because the task enters the kernel. The instruction
 * at pt->ip either was executed and entered the kernel, or was not executed.
 *
 * An int3 may belong to a uprobe. The original instruction is then executed out
 * of line, or not at all. @trapped: the trap was the program's own, which is
 * known from the signal, or earlier because uprobes have left it to others.
 */
static void leave(struct soft_pt *pt, struct pt_regs *regs, bool trapped)
{
	struct soft_pt_insn insn;
	bool executed = false;

	if (!pt->packet_en)
		return;
	if (regs->ip != pt->ip) {
		read_executed(pt, &insn, regs->ip);
		if (insn.kind == SOFT_PT_SHADOW && insn.next == regs->ip) {
			soft_pt_retired(pt, pt->ip, regs->ip, NULL);
			pt->ip = regs->ip;
		}
		executed = insn.next == regs->ip &&
			   (insn.kind == SOFT_PT_SYSCALL ||
			    insn.kind == SOFT_PT_INT80 ||
			    (insn.kind == SOFT_PT_TRAP && trapped));
		if (executed && insn.kind == SOFT_PT_SYSCALL)
			regs->r11 &= ~X86_EFLAGS_TF;
	}
	if (executed)
		soft_pt_pgd(pt);
	else
		soft_pt_fup_pgd(pt, pt->ip);
	disarm(pt, regs);
	pt->packet_en = false;
	if (executed)
		retired_into_kernel(pt, &insn, regs);
}

/*
 * Write the packet, if any, that shows how @insn at pt->ip led to @to.
 * Returns false if @insn cannot lead there.
 */
static bool put_flow(struct soft_pt *pt, const struct soft_pt_insn *insn,
		     u64 to)
{
	switch (insn->kind) {
	case SOFT_PT_PLAIN:
	case SOFT_PT_PUSHF:
	case SOFT_PT_POPF:
	case SOFT_PT_SHADOW:
		return to == insn->next;
	case SOFT_PT_REP:
		return to == insn->next || to == pt->ip;
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
 * Clear TF in the flags that a pushf stored: bit 0 of their second byte. The
 * page was just written, but may be read-only again if another thread forks.
 * Returns false in that case.
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

/* Handle a single-step trap: the instruction at pt->ip was executed. */
static void step(struct soft_pt *pt, struct pt_regs *regs)
{
	struct soft_pt_insn insn;
	u64 ip;

	read_executed(pt, &insn, regs->ip);
	if (insn.kind == SOFT_PT_PUSHF && !hide_pushed_flag(regs)) {
		/* Execute it again: its page fault makes the page writable. */
		regs->sp += insn.pushed;
		regs->ip = pt->ip;
		return;
	}
	if (insn.kind == SOFT_PT_POPF || insn.kind == SOFT_PT_IRET)
		pt->armed = false;	/* TF is now the program's */
	disarm(pt, regs);

	if (!put_flow(pt, &insn, regs->ip)) {
		soft_pt_fup_pgd(pt, pt->ip);
		/* The return from the trap enables it again. */
		pt->packet_en = false;
		return;
	}
	ip = pt->ip;
	pt->ip = regs->ip;
	if (insn.kind != SOFT_PT_REP || regs->ip != ip)
		soft_pt_retired(pt, ip, regs->ip, regs);
	if (regs->flags & X86_EFLAGS_TF) {
		leave(pt, regs, false);
	} else if (!soft_pt_area_has_space(pt)) {
		leave(pt, regs, false);
		soft_pt_area_truncate(pt);
	} else if (soft_pt_psb_is_due(pt)) {
		soft_pt_psb(pt, true, pt->ip);
	}
}

/*
 * Hooks
 */

/* Called last before the return to user space, with interrupts disabled. */
static void on_user_return(struct user_return_notifier *notifier)
{
	struct soft_pt *pt = container_of(notifier, struct soft_pt, notifier);
	struct pt_regs *regs = task_pt_regs(current);

	if (pt->packet_en && (pt->paused || regs->ip != pt->ip))
		leave(pt, regs, false);
	if (!pt->packet_en)
		enter(pt, regs);
	if (pt->packet_en && !pt->armed) {
		regs->flags |= X86_EFLAGS_TF;
		pt->armed = true;
	}
}

/*
 * Handle a single-step trap. Breakpoints were handled before: instruction
 * breakpoints whose bits are left in dr6 raise exceptions of their own, and the
 * bits in virtual_dr6 are reported to a debugger.
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

/* Handle #DB and #BP. Called with interrupts disabled. */
static int on_die(struct notifier_block *notifier, unsigned long what,
		  void *data)
{
	struct soft_pt *pt = this_cpu_ptr(&soft_pt_cpu);
	struct die_args *args = data;

	if (!pt->packet_en || !user_mode(args->regs))
		return NOTIFY_DONE;
	pt->trapped = false;
	if (what == DIE_DEBUG)
		return on_debug(pt, args);
	if (what == DIE_INT3)
		disarm(pt, args->regs);
	return NOTIFY_DONE;
}

/*
 * Runs before uprobes, and after hw_breakpoint.c, which has the same priority
 * and was registered earlier.
 */
static struct notifier_block die_notifier = {
	.notifier_call	= on_die,
	.priority	= INT_MAX,
};

/*
 * Note that the trap is the program's own: uprobes did not end the chain. A
 * task that is preempted before its uprobe is handled does not show it any
 * more: TIF_UPROBE is cleared before regs->ip is set to the probed instruction.
 */
static int on_own_trap(struct notifier_block *notifier, unsigned long what,
		       void *data)
{
	struct soft_pt *pt = this_cpu_ptr(&soft_pt_cpu);
	struct die_args *args = data;

	if (user_mode(args->regs) && (what == DIE_DEBUG || what == DIE_INT3))
		pt->trapped = pt->packet_en;
	return NOTIFY_DONE;
}

/* Runs after uprobes. */
static struct notifier_block own_trap_notifier = {
	.notifier_call	= on_own_trap,
};

static void leave_for(bool trapped)
{
	guard(irqsave)();
	leave(this_cpu_ptr(&soft_pt_cpu), task_pt_regs(current), trapped);
}

static void on_sys_enter(void *data, struct pt_regs *regs, long nr)
{
	leave_for(false);
}

static void on_signal(void *data, int sig, struct kernel_siginfo *info,
		      struct k_sigaction *ka)
{
	bool trapped = sig == SIGTRAP && info > SEND_SIG_PRIV &&
		       (info->si_code == SI_KERNEL ||
			info->si_code == TRAP_BRKPT);

	leave_for(trapped);
}

static void on_switch(void *data, bool preempt, struct task_struct *prev,
		      struct task_struct *next, unsigned int prev_state)
{
	leave_for(this_cpu_read(soft_pt_cpu.trapped));
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
 * Packet generation is still enabled if another CPU disables the event while
 * the task runs. The trace must contain what the task executed until then, and
 * end with a TIP.PGD.
 */
void soft_pt_step_stop(struct soft_pt *pt)
{
	user_return_notifier_unregister(&pt->notifier);
	soft_pt_step_leave(pt);
}

/*
 * Look up tracepoints by name: they are not exported as symbols.
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
		tracepoint_probe_unregister(hooks[nr].tracepoint,
					    hooks[nr].probe, NULL);
	tracepoint_synchronize_unregister();
	unregister_die_notifier(&own_trap_notifier);
	unregister_die_notifier(&die_notifier);
}

static int add_hooks(void)
{
	int i, err = register_die_notifier(&die_notifier);

	if (err)
		return err;
	err = register_die_notifier(&own_trap_notifier);
	if (err) {
		unregister_die_notifier(&die_notifier);
		return err;
	}
	for_each_kernel_tracepoint(find_hook, NULL);
	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		err = -ENOENT;
		if (hooks[i].tracepoint)
			err = tracepoint_probe_register(hooks[i].tracepoint,
							hooks[i].probe, NULL);
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
