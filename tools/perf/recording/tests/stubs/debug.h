/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Print util's messages, such as those of pr_err(), as diagnostics of KTAP, and remember the last.
 *
 * A test that defines none of eprintf(), verbose, quiet and page_size gets those of debug.c, in the
 * archive stubs.a.
 */
#ifndef PERF_RECORDING_TESTS_DEBUG_H
#define PERF_RECORDING_TESTS_DEBUG_H

#include <stdatomic.h>

/** debug_message - the last message of this thread */
extern __thread char debug_message[512];

/** debug_nr_messages - number of messages; in any thread */
extern atomic_uint debug_nr_messages;

#endif
