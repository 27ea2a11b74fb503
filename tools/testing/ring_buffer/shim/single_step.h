/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stops a function between any two of its instructions, and calls somebody there.
 *
 * Boundary i of a call is where i instructions of it have been executed: boundary 0 is its entry,
 * the last one is before the return of the outermost function. A repeated string instruction has
 * a boundary after each repetition, as it has for an interrupt.
 *
 *   stepper__trace()	sets the trap flag: a SIGTRAP at every boundary
 *   stepper__stop()	plants a breakpoint at one boundary of a path that was traced before
 *
 * Both may be called from a callback, which is how an NMI comes upon an interrupt that came upon a
 * function; then they interrupt the function that the callback calls. A trap costs much more than
 * a breakpoint (in a virtual machine ten times), so what is needed at a single boundary is best
 * done with a breakpoint: a function takes the same path if it finds the same state.
 *
 * x86-64 only; one thread; functions without system calls.
 */
#ifndef RING_BUFFER_STEPPER_H
#define RING_BUFFER_STEPPER_H

#include <stdbool.h>

#define STEPPER_MAX	1024

/* The instructions that follow boundaries 0, 1, ... */
struct stepper_path {
	unsigned int	 nr;
	const void	*ip[STEPPER_MAX];
	unsigned int	 pass[STEPPER_MAX];	/* how often each was met before */
};

typedef void (*stepper_fn)(void *arg);

/* Called at boundary @i, before the instruction @ip; not stepped itself. */
typedef void (*stepper_at)(void *ctx, unsigned int i, const void *ip);

/* stepper__init - to be called first. Return: NULL, or why there is no stepping here */
const char *stepper__init(void);

/**
 * stepper__trace - call @fn(@arg), and @at at every boundary
 * @path:	receives the boundaries, unless NULL
 * @at:		may be NULL
 *
 * Return: the number of boundaries; if it is larger than STEPPER_MAX, @path has only so many.
 */
unsigned int stepper__trace(struct stepper_path *path, stepper_fn fn, void *arg, stepper_at at,
			    void *ctx);

/**
 * stepper__stop - call @fn(@arg), and @at at boundary @i of @path
 *
 * Return: false if that, or the last stop that stepper__then_stop() asked for, was not reached.
 */
bool stepper__stop(const struct stepper_path *path, unsigned int i, stepper_fn fn, void *arg,
		   stepper_at at, void *ctx);

/**
 * stepper__then_trace - trace the rest of the function that was stopped; from its callback
 *
 * Its boundaries are counted from the present one, 0, for which @at is not called.
 */
void stepper__then_trace(struct stepper_path *path, stepper_at at, void *ctx);

/* stepper__then_stop - the same, but stop once more, at boundary @i > 0 of such a @path */
void stepper__then_stop(const struct stepper_path *path, unsigned int i, stepper_at at, void *ctx);

/* stepper__function - name of the function that @ip is in; needs -rdynamic */
const char *stepper__function(const void *ip);

#endif
