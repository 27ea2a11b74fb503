/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stop a function between any two of its instructions and run a callback there.
 *
 * Boundary i of a call is the point where i of its instructions have been executed: boundary 0 is
 * the entry, the last one is before the return of the outermost function. A repeated string
 * instruction has a boundary after each repetition, where an interrupt can come too.
 *
 *   step__trace()	sets the trap flag, which gives a SIGTRAP at every boundary
 *   step__stop()	sets a breakpoint at one boundary of a path that was traced before
 *
 * Callbacks may call both, to interrupt the function that the callback calls: that is how an NMI
 * interrupts an interrupt that interrupted a function. A trap costs much more than a breakpoint
 * (ten times in a virtual machine), so use a breakpoint to stop at a single boundary: a function
 * takes the same path again if it starts from the same state.
 *
 * x86-64 only. Only for one thread, and for functions without system calls.
 */
#ifndef RING_BUFFER_SINGLE_STEP_H
#define RING_BUFFER_SINGLE_STEP_H

#include <stdbool.h>

#define STEP_MAX	1024

/* The instructions that follow boundaries 0, 1, ... */
struct step_path {
	unsigned int	 nr;
	const void	*ip[STEP_MAX];
	unsigned int	 pass[STEP_MAX];	/* how often the path had been there before */
};

typedef void (*step_fn)(void *arg);

/* Called at boundary @i, before the instruction @ip. Is not stepped itself. */
typedef void (*step_callback)(void *ctx, unsigned int i, const void *ip);

/* step__init - call this first. Return: NULL, or the reason why stepping is not possible */
const char *step__init(void);

/**
 * step__trace - call @fn(@arg), and @at at every boundary
 * @path:	receives the boundaries, unless NULL
 * @at:		may be NULL
 *
 * Return: the number of boundaries. @path receives no more than STEP_MAX of them.
 */
unsigned int step__trace(struct step_path *path, step_fn fn, void *arg, step_callback at,
			 void *ctx);

/**
 * step__stop - call @fn(@arg), and @at at boundary @i of @path
 *
 * Return: false if the boundary, or that of the last step__then_stop(), was not reached.
 */
bool step__stop(const struct step_path *path, unsigned int i, step_fn fn, void *arg,
		step_callback at, void *ctx);

/**
 * step__then_trace - trace the rest of the stopped function; call from its callback
 *
 * The current boundary counts as 0; @at is called from boundary 1 on.
 */
void step__then_trace(struct step_path *path, step_callback at, void *ctx);

/* step__then_stop - stop once more, at boundary @i > 0 of a path from step__then_trace() */
void step__then_stop(const struct step_path *path, unsigned int i, step_callback at, void *ctx);

/* step__function - return the name of the function that contains @ip; needs -rdynamic */
const char *step__function(const void *ip);

#endif
