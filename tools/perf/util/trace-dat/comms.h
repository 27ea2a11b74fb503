/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keep one name for each task: trace.dat has no other.
 */
#ifndef PERF_TRACE_DAT_COMMS_H
#define PERF_TRACE_DAT_COMMS_H

#include <stddef.h>

struct hashmap;

/* Return: 0, or -ENOMEM. Release with comms__exit(). */
int comms__init(struct hashmap **comms);
void comms__exit(struct hashmap *comms);

/* Set the name of the task @pid, or replace it. Return: 0, or -ENOMEM. */
int comms__set(struct hashmap *comms, int pid, const char *comm);

/* Like comms__set(), but keep the name that the task has. */
int comms__add(struct hashmap *comms, int pid, const char *comm);

/**
 * comms__text - write a line for each task, as in the file saved_cmdlines of tracefs
 * @size:	is set to the length of the text
 *
 * Return: the text, to be released with free(), or NULL if memory is short.
 */
char *comms__text(struct hashmap *comms, size_t *size);

#endif
